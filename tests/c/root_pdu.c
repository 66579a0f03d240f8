/*
 * differs on x86: a message without descriptors is refused by the kernel, the C library gives it a wrong length on 32-bit machines
 *
 * Messages of pmdaroot over a socket pair: ROOT-1, ROOT-2, ROOT-3, ROOT-4, ROOT-5, ROOT-6, ROOT-10, ROOT-11, ROOT-12, ROOT-13, ROOT-14,
 * ROOT-20, ROOT-21, ROOT-22, ROOT-23, ROOT-24, ROOT-25, ROOT-26, ROOT-27.
 */
#include <signal.h>
#include "root_tools.h"

static int numbers[1100];

/* A message of numbers, sent raw. */
static void
raw(size_t size, int type, int length, int status, int version)
{
    numbers[0] = type;
    numbers[1] = length;
    numbers[2] = status;
    numbers[3] = version;
    if (send(pair[1], numbers, size, 0) != (ssize_t)size)
	exit(8);
}

static void
sending(void)
{
    char name[5000];

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    arrived("info", __pmdaSendRootPDUInfo(pair[0], 7, -12345));
    arrived("container", __pmdaSendRootPDUContainer(pair[0], PDUROOT_HOSTNAME, 77, "some name", 9, 0));
    arrived("part of a name", __pmdaSendRootPDUContainer(pair[0], PDUROOT_HOSTNAME, 77, "some name", 4, 0));
    arrived("no name", __pmdaSendRootPDUContainer(pair[0], 1, -1, NULL, 0, 3));
    arrived("short name", __pmdaSendRootPDUContainer(pair[0], 1, -1, "ab\0cdef", 7, 3));
    arrived("negative", __pmdaSendRootPDUContainer(pair[0], 1, -1, name, -1, 0));
    arrived("longest", __pmdaSendRootPDUContainer(pair[0], 1, -1, name, 4095, 0));
    arrived("too long", __pmdaSendRootPDUContainer(pair[0], 1, -1, name, 4096, 0));
    arrived("start request", __pmdaSendRootPDUStartReq(pair[0], 2, "agent", 5, "agent -d 3", 10));
    arrived("longest name", __pmdaSendRootPDUStartReq(pair[0], 1, name, 63, "x", 1));
    arrived("no name", __pmdaSendRootPDUStartReq(pair[0], 1, "", 0, "x", 1));
    arrived("no arguments", __pmdaSendRootPDUStartReq(pair[0], 1, "x", 1, "", 0));
    arrived("negative", __pmdaSendRootPDUStartReq(pair[0], 1, "x", -1, "x", 5000));
    arrived("too long name", __pmdaSendRootPDUStartReq(pair[0], 1, name, 64, "x", 1));
    arrived("too long arguments", __pmdaSendRootPDUStartReq(pair[0], 1, "x", 1, name, 4096));
    arrived("start", __pmdaSendRootPDUStart(pair[0], 4711, 0, 1, "agent", 5, 0));
    arrived("start without descriptors", __pmdaSendRootPDUStart(pair[0], 4711, -1, 1, "agent", 5, -2));
    arrived("no name", __pmdaSendRootPDUStart(pair[0], 1, 0, 1, "agent", 0, 0));
    arrived("too long", __pmdaSendRootPDUStart(pair[0], 1, 0, 1, name, 64, 0));
    arrived("stop", __pmdaSendRootPDUStop(pair[0], PDUROOT_STOPPMDA, -1, 256, 1, -3));
    errno = 0;
    printf("bad descriptor %d", __pmdaSendRootPDUInfo(-1, 7, 0));
    printf(" errno %d", errno);
    printf(" %d", __pmdaSendRootPDUStop(999, 1, 1, 1, 1, 1));
    printf(" %d", __pmdaSendRootPDUContainer(-1, 1, 1, "a", 1, 1));
    printf(" %d", __pmdaSendRootPDUStart(-1, 1, 0, 1, "a", 1, 1));
    printf(" %d\n", __pmdaSendRootPDUStartReq(-1, 1, "a", 1, "b", 1));
}

