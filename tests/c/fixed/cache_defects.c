/*
 * The C library's defects about caches: WRITE and the limit for keys (CACHE-24, CACHE-55), duplicate keys (CACHE-58), conflicts in
 * a file (CACHE-93), callbacks that reorganise the cache (CACHE-7). DEF-2, DEF-3, DEF-4, DEF-6, DEF-7, DEF-8, DEF-9, DEF-10, DEF-11, DEF-12, DEF-13
 * c-library: not run, it dies with SIGSEGV at the first of them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define WRITE 21

static void
file(int serial, const char *text)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%d", getenv("PCP_VAR_DIR"), serial);
    f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static int
add(pmInDom d, const char *name)
{
    return pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);
}

static void
again(void *private_)
{
    printf("purged %s reorg %d new %d\n", (char *)private_, pmdaCacheOp(0x3ec00009, PMDA_CACHE_REORG), add(0x3ec00009, (char *)private_ + 1));
}

int
main(void)
{
    pmInDom d = 0x3ec00001;
    int i, inst = -7;
    char line[3000];

    pmSetProgname("cache");
    /* The first load makes the directory. */
    printf("load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    printf("keyed %d", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "a", 0, NULL, NULL));
    printf(" %d", pmdaCacheStore(d, PMDA_CACHE_CULL, "a", NULL));
    printf(" %d", pmdaCacheOp(d, PMDA_CACHE_REORG));
    printf(" %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "a", 0, NULL, NULL));

    d++;
    printf("tail %d", add(d, "a"));
    printf(" %d", add(d, "b"));
    pmdaCacheStore(d, PMDA_CACHE_CULL, "b", NULL);
    pmdaCacheOp(d, PMDA_CACHE_REORG);
    printf(" %d", add(d, "c"));
    printf(" %d\n", add(d, "d"));
    printf("walk without rewind %d\n", pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT));
    pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND);
    printf("walk %d", pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT));
    printf(" %d", pmdaCacheLookupKey(d, "none", 0, NULL, NULL, NULL, NULL));
    pmdaCacheStore(d, PMDA_CACHE_CULL, "c", NULL);
    pmdaCacheOp(d, PMDA_CACHE_REORG);
    printf(" %d", pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT));
    printf(" %d\n", pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT));
    __pmdaCacheDump(stdout, d, 0);

    d++;
    file(3, "2 7 -1\n");
    printf("header %d", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    printf(" %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "foo", 0, NULL, NULL));
    file(3, "1 0\n1 5 [aa] x\n2 6 [bb\n3 5 [] y\n4294967296 5 z\n");
    printf("records %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    __pmdaCacheDump(stdout, d, 0);

    d++;
    memset(line, 'x', sizeof(line));
    snprintf(line, 10, "1 0\n7 5 ");
    line[8] = 'x';
    memcpy(line + sizeof(line) - 16, "\n8 6000000000 y\n", 16);
    line[sizeof(line) - 1] = '\0';
    file(4, line);
    printf("long %d", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    printf(" %d\n", pmdaCacheLookupName(d, "y", &inst, NULL));
    printf("write %d id %d\n", pmdaCacheOp(d, WRITE), inst);

    d++;
    file(5, "2 0 100\n1 5 [aa] a\n2 6 b\n1 7 [cc] other\n9 8 b\n200 9 far\n201 9 farther\n");
    printf("conflicts %d", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    printf(" %d\n", pmdaCacheLookupKey(d, NULL, 1, "\252", NULL, NULL, NULL));
    __pmdaCacheDump(stdout, d, 0);

    d++;
    printf("limit %d", pmdaCacheResize(d, 7));
    for (i = 0; i < 8; i++) {
	char name[2] = { "abcdefgh"[i], '\0' };
	printf(" %d", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 0, NULL, NULL));
    }
    printf("\n");
    __pmdaCacheDump(stdout, d, 1);

    d++;
    printf("names %d", pmdaCacheOp(d, PMDA_CACHE_STRINGS));
    printf(" %d", add(d, ""));
    printf(" %d", add(d, "a\nb"));
    printf(" %d", add(d, "[x"));
    printf(" write %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));

    d = 0x3ec00009;
    file(9, "1 0\n0 5 a\n1 5 b\n2 5 c\n");
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    file(9, "1 0\n0 5 a\n1 5 b\n2 5 c\n");
    pmdaCacheStore(d, PMDA_CACHE_ADD, "a", "1a");
    pmdaCacheStore(d, PMDA_CACHE_ADD, "c", "2c");
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    i = pmdaCachePurgeCallback(d, 1000, again);
    printf("purge %d", i);
    printf(" again %d\n", pmdaCachePurgeCallback(d, 1000, again));
    __pmdaCacheDump(stdout, d, 1);

    d++;
    for (i = 0; i < 10000; i++) {
	snprintf(line, sizeof(line), "churn%d", i);
	inst = add(d, line);
	pmdaCacheStore(d, PMDA_CACHE_CULL, line, NULL);
    }
    printf("churn %d", inst);
    pmdaCacheOp(d, PMDA_CACHE_REUSE);
    pmdaCacheOp(d, PMDA_CACHE_REORG);
    printf(" %d\n", add(d, "x"));
    return 0;
}
