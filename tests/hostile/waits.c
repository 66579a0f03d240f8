/*
 * While a call waits for a disk or for a stream, others go on: a thread whose reads and writes are stopped saves and loads a
 * cache, or closes descriptors that pmdaroot has sent; threads write to a stream that another one has locked. Meanwhile a second thread looks up, stores
 * and dumps. A signal handler on top of what waits is refused as on top of any other call. CACHE-7 H-8
 */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pcp/pmdaroot.h>

#define DOMAIN	245
#define OWN	pmInDom_build(DOMAIN, 1)	/* of the thread that does not wait */
#define SLOW	pmInDom_build(DOMAIN, 2)
#define NAMES	2000
#define MANY	20	/* more than the library lists */
#define LIMIT	60	/* seconds for all */

static __thread int stopped;	/* reads and writes of this thread */
static int alone = 1;
static sem_t inside, go, handled;
static atomic_int outcome, scenes;
static pmdaInterface table;

static void
fail(const char *what)
{
    fprintf(stderr, "FAILED: %s (%d scenes)\n", what, (int)scenes);
    _exit(1);
}

static void
expect(int holds, const char *what)
{
    if (!holds)
	fail(what);
}

static void
handler(int signal)
{
    (void)signal;
    outcome = pmdaCacheStore(OWN, PMDA_CACHE_ADD, "handler", NULL);
    sem_post(&handled);
}

/* Stops once for each call. */
static void
stop(void)
{
    if (!stopped)
	return;
    stopped = 0;
    if (alone) {
	raise(SIGUSR1);
	return;
    }
    sem_post(&inside);
    while (sem_wait(&go) != 0)
	;
}

ssize_t
write(int fd, const void *bytes, size_t size)
{
    stop();
    return syscall(SYS_write, fd, bytes, size);
}

ssize_t
read(int fd, void *bytes, size_t size)
{
    stop();
    return syscall(SYS_read, fd, bytes, size);
}

int
close(int fd)
{
    stop();
    return (int)syscall(SYS_close, fd);
}

/* The calls that wait for a disk. */
static void
save(void)
{
    static int number;
    char name[32];

    snprintf(name, sizeof(name), "more%d", number++);
    expect(pmdaCacheStore(SLOW, PMDA_CACHE_ADD, name, NULL) >= 0, "store");
    expect(pmdaCacheOp(SLOW, PMDA_CACHE_SAVE) > NAMES, "save");
}

static void
load(void)
{
    expect(pmdaCacheOp(SLOW, PMDA_CACHE_LOAD) > NAMES, "load");
}

/* Descriptors of any file may come beside a message of pmdaroot; the close of some waits. */
static int pair[2];

static void
pass(int status)
{
    char control[CMSG_SPACE(2 * sizeof(int))];
    __pmdaRootPDUStart start;
    struct iovec part = { &start, 104 };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
    struct cmsghdr *first;

    memset(control, 0, sizeof(control));
    memset(&start, 0, sizeof(start));
    start.hdr = (__pmdaRootPDUHdr){ PDUROOT_STARTPMDA, 104, status, 2 };
    first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(2 * sizeof(int));
    ((int *)CMSG_DATA(first))[1] = 1;
    expect(sendmsg(pair[1], &header, 0) == 104, "a message");
}

static void
refuse_descriptors(void)
{
    __pmdaRootPDUStart start;

    expect(__pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)) < 0, "a message with an error");
}

static void
drop_descriptors(void)
{
    int pid;

    expect(pmdaRootProcessStart(pair[0], 1, "a", 1, "b", 1, &pid, NULL, NULL) == 0, "a process");
}

/* The calls that wait for a stream. */
static void
dump(void)
{
    __pmdaCacheDump(stderr, OWN, 0);
}

static void
dump_all(void)
{
    __pmdaCacheDumpAll(stderr, 1);
}

static void
dump_by_operation(void)
{
    pmdaCacheOp(OWN, PMDA_CACHE_DUMP);
}

static void
add_no_label(void)
{
    pmLabelSet *labels = NULL;

    expect(pmdaAddLabels(&labels, "{no label}") < 0, "a label");
}

static void
count_unknown(void)
{
    expect(__pmdaCntInst(pmInDom_build(DOMAIN, 99), table.version.any.ext) == 0, "an unknown domain");
}