static void
receive_info(void)
{
    int version = 55, features = 66;

#define INFO(what) do { printf("info %s: %d", what, __pmdaRecvRootPDUInfo(pair[0], &version, &features)); \
	printf(" %d %d\n", version, features); version = 55; features = 66; } while (0)
    numbers[4] = 3;
    raw(24, PDUROOT_INFO, 24, 0, 2);
    INFO("good");
    raw(24, PDUROOT_INFO, 24, 0, -5);
    INFO("old");
    raw(24, PDUROOT_INFO, 24, -1234, 2);
    INFO("status");
    raw(24, PDUROOT_INFO, 24, -1234, 3);
    INFO("new");
    raw(24, PDUROOT_STOPPMDA, 24, -1234, 3);
    INFO("type");
    raw(24, PDUROOT_INFO, 25, 0, 2);
    INFO("long");
    raw(24, PDUROOT_INFO, 23, 0, 2);
    INFO("short");
    raw(20, PDUROOT_INFO, 24, 0, 2);
    INFO("cut");
    printf("bad descriptor %d\n", __pmdaRecvRootPDUInfo(-1, &version, &features));
}

static void
receive_others(void)
{
    __pmdaRootPDUContainer container;
    __pmdaRootPDUStop stop;

#define CONTAINER(what) printf("container %s: %d\n", what, __pmdaRecvRootPDUContainer(pair[0], PDUROOT_CGROUPNAME, &container, sizeof(container)))
#define STOP(what) printf("stop %s: %d\n", what, __pmdaRecvRootPDUStop(pair[0], PDUROOT_STOPPMDA, &stop, sizeof(stop)))
    numbers[4] = 42;
    numbers[5] = 4;
    raw(28, PDUROOT_CGROUPNAME, 28, 0, 2);
    CONTAINER("good");
    raw(28, PDUROOT_CGROUPNAME, 9999, 0, 0);
    CONTAINER("announces more");
    raw(28, PDUROOT_CGROUPNAME, 27, 0, 2);
    CONTAINER("announces less");
    raw(28, PDUROOT_CGROUPNAME, 28, -99, 2);
    CONTAINER("status");
    raw(28, PDUROOT_CGROUPNAME, 28, -99, 3);
    CONTAINER("version");
    raw(28, PDUROOT_HOSTNAME, 28, -99, 3);
    CONTAINER("type");
    raw(23, PDUROOT_CGROUPNAME, 28, 0, 2);
    CONTAINER("cut");
    raw(24, PDUROOT_CGROUPNAME, 28, 0, 2);
    CONTAINER("without its name");
    /* two that wait are read as one */
    raw(28, PDUROOT_CGROUPNAME, 28, 0, 2);
    raw(28, PDUROOT_CGROUPNAME, 28, 0, 2);
    CONTAINER("two");
    raw(32, PDUROOT_STOPPMDA, 32, 0, 2);
    STOP("good");
    raw(32, PDUROOT_STOPPMDA, 1, 0, 2);
    STOP("length");
    raw(32, PDUROOT_STOPPMDA, 32, -5, 2);
    STOP("status");
    raw(32, PDUROOT_STOPPMDA, 32, -5, 9);
    STOP("version");
    raw(32, PDUROOT_STOPPMDA_REQ, 32, -5, 9);
    STOP("type");
    raw(31, PDUROOT_STOPPMDA, 32, 0, 2);
    STOP("cut");
    printf("bad descriptors %d", __pmdaRecvRootPDUContainer(-1, 1, &container, sizeof(container)));
    printf(" %d", __pmdaRecvRootPDUStop(-1, 1, &stop, sizeof(stop)));
    /* The answer to the second call: PCP 5.3's to the first is the errno that its log line has left. */
    __pmdaRecvRootPDUStart(-1, numbers, sizeof(numbers));
    printf(" %d\n", __pmdaRecvRootPDUStart(-1, numbers, sizeof(numbers)));
}

