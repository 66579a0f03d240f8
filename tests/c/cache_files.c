/*
 * Saves, loads and purges: what each returns and logs, and the files that are left behind, which the harness compares. CACHE-62, CACHE-63,
 * CACHE-64, CACHE-70, CACHE-71, CACHE-72, CACHE-73, CACHE-74, CACHE-75, CACHE-90, CACHE-91, CACHE-92, CACHE-93, CACHE-94, CACHE-95, CACHE-25,
 * CACHE-7, DEF-16.
 */
#include <sys/stat.h>
#include "cache.h"

static void
purged(void *private_)
{
    printf("purged %p\n", private_);
    OP(SIZE);
}

int
main(void)
{
    static const char *texts[] = {
	"1 0\n0 5 a\n", "2 1 99\n3 7 b c\n1 7 d\n", "2 0 2147483647\n1 1795229386 [00ff80] k\n2 1795229386 last", "", "x\n", "3 0 1\n", "2 0\n", "1\n", "1x 0\n",
	"1.5 0\n", "\n", "1 0 extra\nabc def\n", "1 0\n12abc\n3 5name\n01 02 zeros\n", "1 0\n5 1 a\n\n6 1 b\n", "1 0\n5 1 a\n6\n", "1 0\n5 1 a\n6 7\n",
	"1 0\n5 1 a\n5 2 b\n6 3 a\n7 4 a b\n8 5 a\n", "1 0\n7 5[aa] one\n", "1 0\n9 1 x\n3 1 y\n5 1 z \r\n", "2 1 5\n1 1795229386 \303\251 x\n2 9 [AB] q\n",
    };
    int i;
    char *name, *again;

    pmSetProgname("cache");
    umask(022);
    domain(0);
    OP(LOAD);
    OP(SAVE);
    OP(SYNC);
    STORE(ADD, "a");
    STORE(ADD, "b c");
    KEYED(ADD, "k", 3, "\000\377\200");
    STORE(ADD, "culled");
    STORE(HIDE, "a");
    STORE(CULL, "culled");
    pmSetDebug("indom");
    OP(SAVE);
    OP(SAVE);
    OP(SYNC);
    STORE(ADD, "a");
    OP(SAVE);
    OP(SYNC);
    SHOW(pmdaCacheResize(d, 2000000000));
    /* In this order: a limit that is not in the file holds across a load on ours only (fixed/cache_limit). */
    OP(SAVE);
    OP(SYNC);
    OP(LOAD);
    for (i = 0; i < (int)(sizeof(texts) / sizeof(texts[0])); i++) {
	domain(10 + i);
	file(texts[i]);
	OP(LOAD);
	SHOW(pmdaCacheStore(d, PMDA_CACHE_ADD, "new", (void *)0x5));
    }
    domain(3);
    file("1 0\n0 100 a\n1 200 b\n2 300 c tail\n3 99999999 d\n");
    OP(LOAD);
    pmdaCacheStore(d, PMDA_CACHE_ADD, "b", (void *)0x2);
    OP(LOAD);
    pmdaCacheLookup(d, 2, &name, NULL);
    SHOW(pmdaCachePurgeCallback(d, 100000000, purged));
    printf("name %s\n", name);
    STORE(ADD, "d");
    pmdaCacheLookup(d, pmdaCacheStore(d, PMDA_CACHE_ADD, "d", NULL), &again, NULL);
    OP(REORG);
    SHOW(pmdaCachePurge(d, -10));
    printf("name %s\n", again);
    OP(SAVE);
    return 0;
}
