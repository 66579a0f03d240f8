/*
 * A walk goes on behind the instance that it gave last, whatever was stored or culled around it meanwhile. CACHE-35
 *
 * Identifiers of keyed instances are hashes, so that new ones get in everywhere.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmInDom indom = 0x3ec0000b;

static void
store(int first, int end)
{
    char name[32];
    int i;

    printf("store:");
    for (i = first; i < end; i++) {
	snprintf(name, sizeof(name), "name%d", i);
	printf(" %d", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, sizeof(i), &i, NULL));
    }
    printf("\n");
}

static void
change(int state, int first, int end)
{
    char name[32];
    int i;

    printf("state %d:", state);
    for (i = first; i < end; i++) {
	snprintf(name, sizeof(name), "name%d", i);
	printf(" %d", pmdaCacheStore(indom, state, name, NULL));
    }
    printf("\n");
}

static void
walk(int steps)
{
    int inst;

    printf("walk:");
    while (steps-- > 0) {
	inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT);
	printf(" %d", inst);
	if (inst < 0)
	    break;
    }
    printf("\n");
}

int
main(void)
{
    pmSetProgname("cache");
    store(0, 20);
    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
    walk(6);
    store(20, 40);
    walk(6);
    change(PMDA_CACHE_HIDE, 10, 15);
    walk(3);
    store(40, 60);
    change(PMDA_CACHE_ADD, 10, 15);
    walk(100);
    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
    walk(30);
    store(60, 200);
    walk(1000);
    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
    walk(1000);
    return 0;
}
