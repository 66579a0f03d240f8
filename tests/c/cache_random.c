/*
 * Random sequences of operations, with the whole dump after each few: CACHE-22, CACHE-23, CACHE-31, CACHE-35, CACHE-36, CACHE-41, CACHE-44,
 * CACHE-50, CACHE-51, CACHE-52, CACHE-80, CACHE-81, CACHE-82. The hash chains are shown without REORG only (CACHE-81).
 * Two defects of the C library are avoided (culling the entry with the greatest id and reclaiming it, DEF-2, DEF-3; a second instance with
 * the same key, DEF-13): an anchor stays, and instances with a key are not culled.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static unsigned int seed;

static unsigned int
pick(unsigned int n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static void
sequence(pmInDom d, int reuse, int reorg)
{
    int i, j, sts;
    char name[64];

    if (reuse)
	pmdaCacheOp(d, PMDA_CACHE_REUSE);
    for (i = 0; i < 400; i++) {
	unsigned int what = pick(100);
	snprintf(name, sizeof(name), pick(3) ? "n%u" : "n%u with a rather long tail", pick(150));
	if (what < 60)
	    sts = pmdaCacheStore(d, PMDA_CACHE_ADD, name, (void *)(long)pick(1000));
	else if (what < 75)
	    sts = pmdaCacheStore(d, PMDA_CACHE_HIDE, name, NULL);
	else if (what < 95) {
	    sts = pmdaCacheStore(d, PMDA_CACHE_CULL, name, NULL);
	    snprintf(name, sizeof(name), "anchor%d", i);
	    if (!reuse)
		pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);
	}
	else if (what < 97 && !reuse)
	    sts = pmdaCacheOp(d, reorg ? PMDA_CACHE_REORG : PMDA_CACHE_ACTIVE);
	else if (what < 98)
	    sts = pmdaCacheOp(d, PMDA_CACHE_INACTIVE);
	else {
	    pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND);
	    for (sts = 0; (j = pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT)) >= 0; )
		sts = sts * 31 + j;
	}
	printf("%u %s %d\n", what, name, sts);
	if (i % 80 == 79)
	    __pmdaCacheDump(stdout, d, !reorg);
    }
}

/* An entry that nothing has a greater id than, which stays: the C library must never reclaim the last one of its list. */
static void
anchor(pmInDom d)
{
    int i;
    char name[32];

    /* Of a key that hashes to an id near the limit; found by trying. */
    for (i = 0; ; i++) {
	snprintf(name, sizeof(name), "anchor%d", i);
	if (pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 0, NULL, NULL) > 0x7ff00000)
	    return;
	pmdaCacheStore(d, PMDA_CACHE_HIDE, name, NULL);
    }
}

/*
 * Keys and names mixed, in the mode that keys bring about: free ids are used again once they were reclaimed. Instances with keys are
 * numbered from 1000, so that no name is stored both ways, but for a few that lose their key.
 */
static void
keyed(pmInDom d, int reorg)
{
    int i, sts, inst;
    char name[64];

    anchor(d);
    for (i = 0; i < 500; i++) {
	unsigned int what = pick(100), which = pick(120);
	char *found = "none";
	unsigned int key[3] = { which, which * 7, 1 };

	if (what < 30) {
	    snprintf(name, sizeof(name), pick(2) ? "k%u" : "k%u tail", 1000 + which);
	    sts = pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 4 + 4 * (which % 3), key, (void *)(long)which);
	} else if (what < 35) {
	    /* Another key, or the key of another instance. */
	    snprintf(name, sizeof(name), "k%u", 1000 + pick(120));
	    sts = pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 4 + 4 * (which % 3), key, NULL);
	} else if (what < 40) {
	    snprintf(name, sizeof(name), "k%u", 1000 + which);
	    sts = pmdaCacheStore(d, PMDA_CACHE_HIDE, name, NULL);
	} else if (what < 60) {
	    snprintf(name, sizeof(name), "n%u", which);
	    sts = pmdaCacheStore(d, PMDA_CACHE_ADD, name, (void *)(long)which);
	} else if (what < 75) {
	    snprintf(name, sizeof(name), "n%u", which);
	    sts = pmdaCacheStore(d, PMDA_CACHE_CULL, name, NULL);
	} else if (what < 85) {
	    snprintf(name, sizeof(name), "key %u", which);
	    inst = -1;
	    sts = pmdaCacheLookupKey(d, "no such name", 4 + 4 * (which % 3), key, &found, &inst, NULL);
	    printf("%s %d ", found, inst);
	} else if (what < 88) {
	    snprintf(name, sizeof(name), "reorg");
	    sts = pmdaCacheOp(d, reorg ? PMDA_CACHE_REORG : PMDA_CACHE_ACTIVE);
	} else if (what < 91) {
	    snprintf(name, sizeof(name), "inactive");
	    sts = pmdaCacheOp(d, PMDA_CACHE_INACTIVE);
	} else if (what < 94) {
	    snprintf(name, sizeof(name), "active");
	    sts = pmdaCacheOp(d, PMDA_CACHE_ACTIVE);
	} else if (what < 96) {
	    snprintf(name, sizeof(name), "sizes");
	    sts = pmdaCacheOp(d, PMDA_CACHE_SIZE) * 1000000 + pmdaCacheOp(d, PMDA_CACHE_SIZE_ACTIVE) * 1000 + pmdaCacheOp(d, PMDA_CACHE_SIZE_INACTIVE);
	} else {
	    /* A walk that is interrupted by changes. */
	    snprintf(name, sizeof(name), "walk");
	    pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND);
	    for (sts = 0; (inst = pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT)) >= 0; ) {
		sts = (int)(sts * 31u + inst);
		if (pick(10) == 0) {
		    snprintf(name, sizeof(name), "n%u", pick(120));
		    pmdaCacheStore(d, PMDA_CACHE_HIDE, name, NULL);
		}
	    }
	}
	printf("%u %s %d\n", what, name, sts);
	if (i % 100 == 99)
	    __pmdaCacheDump(stdout, d, !reorg);
    }
}

int
main(void)
{
    int i, reorg;

    for (reorg = 0; reorg < 2; reorg++) {
	for (i = 0; i < 12; i++) {
	    seed = i + 1;
	    sequence(0x3e800100 + 0x1000 * reorg + i, 0, reorg);
	}
	for (i = 0; i < 12; i++) {
	    seed = 100 + i;
	    keyed(0x3e800200 + 0x1000 * reorg + i, reorg);
	}
	/* What REORG does to the order in the chains is the C library's own affair. */
	__pmdaCacheDumpAll(stdout, !reorg);
    }
    return 0;
}
