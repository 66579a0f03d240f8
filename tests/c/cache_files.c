/*
 * Files: CACHE-62, CACHE-63, CACHE-64, CACHE-70, CACHE-71, CACHE-72, CACHE-73, CACHE-74, CACHE-75, CACHE-90, CACHE-91, CACHE-92, CACHE-93, CACHE-94,
 * CACHE-95, CACHE-25, CACHE-7, DEF-16. The harness compares the files that are left behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static char path[4096];

static void
file(int serial, const char *text)
{
    FILE *f;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), serial);
    f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static void
purged(void *private_)
{
    printf("purged %p, live %d\n", private_, pmdaCacheOp(0x3ec00003, PMDA_CACHE_SIZE));
}

int
main(void)
{
    static const char *texts[] = {
	"1 0\n0 5 a\n", "2 1 99\n3 7 b c\n1 7 d\n", "2 0 2147483647\n1 1795229386 [00ff80] k\n2 1795229386 last", "", "x\n", "3 0 1\n", "2 0\n", "1\n", "1x 0\n",
	"1.5 0\n", "\n", "1 0 extra\nabc def\n", "1 0\n12abc\n3 5name\n01 02 zeros\n", "1 0\n5 1 a\n\n6 1 b\n", "1 0\n5 1 a\n6\n", "1 0\n5 1 a\n6 7\n",
	"1 0\n5 1 a\n5 2 b\n6 3 a\n7 4 a b\n8 5 a\n", "1 0\n7 5[aa] one\n", "1 0\n9 1 x\n3 1 y\n5 1 z \r\n", "2 1 5\n1 1795229386 \303\251 x\n2 9 [AB] q\n",
    };
    int i, sts;
    pmInDom d;
    char *name, *again;

    pmSetProgname("cache");
    umask(022);
    d = 0x3ec00000;
    printf("nothing %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    printf("save nothing %d sync %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE), pmdaCacheOp(d, PMDA_CACHE_SYNC));
    pmdaCacheStore(d, PMDA_CACHE_ADD, "a", NULL);
    pmdaCacheStore(d, PMDA_CACHE_ADD, "b c", NULL);
    pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "k", 3, "\000\377\200", NULL);
    pmdaCacheStore(d, PMDA_CACHE_ADD, "culled", NULL);
    pmdaCacheStore(d, PMDA_CACHE_HIDE, "a", NULL);
    pmdaCacheStore(d, PMDA_CACHE_CULL, "culled", NULL);
    pmSetDebug("indom");
    printf("save %d again %d sync %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE), pmdaCacheOp(d, PMDA_CACHE_SAVE), pmdaCacheOp(d, PMDA_CACHE_SYNC));
    pmdaCacheStore(d, PMDA_CACHE_ADD, "a", NULL);
    printf("save %d sync %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE), pmdaCacheOp(d, PMDA_CACHE_SYNC));
    pmdaCacheResize(d, 2000000000);
    /* In this order: a limit that is not in the file holds across a load on ours only (fixed/cache_limit). */
    printf("save %d", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    printf(" sync %d", pmdaCacheOp(d, PMDA_CACHE_SYNC));
    printf(" load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    for (i = 0; i < (int)(sizeof(texts) / sizeof(texts[0])); i++) {
	d = 0x3ec00000 + 10 + i;
	file(10 + i, texts[i]);
	sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
	printf("load %d: %d next %d\n", i, sts, pmdaCacheStore(d, PMDA_CACHE_ADD, "new", (void *)0x5));
    }
    d = 0x3ec00003;
    file(3, "1 0\n0 100 a\n1 200 b\n2 300 c tail\n3 99999999 d\n");
    printf("load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    pmdaCacheStore(d, PMDA_CACHE_ADD, "b", (void *)0x2);
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    pmdaCacheLookup(d, 2, &name, NULL);
    printf("purge %d\n", pmdaCachePurgeCallback(d, 100000000, purged));
    printf("name %s\n", name);
    printf("again %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, "d", NULL));
    pmdaCacheLookup(d, pmdaCacheStore(d, PMDA_CACHE_ADD, "d", NULL), &again, NULL);
    pmdaCacheOp(d, PMDA_CACHE_REORG);
    printf("purge %d %s\n", pmdaCachePurge(d, -10), again);
    printf("save %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    return 0;
}
