/*
 * The instances that purges cull, and later calls: the same names again with other tails, other names, keys, saves, loads, REORG,
 * growth and another limit: CACHE-10, CACHE-21, CACHE-30, CACHE-31, CACHE-36, CACHE-40, CACHE-42, CACHE-44, CACHE-62, CACHE-63, CACHE-65,
 * CACHE-74, CACHE-80, CACHE-81, CACHE-93. Before each purge a new instance gets the greatest id, and stays, so that the C library
 * never reclaims the last one of its list (DEF-2), and its purges that cull nothing new set no bit of their own (DEF-11). Because of
 * DEF-11 the result of a purge is not printed either.
 */
#include <sys/stat.h>
#include "show.h"

static unsigned int seed;
static unsigned long freed;
/* An instance whose key hashes to an id near the limit: afterwards ids are used again. */
static char anchor[32];

static unsigned int
pick(unsigned int n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static void
attached(void *private_)
{
    freed = freed * 31 + (unsigned long)private_;
}

/* It is looked for somewhere else: what was tried would be culled, and ours frees more than 1,024 of those before the C library does. */
static void
find_anchor(void)
{
    static char found[sizeof(anchor)];
    int i;

    for (i = 0; found[0] == '\0'; i++) {
	snprintf(anchor, sizeof(anchor), "anchor%d", i);
	if (pmdaCacheStoreKey(0x3ec00400, PMDA_CACHE_ADD, anchor, 0, NULL, NULL) > 0x7ff00000)
	    strcpy(found, anchor);
    }
    strcpy(anchor, found);
}

/* The same tail mostly, so that most names fit. */
static char *
name_of(unsigned int number)
{
    static char name[64];

    switch (pick(8)) {
	case 0: snprintf(name, sizeof(name), "n%u", number); break;
	case 1: snprintf(name, sizeof(name), "n%u another tail", number); break;
	default: snprintf(name, sizeof(name), "n%u and its tail", number); break;
    }
    return name;
}

/* Each key belongs to one name for good (DEF-13), and no id is looked for where there are keys (DEF-12). */
static int
store(pmInDom d, int flags, unsigned int number, int keys)
{
    char name[64];

    if (!keys)
	return pmdaCacheStore(d, flags, name_of(number), (void *)(long)number);
    snprintf(name, sizeof(name), "n%u and its tail", number);
    return pmdaCacheStoreKey(d, flags, name, sizeof(number), &number, (void *)(long)number);
}

static int
keep(pmInDom d, int number)
{
    char name[64];

    snprintf(name, sizeof(name), "stays%d", number);
    if (anchor[0] == '\0')
	return pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);
    pmdaCacheStoreKey(d, PMDA_CACHE_ADD, anchor, 0, NULL, NULL);
    return pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 0, NULL, NULL);
}

static void
purge(pmInDom d, int number)
{
    int sts = keep(d, number);

    pmdaCachePurgeCallback(d, -10, attached);
    printf("purged up to %d: freed %lu\n", sts, freed);
    SHOW(pmdaCacheOp(d, PMDA_CACHE_SIZE_ACTIVE));
    SHOW(pmdaCacheOp(d, PMDA_CACHE_SIZE_INACTIVE));
    SHOW(pmdaCacheOp(d, PMDA_CACHE_SIZE));
}

/* Everything is asked for by name, id and key. */
static void
ask(pmInDom d, unsigned int names)
{
    unsigned int i, sum = 0;
    int inst, sts, walked = 0;
    char *name, text[64];
    void *private_;

    for (i = 0; i < names; i++) {
	inst = -1;
	private_ = NULL;
	snprintf(text, sizeof(text), "n%u and its tail", i);
	sts = pmdaCacheLookupName(d, text, &inst, &private_);
	sum = sum * 31 + sts + inst * 7 + (unsigned long)private_;
	name = "none";
	sts = pmdaCacheLookup(d, i, &name, &private_);
	for (sum = sum * 31 + sts; *name != '\0'; name++)
	    sum = sum * 31 + *name;
	/* The C library passes all for it. */
	if (names < 100) {
	    sts = pmdaCacheLookupKey(d, NULL, sizeof(i), &i, &name, &inst, NULL);
	    sum = sum * 31 + sts + inst;
	}
    }
    pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT)) >= 0) {
	sum = sum * 31 + inst;
	walked++;
    }
    printf("walked %d, sum %u\n", walked, sum);
}

/* Few names, so that the same ones come again and again; the dump is compared, before the first REORG with the hash chains. */
static void
again_and_again(pmInDom d, unsigned int names, int keys, int dumps)
{
    int i, round, sum, is_saved, is_reorganized = 0;

    anchor[0] = '\0';
    if (keys)
	find_anchor();
    for (round = 0; round < 40; round++) {
	for (i = sum = 0; i < (int)names / 2; i++) {
	    unsigned int what = pick(100);

	    sum = sum * 31 + store(d, what < 90 ? PMDA_CACHE_ADD : PMDA_CACHE_HIDE, pick(names), keys);
	}
	printf("round %d: sum %d\n", round, sum);
	switch (pick(8)) {
	    case 0: pmdaCacheOp(d, PMDA_CACHE_INACTIVE); break;
	    case 1: pmdaCacheOp(d, PMDA_CACHE_ACTIVE); break;
	    case 3: keep(d, 1000 + round); pmdaCacheOp(d, PMDA_CACHE_REORG); is_reorganized = 1; break;
	    case 4: printf("resize %d\n", pmdaCacheResize(d, pick(2) ? 5 : 2147483647)); break;
	}
	/* Old is what was there before. */
	is_saved = pick(4) > 0;
	if (is_saved) {
	    printf("save %d\n", pmdaCacheOp(d, PMDA_CACHE_SYNC));
	    for (i = sum = 0; i < (int)names / 4; i++)
		sum = sum * 31 + store(d, PMDA_CACHE_ADD, pick(names), keys);
	    printf("stored again: sum %d\n", sum);
	}
	purge(d, round);
	ask(d, names);
	/* What was culled comes back under its old id, where nobody has its name yet. */
	if (is_saved && pick(3) == 0) {
	    printf("load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
	    ask(d, names);
	}
	if (dumps && round % 4 == 3)
	    __pmdaCacheDump(stdout, d, !is_reorganized);
    }
}

int
main(void)
{
    pmSetProgname("cache");
    umask(022);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (seed = 1; seed < 400; seed += 100)
	again_and_again(0x3ec00100 + seed, 60, 0, 1);
    for (seed = 7; seed < 400; seed += 100)
	again_and_again(0x3ec00200 + seed, 60, 1, 1);
    seed = 3;
    again_and_again(0x3ec00300, 6000, 0, 0);
    return 0;
}
