/*
 * A load that fails for a reason that may pass has lost nothing yet: the next save keeps the old file under another name, once, and says so.
 * DEF-20
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmInDom d = 0x3ec00050;

static void
file(const char *text)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), d & 0xff);
    if ((f = fopen(path, "w")) == NULL)
	return;
    fputs(text, f);
    fclose(f);
}

/* LOAD without descriptors: EMFILE */
static int
failing(void)
{
    struct rlimit old, none;
    int sts;

    getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
    setrlimit(RLIMIT_NOFILE, &old);
    return sts;
}

static void
save(const char *name)
{
    int inst = pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL);

    printf("%s is %d", name, inst);
    printf(", saved %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    fflush(stdout);
}

int
main(void)
{
    pmSetProgname("cache");
    /* The first load makes the directory. */
    printf("no file %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    save("first");

    d++;
    file("2 0 2147483647\n7 5 a\n9 5 b\n");
    printf("load %d\n", failing());
    save("new");
    save("newer");

    d++;
    file("2 0 2147483647\n7 5 a\n9 5 b\n");
    printf("load %d", failing());
    printf(" %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    save("new");

    d++;
    file("2 0 2147483647\n99999999999 5 x\n");
    printf("load %d\n", pmdaCacheOp(d, PMDA_CACHE_LOAD));
    save("new");
    return 0;
}
