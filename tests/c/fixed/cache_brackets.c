/*
 * Names that begin with a bracket survive a file, with a key and without one; the file has a form that the C library reads
 * with the same meaning. DEF-9 CACHE-74 CACHE-92
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static const char *names[] = { "[aa] one", "[] two", "[]", "[", "[zz] five", "[bb]six", "]seven", "a [cc] eight", "[1K, 2K)" };

static void
write_names(pmInDom indom)
{
    char other[64];
    int i;

    for (i = 0; i < 9; i++) {
	printf(" %d", pmdaCacheStore(indom, PMDA_CACHE_ADD, names[i], NULL));
	snprintf(other, sizeof other, "[%d]%s", 10 + i, names[i]);
	printf(" %d", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, other, 2, &names[i][0], NULL) >= 0);
    }
    printf("\nwritten %d\n", pmdaCacheOp(indom, PMDA_CACHE_SAVE));
}

static void
read_names(pmInDom indom)
{
    char *name, other[64];
    int i, inst;

    printf("read %d\n", pmdaCacheOp(indom, PMDA_CACHE_LOAD));
    for (i = 0; i < 9; i++) {
	printf("%s: %d", names[i], pmdaCacheLookupName(indom, names[i], NULL, NULL));
	snprintf(other, sizeof other, "[%d]%s", 10 + i, names[i]);
	printf(", keyed %d", pmdaCacheLookupName(indom, other, &inst, NULL));
	printf(", by key %d\n", pmdaCacheLookupKey(indom, NULL, 2, names[i], &name, &inst, NULL));
    }
}

int
main(void)
{
    pmInDom indom = pmInDom_build(253, 11);
    int status;

    mkdir("var/config/pmda", 0755);
    if (fork() == 0) {
	write_names(indom);
	fflush(stdout);
	_exit(0);
    }
    wait(&status);
    if (fork() == 0) {
	read_names(indom);
	fflush(stdout);
	_exit(0);
    }
    wait(&status);
    unlink("var/config/pmda/253.11");
    return 0;
}
