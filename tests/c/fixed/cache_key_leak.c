/*
 * A key that is replaced by another is freed: by a store, and by a load. DEF-5
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static size_t before;

static void
mark(void)
{
    before = mallinfo2().uordblks;
}

static void
grown(const char *what)
{
    printf("%s: grown by the keys: %s\n", what, mallinfo2().uordblks > before + 200000 ? "yes" : "no");
}

int
main(void)
{
    pmInDom indom = pmInDom_build(253, 12);
    char key[400];
    int i;

    mkdir("var/config/pmda", 0755);
    memset(key, 'k', sizeof key);
    pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "one", sizeof key, key, NULL);
    mark();
    for (i = 0; i < 2000; i++)
	pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "one", sizeof key, key, NULL);
    grown("store");
    printf("save %d\n", pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    pmdaCacheOp(indom, PMDA_CACHE_LOAD);
    mark();
    for (i = 0; i < 2000; i++)
	if (pmdaCacheOp(indom, PMDA_CACHE_LOAD) != 1)
	    return 1;
    grown("load");
    unlink("var/config/pmda/253.12");
    return 0;
}
