/*
 * An iteration has a position of its own. Walks over the same cache, lists of the cache, and iterations with another pmdaExt do not
 * disturb the position, and entries may appear and disappear in any way. INST-12, INST-43, IDEF-2
 */
#include "../instances.h"

#define D 0x3e800001

static void
fill(pmInDom indom, int n)
{
    char name[16];
    int i;

    for (i = 0; i < n; i++) {
	snprintf(name, sizeof(name), "%x.%d", indom, i);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
    }
}

int
main(void)
{
    static pmdaExt one, two;
    pmInResult *all;
    int inst = -1, other = -1, i;

    fill(D, 8);
    fill(D + 1, 5);
    printf("two at once\n");
    __pmdaStartInst(D, &one);
    __pmdaStartInst(D + 1, &two);
    while (__pmdaNextInst(&inst, &one)) {
	printf(" %d", inst);
	printf("/%d", __pmdaNextInst(&other, &two) ? other : -1);
    }
    printf("\ntwo at once in one domain\n");
    __pmdaStartInst(D, &one);
    __pmdaNextInst(&inst, &one);
    __pmdaStartInst(D, &two);
    while (__pmdaNextInst(&inst, &one)) {
	printf(" %d", inst);
	printf("/%d", __pmdaNextInst(&other, &two) ? other : -1);
    }
    printf("\nwalks, lists and lookups inside\n");
    __pmdaStartInst(D, &one);
    for (i = 0; __pmdaNextInst(&inst, &one) && i < 20; i++) {
	printf(" %d", inst);
	pmdaCacheOp(D, PMDA_CACHE_WALK_REWIND);
	pmdaCacheOp(D, PMDA_CACHE_WALK_NEXT);
	pmdaCacheLookupKey(D, "nothing", 0, NULL, NULL, NULL, NULL);
	if (pmdaInstance(D, PM_IN_NULL, NULL, &all, &one) == 0) {
	    printf("(%d)", all->numinst);
	    free_list(all);
	}
    }
    printf("\nculled, reclaimed and added inside\n");
    __pmdaStartInst(D, &one);
    for (i = 0; __pmdaNextInst(&inst, &one) && i < 200; i++) {
	printf(" %d", inst);
	if (i == 2) {
	    pmdaCacheOp(D, PMDA_CACHE_CULL);
	    pmdaCacheOp(D, PMDA_CACHE_REORG);
	    fill(D, 100);
	}
    }
    printf("\n%d instances\n", __pmdaCntInst(D, NULL));
    return 0;
}