static void
set_flags_shown(void)
{
    pmdaSetFlags(&table, 0);
}

static void
store_shown(void)
{
    pmdaCacheStore(SLOW, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheOp(SLOW, PMDA_CACHE_CULL);
    pmdaCacheStore(SLOW, PMDA_CACHE_ADD, "two", NULL);
    __pmdaCntInst(SLOW, table.version.any.ext);
}

struct waiting {
    void (*call)(void);
    int stops;
    atomic_int tid;
};

static void *
wait_in_call(void *argument)
{
    struct waiting *waiting = argument;

    stopped = waiting->stops;
    waiting->tid = (int)syscall(SYS_gettid);
    waiting->call();
    return NULL;
}

/* Waits until a thread sleeps in the kernel. */
static void
until_asleep(const struct waiting *waiting)
{
    char path[64], text[256], *end;
    FILE *file;

    do {
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)waiting->tid);
	text[0] = '\0';
	if ((file = fopen(path, "r")) != NULL) {
	    if (fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	    fclose(file);
	}
	end = strrchr(text, ')');
    } while (end == NULL || end[2] != 'S');
}

/* The calls of other threads meanwhile. */
static void
others(void)
{
    char *name;

    expect(pmdaCacheLookup(OWN, 0, &name, NULL) == PMDA_CACHE_ACTIVE && strcmp(name, "first") == 0, "lookup");
    expect(pmdaCacheStore(OWN, PMDA_CACHE_ADD, "second", NULL) == 1, "store");
    expect(pmdaEventReleaseArray(pmdaEventNewArray()) == 0, "an event array");
    scenes++;
}

static void
beside_disk(void (*call)(void))
{
    struct waiting waiting = { call, 1, 0 };
    pthread_t thread;

    expect(pthread_create(&thread, NULL, wait_in_call, &waiting) == 0, "a thread");
    while (sem_wait(&inside) != 0)
	;
    others();
    pthread_kill(thread, SIGUSR1);
    while (sem_wait(&handled) != 0)
	;
    expect(outcome == -EBUSY, "a handler on top of a call that waits");
    sem_post(&go);
    pthread_join(thread, NULL);
}

static void
beside_stream(void (*call)(void), int count)
{
    struct waiting waiting[MANY];
    pthread_t threads[MANY];
    int i;

    flockfile(stderr);
    for (i = 0; i < count; i++) {
	waiting[i] = (struct waiting){ call, 0, 0 };
	expect(pthread_create(&threads[i], NULL, wait_in_call, &waiting[i]) == 0, "a thread");
    }
    for (i = 0; i < count; i++)
	until_asleep(&waiting[i]);
    others();
    dump();	/* by the thread that has the stream */
    funlockfile(stderr);
    for (i = 0; i < count; i++)
	pthread_join(threads[i], NULL);
}

int
main(void)
{
    static void (*const of_streams[])(void) = { dump, dump_all, dump_by_operation, add_no_label, count_unknown };
    struct sigaction action;
    char name[32];
    unsigned int i;

    alarm(LIMIT);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&inside, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&handled, 0, 0);
    pmdaDSO(&table, PMDA_INTERFACE_7, "waits", NULL);
    table.domain = DOMAIN;
    pmdaCacheStore(OWN, PMDA_CACHE_ADD, "first", NULL);
    for (i = 0; i < NAMES; i++) {
	snprintf(name, sizeof(name), "name%u", i);
	pmdaCacheStore(SLOW, PMDA_CACHE_ADD, name, NULL);
    }
    /* With one thread: a handler on top of a write. */
    stopped = 1;
    save();
    expect(outcome == -EBUSY, "a handler on top of a write of the only thread");
    expect(stopped == 0, "a write");
    alone = 0;
    beside_disk(save);
    beside_disk(load);
    expect(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0, "sockets");
    pass(-4);
    beside_disk(refuse_descriptors);
    pass(0);
    beside_disk(drop_descriptors);
    for (i = 0; i < sizeof(of_streams) / sizeof(of_streams[0]); i++)
	beside_stream(of_streams[i], 1);
    beside_stream(dump, MANY);
    pmSetDebug("libpmda,indom");
    beside_stream(set_flags_shown, 1);
    beside_stream(store_shown, 1);
    beside_stream(dump_all, MANY);
    printf("%d calls waited while others went on\n", (int)scenes);
    return 0;
}
