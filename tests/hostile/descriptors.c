/*
 * Descriptors run out: files of caches, help databases and the socket to pmdaroot, with none, one, two ... that are left.  A call
 * works or fails with a code, no descriptor is lost, no file either, and the next call works.  And what an agent starts by fork and
 * exec has nothing of the library open.
 *
 * descriptors EXECS
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/help_fixture.h"
#include "../c/descriptors.h"

#define MOST	12	/* descriptors that are left, at most: more than any call needs */
#define DOMAIN	0x3ec00060

static int failures;

static void
fail(const char *what, int left, int sts)
{
    printf("FAILED: %s with %d descriptors left: %d\n", what, left, sts);
    exit(1);
}

/* From here on so many descriptors can be opened; negative: as many as before. */
static void
leave(int left)
{
    static struct rlimit all;
    struct rlimit now;
    int fd, lowest;

    if (all.rlim_max == 0)
	getrlimit(RLIMIT_NOFILE, &all);
    setrlimit(RLIMIT_NOFILE, &all);
    if (left < 0)
	return;
    /* Nothing is open above the lowest one that is free, but for what somebody else has left. */
    for (lowest = 0; fcntl(lowest, F_GETFD) >= 0; lowest++)
	;
    for (fd = lowest; fd < 256; fd++) {
	if (fcntl(fd, F_GETFD) >= 0)
	    fail("a gap", left, fd);
    }
    now = all;
    now.rlim_cur = lowest + left;
    setrlimit(RLIMIT_NOFILE, &now);
}

static void
cache_file(char *path, size_t size, pmInDom d)
{
    snprintf(path, size, "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), d & 0xff);
}

static int
lines(const char *path)
{
    int count = 0, c;
    FILE *f = fopen(path, "r");

    if (f == NULL)
	return -errno;
    while ((c = getc(f)) != EOF)
	count += c == '\n';
    fclose(f);
    return count;
}

static void
caches(int left)
{
    char path[4096], name[32];
    pmInDom d = DOMAIN + left;
    int sts, before;
    FILE *f;

    cache_file(path, sizeof(path), d);
    if ((f = fopen(path, "w")) == NULL)
	fail("a file", left, -errno);
    fprintf(f, "2 0 2147483647\n3 5 three\n8 5 eight\n");
    fclose(f);
    before = open_descriptors();
    leave(left);
    sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
    leave(-1);
    failures += sts < 0;
    if (sts != 2 && sts != -EMFILE)
	fail("LOAD", left, sts);
    if (sts < 0 && (sts = pmdaCacheOp(d, PMDA_CACHE_LOAD)) != 2)
	fail("LOAD again", left, sts);
    snprintf(name, sizeof(name), "new %d", left);
    if (pmdaCacheStore(d, PMDA_CACHE_ADD, name, NULL) != 9)
	fail("a store", left, 0);
    leave(left);
    sts = pmdaCacheOp(d, PMDA_CACHE_SAVE);
    leave(-1);
    failures += sts < 0;
    if (sts != 3 && sts != -EMFILE)
	fail("SAVE", left, sts);
    if (lines(path) != (sts < 0 ? 3 : 4))
	fail("the lines of a file", left, lines(path));
    if (sts < 0 && (sts = pmdaCacheOp(d, PMDA_CACHE_SAVE)) != 3)
	fail("SAVE again", left, sts);
    if (lines(path) != 4 || open_descriptors() != before)
	fail("a cache's file", left, open_descriptors() - before);
}

static void
help(int left)
{
    static const help_record index[] = { { { HELP_MAGIC, HELP_VERSION, 1 } }, { { PMID(251, 0, 0), 0, 4 } } };
    int before, sts, again;

    help_write("texts", "dir", index, sizeof(index));
    help_write("texts", "pag", "one\0two\0", 8);
    before = open_descriptors();
    leave(left);
    sts = pmdaOpenHelp("texts");
    leave(-1);
    failures += sts < 0;
    if (sts < 0 && sts != -EMFILE)
	fail("pmdaOpenHelp", left, sts);
    if ((again = pmdaOpenHelp("texts")) < 0 || pmdaGetHelp(again, PMID(251, 0, 0), PM_TEXT_ONELINE) == NULL)
	fail("pmdaOpenHelp again", left, again);
    pmdaCloseHelp(again);
    if (sts >= 0)
	pmdaCloseHelp(sts);
    if (open_descriptors() != before)
	fail("a help database", left, open_descriptors() - before);
}

static void
root(int left)
{
    int before = open_descriptors(), sts;

    leave(left);
    sts = pmdaRootConnect("/nowhere/socket");
    leave(-1);
    failures += sts == -EMFILE;
    if (sts >= 0 || open_descriptors() != before)
	fail("pmdaRootConnect", left, sts);
}

/* A program that an agent starts: it has three descriptors. */
static void
exec_self(const char *program)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
	execl(program, program, "started", (char *)NULL);
	_exit(9);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
	fail("a program that was started", -1, status);
}

int
main(int argc, char **argv)
{
    int execs = argc > 1 ? atoi(argv[1]) : 10, left, i, base;
    pmInDom d = DOMAIN + MOST + 1;
    pmdaInterface table;

    if (argc > 1 && strcmp(argv[1], "started") == 0)
	return open_descriptors() == 3 ? 0 : 1;
    alarm(300);
    pmSetProgname("descriptors");
    /* The test's own lines are not in the way of the library's. */
    for (i = 3; i < 256; i++)
	close(i);
    pmdaCacheOp(DOMAIN - 1, PMDA_CACHE_LOAD);
    base = open_descriptors();
    for (left = 0; left <= MOST; left++) {
	caches(left);
	help(left);
	root(left);
    }
    if (failures == 0)
	fail("nothing has failed", MOST, 0);
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "agent", "texts");
    pmdaEventNewQueue("queue", 1000);
    for (i = 0; i < execs; i++) {
	if (i % 100 == 0) {
	    pmdaCacheStore(d, PMDA_CACHE_ADD, "one", NULL);
	    pmdaCacheOp(d, PMDA_CACHE_SYNC);
	    pmdaCloseHelp(pmdaOpenHelp("texts"));
	}
	exec_self(argv[0]);
    }
    if (open_descriptors() != base)
	fail("the end", -1, open_descriptors() - base);
    printf("%d calls without descriptors failed, and %d programs had nothing open\n", failures, execs);
    return 0;
}
