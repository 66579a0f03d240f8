/*
 * Names that the cache has given out, given back to it: CACHE-25, CACHE-36. They are stored again after they were culled, used
 * as keys, and asked for, also when the store reclaims what was culled. (The C library copies a key after it has freed it.)
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define D 0x3ec00001

static char *
name_of(pmInDom d, int inst)
{
    char *name = NULL;

    return pmdaCacheLookup(d, inst, &name, NULL) >= 0 ? name : "none";
}

/* Stores so many, culls the one in the middle, and adds it again by the pointer into the cache; how: plainly, with a key, as a key. */
static void
again(pmInDom d, int count, int how, int length)
{
    char name[64], key[64], *given = NULL, *other = NULL;
    int i, inst = -1, before = -1;

    for (i = 0; i < count; i++) {
	snprintf(name, sizeof(name), "%0*d tail", length, i);
	inst = pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);
	if (i == count / 2)
	    before = inst;
    }
    pmdaCacheLookup(d, before, &given, NULL);
    snprintf(key, sizeof(key), "%s", given);
    pmdaCacheLookup(d, 0, &other, NULL);
    printf("%d of length %d: \"%s\" %d", count, length, given, pmdaCacheStore(d, PMDA_CACHE_CULL, given, NULL));
    switch (how) {
    case 0:
	inst = pmdaCacheStore(d, PMDA_CACHE_ADD, given, NULL);
	break;
    case 1:
	inst = pmdaCacheStoreKey(d, PMDA_CACHE_ADD, given, 0, NULL, NULL);
	break;
    case 2:
	inst = pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "with a key", (int)strlen(given), given, NULL);
	break;
    case 3:
	inst = pmdaCacheStoreKey(d, PMDA_CACHE_ADD, given, 5, given, NULL);
	break;
    }
    printf(" -> %d \"%s\"", inst, name_of(d, inst));
    printf(" by name %d", pmdaCacheLookupName(d, name_of(d, inst), &inst, NULL));
    printf(" by key %d", pmdaCacheLookupKey(d, NULL, how == 3 ? 5 : (int)strlen(key), key, NULL, &inst, NULL));
    printf(" %d", pmdaCacheStore(d, PMDA_CACHE_HIDE, other, NULL));
    printf(" %d", pmdaCacheStore(d, PMDA_CACHE_ADD, other, NULL));
    printf(" %d \"%s\"\n", pmdaCacheLookupName(d, other, NULL, NULL), other);
}

int
main(void)
{
    static const int lengths[] = { 3, 15, 16, 21, 40 };
    unsigned int i;
    int how, count;
    pmInDom d = D;

    pmSetProgname("cache");
    for (how = 0; how < 4; how++) {
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
	    for (count = 63; count < 67; count++)
		again(d++, count, how, lengths[i]);
	    again(d++, 128, how, lengths[i]);
	}
    }
    __pmdaCacheDump(stdout, D + 1, 1);
    return 0;
}