static void
decode(void)
{
    __pmdaRootPDUContainer container;
    __pmdaRootPDUStart start;
    __pmdaRootPDUStop stop = { { PDUROOT_STOPPMDA, 32, 0, 2 }, 5, 6, 7, 0 };
    char name[100], args[100];
    int pid = 1, in = 2, out = 3, ipc = 4, size;

    memset(&container, 0, sizeof(container));
    container.pid = 99;
    container.namelen = 9;
    memcpy(container.name, "some-name", 9);
    for (size = 0; size <= 11; size++) {
	memset(name, 'Z', sizeof(name));
	name[15] = '\0';
	printf("room %d: %d", size, __pmdaDecodeRootPDUContainer(&container, 33, &pid, name, size));
	printf(" %d %s\n", pid, name);
	pid = 1;
    }
    printf("length only %d", __pmdaDecodeRootPDUContainer(&container, 33, NULL, NULL, 0));
    printf(", no pid %d", __pmdaDecodeRootPDUContainer(&container, 33, NULL, name, 20));
    printf(", cut %d\n", __pmdaDecodeRootPDUContainer(&container, 25, &pid, name, 20));
    container.namelen = 0;
    printf("empty %d\n", __pmdaDecodeRootPDUContainer(&container, 24, &pid, NULL, 0));
    memset(&start, 0, sizeof(start));
    start.pid = 10;
    start.infd = 11;
    start.outfd = 12;
    start.ipctype = 13;
    start.namelen = 5;
    start.argslen = 7;
    memcpy(start.name, "agent", 5);
    memcpy(start.args, "agent x", 7);
    memset(name, 'Z', sizeof(name));
    memset(args, 'Z', sizeof(args));
    printf("start %d", __pmdaDecodeRootPDUStart(&start, 111, &pid, &in, &out, &ipc, name, sizeof(name), args, sizeof(args)));
    printf(" %d %d %d %d %s %s\n", pid, in, out, ipc, name, args);
    printf("nothing wanted %d", __pmdaDecodeRootPDUStart(&start, 111, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0));
    printf(" %d\n", __pmdaDecodeRootPDUStart(&start, 111, NULL, NULL, NULL, NULL, name, 0, args, 0));
    printf("stop %d", __pmdaDecodeRootPDUStop(&stop, 32, &pid, &in, &out));
    printf(" %d %d %d, nothing wanted %d", pid, in, out, __pmdaDecodeRootPDUStop(&stop, 32, NULL, NULL, NULL));
    printf(", no length %d\n", __pmdaDecodeRootPDUStop(&stop, 0, NULL, NULL, NULL));
}

static void
descriptors(void)
{
    __pmdaRootPDUStart start;
    int ends[2], before = open_descriptors();
    char byte = 0;

    if (pipe(ends) < 0)
	exit(7);
    printf("send %d\n", __pmdaSendRootPDUStart(pair[1], 4711, ends[0], ends[1], "agent", 5, 0));
    memset(&start, 0xff, sizeof(start));
    printf("receive %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    printf(" pid %d, new %d %d\n", start.pid, start.infd != ends[0] && start.infd > 2, start.outfd != ends[1] && start.outfd > 2);
    if (write(start.outfd, "!", 1) != 1 || read(ends[0], &byte, 1) != 1)
	exit(6);
    printf("written through it: %c\n", byte);
    close(start.infd);
    close(start.outfd);
    printf("send %d\n", __pmdaSendRootPDUStart(pair[1], 1, -1, ends[1], "agent", 5, 0));
    printf("receive %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    printf(" %d %d\n", start.infd, start.outfd);
    close(ends[0]);
    close(ends[1]);
    printf("none stay open %d\n", open_descriptors() == before);
    raw(104, PDUROOT_STARTPMDA, 103, 0, 2);
    printf("length %d\n", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    raw(104, PDUROOT_STARTPMDA, 104, -77, 2);
    printf("status %d\n", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    raw(104, PDUROOT_STARTPMDA_REQ, 104, -77, 2);
    printf("type %d\n", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    raw(100, PDUROOT_STARTPMDA, 104, 0, 2);
    printf("cut %d\n", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
}

static void
broken_pipe(void)
{
    struct sigaction action;

    sigaction(SIGPIPE, NULL, &action);
    printf("SIGPIPE ignored %d\n", action.sa_handler == SIG_IGN);
    close(pair[1]);
    errno = 0;
    printf("send %d", __pmdaSendRootPDUInfo(pair[0], 1, 1));
    printf(" errno %d\n", errno);
    printf("end of file %d", __pmdaRecvRootPDUInfo(pair[0], NULL, NULL));
    printf(" %d\n", __pmdaRecvRootPDUContainer(pair[0], 1, numbers, sizeof(numbers)));
}

int
main(void)
{
    open_pair();
    sending();
    receive_info();
    receive_others();
    decode();
    descriptors();
    broken_pipe();
    return 0;
}
