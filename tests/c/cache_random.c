/*
 * Random sequences of operations, with the whole dump after each few: CACHE-36, CACHE-41, CACHE-44, CACHE-80, CACHE-81, CACHE-82. What the C
 * library gets wrong (culling the entry with the greatest id and reclaiming it, DEF-2, DEF-3) is avoided: an anchor stays.
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
sequence(pmInDom d, int reuse)
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
	    sts = pmdaCacheOp(d, PMDA_CACHE_REORG);
	else if (what < 98)
	    sts = pmdaCacheOp(d, PMDA_CACHE_INACTIVE);
	else {
	    pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND);
	    for (sts = 0; (j = pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT)) >= 0; )
		sts = sts * 31 + j;
	}
	printf("%u %s %d\n", what, name, sts);
	if (i % 80 == 79)
	    __pmdaCacheDump(stdout, d, 1);
    }
}

int
main(void)
{
    int i;

    for (i = 0; i < 12; i++) {
	seed = i + 1;
	sequence(0x3e800100 + i, 0);
    }
    __pmdaCacheDumpAll(stdout, 1);
    return 0;
}
