/*
 * The inputs of the fuzz target cache_operations, told on both libraries: each a length in two bytes and as many bytes, from
 * the file that is named.
 *
 * What the C library gets wrong is left out: the entry with the greatest id is not culled (DEF-2, DEF-3: an anchor stays
 * behind it, and entries with keys are hidden instead), nothing is reorganised, and only StoreKey lets ids be used again
 * (DEF-12). The largest id is left as it is, as StoreKey minds it since PCP 7 only (CACHE-55).
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define STEPS	300
#define NAMES	32

static pmInDom indom;
static int keyed[NAMES];
static int anchors;

static void
operate(int what, int which)
{
    static const char *tails[] = { "", " tail", " a tail that is longer than what is kept in the entry" };
    int inst = -1, sts = 0, length = 1 + which / 16 * 12, number = which % NAMES;
    char name[80], anchor[16], key[40];

    snprintf(name, sizeof(name), "n%d%s", number, tails[what / 86]);
    memset(key, which, sizeof(key));
    switch (what % 16) {
    case 1:
	sts = pmdaCacheStore(indom, PMDA_CACHE_HIDE, name, NULL);
	break;
    case 2:
	sts = pmdaCacheStore(indom, keyed[number] ? PMDA_CACHE_HIDE : PMDA_CACHE_CULL, name, NULL);
	snprintf(anchor, sizeof(anchor), "anchor%d", anchors++);
	printf("%d ", pmdaCacheStore(indom, PMDA_CACHE_ADD, anchor, NULL));
	break;
    case 4:
    case 9:
	sts = pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, length, key, NULL);
	keyed[number] |= sts >= 0;
	break;
    case 5:
    case 7:
    case 10:
	/* By the short name: with another tail the C library finds it, against its manual page. */
	snprintf(name, sizeof(name), "n%d", number);
	sts = pmdaCacheLookupName(indom, name, &inst, NULL);
	break;
    case 6:
	sts = pmdaCachePurge(indom, 1000000);
	break;
    case 11:
	sts = pmdaCacheOp(indom, PMDA_CACHE_INACTIVE);
	break;
    case 12:
	sts = pmdaCacheOp(indom, PMDA_CACHE_ACTIVE);
	break;
    case 13:
	sts = pmdaCacheLookupKey(indom, name, length, key, NULL, &inst, NULL);
	break;
    case 14:
	pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
	while ((inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) >= 0)
	    sts = (int)(sts * 31u + (unsigned int)inst);
	break;
    case 15:
	__pmdaCacheDump(stdout, indom, 1);
	break;
    default:
	sts = pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
	break;
    }
    printf("%d %s %d %d\n", what % 16, name, sts, inst);
}

int
main(int argc, char **argv)
{
    unsigned char size[2], step[2];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    int left, steps, i;

    if (file == NULL)
	return 1;
    for (indom = pmInDom_build(250, 1); fread(size, 1, 2, file) == 2; indom++) {
	for (i = 0; i < NAMES; i++)
	    keyed[i] = 0;
	left = size[0] << 8 | size[1];
	for (steps = 0; left > 1 && fread(step, 1, 2, file) == 2; left -= 2)
	    if (steps++ < STEPS)
		operate(step[0], step[1] % 64);
	if (left > 0)
	    fgetc(file);
	__pmdaCacheDump(stdout, indom, 0);
    }
    return 0;
}
