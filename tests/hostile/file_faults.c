/*
 * Files that fail.  In a storm of signals each open, read and write of a file is interrupted once (EINTR, as FUSE and NFS do it),
 * while a timer fires 10,000 times a second without SA_RESTART: caches are saved and loaded, and help databases opened, as ever.
 * And each system call on a help database fails in turn with EIO: the open fails with that, no descriptor is lost, what was open
 * before has its texts, and the next open works, also when the files are cut under an open database (HELP-20, HELP-33).
 *
 * file_faults ROUNDS
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "../c/help_fixture.h"
#include "../c/descriptors.h"

#define NAMES	100
#define SAVED	pmInDom_build(246, 1)
#define MOST	100	/* system calls of an open, at most */

static int storm, interrupted;	/* EINTR for each other call */
static int left = -1, reached;	/* calls until EIO; -1: never */
static long interruptions, timers;

static int
fault(void)
{
    if (storm && (interrupted = !interrupted)) {
	interruptions++;
	errno = EINTR;
	return 1;
    }
    if (left >= 0 && left-- == 0) {
	reached = 1;
	errno = EIO;
	return 1;
    }
    return 0;
}

#define OPEN(name, before, directory) \
int \
name before \
{ \
    va_list arguments; \
    mode_t mode; \
    \
    va_start(arguments, flags); \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
    return fault() ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode); \
}

OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int directory, const char *path, int flags, ...), directory)
OPEN(openat64, (int directory, const char *path, int flags, ...), directory)

ssize_t
read(int fd, void *bytes, size_t size)
{
    return fault() ? -1 : syscall(SYS_read, fd, bytes, size);
}

ssize_t
pread64(int fd, void *bytes, size_t size, off64_t offset)
{
    return fault() ? -1 : syscall(SYS_pread64, fd, bytes, size, offset);
}

ssize_t
write(int fd, const void *bytes, size_t size)
{
    return fault() ? -1 : syscall(SYS_write, fd, bytes, size);
}

/* The others do not wait, so nothing interrupts them. */
off64_t
lseek64(int fd, off64_t offset, int whence)
{
    return !storm && fault() ? -1 : syscall(SYS_lseek, fd, offset, whence);
}

int
statx(int directory, const char *path, int flags, unsigned int mask, struct statx *status)
{
    return !storm && fault() ? -1 : (int)syscall(SYS_statx, directory, path, flags, mask, status);
}

static void
fail(const char *what, long number)
{
    storm = 0;
    left = -1;
    printf("FAILED: %s: %ld\n", what, number);
    exit(1);
}

static void
expect(int holds, const char *what, long number)
{
    if (!holds)
	fail(what, number);
}

static void
count(int signal)
{
    (void)signal;
    timers++;
}

static void
texts(int handle, long number)
{
    const char *text = pmdaGetHelp(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);

    expect(text != NULL && strcmp(text, "first") == 0, "a text", number);
    text = pmdaGetInDomHelp(handle, INDOM(9, 0), PM_TEXT_HELP);
    expect(text != NULL && strcmp(text, "long again") == 0, "a text of a domain", number);
}

static void
timer(long microseconds)
{
    struct itimerval often = { { 0, microseconds }, { 0, microseconds } };

    setitimer(ITIMER_REAL, &often, NULL);
}

static void
in_a_storm(int rounds)
{
    char name[32];
    int round, i, sts, handle;

    for (round = 0; round < rounds; round++) {
	for (i = 0; i < NAMES; i++) {
	    snprintf(name, sizeof(name), "round%d-%d", round % 3, i);
	    sts = pmdaCacheStore(SAVED, PMDA_CACHE_ADD, name, NULL);
	    expect(sts >= 0, "store", sts);
	}
	storm = 1;
	sts = pmdaCacheOp(SAVED, PMDA_CACHE_SAVE);
	/* Nothing is new after the third. */
	expect(round < 3 ? sts > 0 : sts == 0, "save", sts);
	sts = pmdaCacheOp(SAVED, PMDA_CACHE_LOAD);
	expect(sts == NAMES * (round < 2 ? round + 1 : 3), "load", sts);
	handle = pmdaOpenHelp("good");
	expect(handle >= 0, "open", handle);
	storm = 0;
	texts(handle, round);
	pmdaCloseHelp(handle);
    }
}

static void
errors_of_a_disk(void)
{
    int before = open_descriptors(), good = pmdaOpenHelp("good"), handle, n, errors = 0;

    expect(good >= 0, "open", good);
    for (n = 0; n < MOST; n++) {
	reached = 0;
	left = n;
	handle = pmdaOpenHelp("good");
	left = -1;
	if (!reached)
	    break;
	/* What a call says about holes is no reason to fail. */
	expect(handle == -EIO || handle >= 0, "open", handle);
	errors += handle < 0;
	expect(open_descriptors() == before, "descriptors", n);
	texts(good, n);
	if (handle >= 0) {
	    texts(handle, n);
	    pmdaCloseHelp(handle);
	}
	handle = pmdaOpenHelp("good");
	expect(handle >= 0, "the next open", handle);
	texts(handle, n);
	pmdaCloseHelp(handle);
    }
    expect(n > 4 && n < MOST && errors > 4, "calls", n);
    printf("%d of %d system calls of an open failed\n", errors, n);
    /* A newhelp that dies, or a disk that loses pages. */
    expect(truncate("good.pag", 0) == 0 && truncate("good.dir", 5) == 0, "truncate", errno);
    texts(good, 0);
    expect(pmdaOpenHelp("good") == -EINVAL, "a file that was cut", 0);
    pmdaCloseHelp(good);
}

int
main(int argc, char **argv)
{
    struct sigaction action;
    pmdaInterface table;
    int rounds = argc > 1 ? atoi(argv[1]) : 10;

    memset(&action, 0, sizeof(action));
    action.sa_handler = count;
    sigaction(SIGALRM, &action, NULL);
    pmdaDSO(&table, PMDA_INTERFACE_7, "file_faults", NULL);
    help_write_good("good");
    timer(100);
    in_a_storm(rounds);
    timer(0);
    expect(interruptions > rounds, "interruptions", interruptions);
    printf("%d rounds with %ld interruptions and %s\n", rounds, interruptions, timers > 0 ? "a timer" : "NO TIMER");
    errors_of_a_disk();
    help_remove("good");
    return 0;
}
