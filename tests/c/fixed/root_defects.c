/*
 * Messages of pmdaroot that the C library misreads, crashes on, or loses descriptors over,
 * ROOT-33, ROOT-36.
 * c-library: not run, it crashes
 */
#include <pthread.h>
#include <signal.h>
#include "../root_tools.h"

static __pmdaRootPDUStart start;
static __pmdaRootPDUContainer container;

static void
requests(void)
{
    int sts;

    sts = __pmdaSendRootPDUStartReq(pair[1], 1, "agent", 5, "args", 4);
    printf("R-1 %d", sts);
    printf(" %d", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    printf(" %.*s %.*s\n", start.namelen, start.name, start.argslen, start.args);
    start.namelen = 65;
    send(pair[1], &start, 108, 0);
    printf("R-1 name %d", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    start.namelen = 5;
    start.argslen = -1;
    send(pair[1], &start, 108, 0);
    printf(" arguments %d", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    start.argslen = 4;
    start.hdr.status = -9;
    send(pair[1], &start, 108, 0);
    printf(" status %d", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    send(pair[1], &start, 50, 0);
    printf(" cut %d", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    start.hdr.type = 1;
    send(pair[1], &start, 108, 0);
    printf(" type %d\n", __pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
}

static void
containers(void)
{
    char name[64] = "untouched";
    int pid = 0;

    container.hdr = (__pmdaRootPDUHdr){ PDUROOT_HOSTNAME, 24, 0, 2 };
    container.namelen = -5;
    send(pair[1], &container, 24, 0);
    printf("R-2 %d", __pmdaRecvRootPDUContainer(pair[0], PDUROOT_HOSTNAME, &container, sizeof(container)));
    container.hdr.length = -24;
    container.namelen = 0;
    send(pair[1], &container, 24, 0);
    printf(" %d", __pmdaRecvRootPDUContainer(pair[0], PDUROOT_HOSTNAME, &container, sizeof(container)));
    container.namelen = -5;
    printf(" decode %d\n", __pmdaDecodeRootPDUContainer(&container, 24, &pid, name, sizeof(name)));
    container.namelen = 9;
    printf("R-5 %d", __pmdaDecodeRootPDUContainer(&container, 32, &pid, name, sizeof(name)));
    container.namelen = 3;
    printf(" %d", __pmdaDecodeRootPDUContainer(&container, 20, &pid, name, sizeof(name)));
    printf(" %d\n", __pmdaDecodeRootPDUContainer(NULL, 100, &pid, name, sizeof(name)));
    container.namelen = 0;
    printf("R-12 \"%s\"", name);
    printf(" %d \"%s\"\n", __pmdaDecodeRootPDUContainer(&container, 24, &pid, name, sizeof(name)), name);
    __pmdaSendRootPDUContainer(pair[1], PDUROOT_HOSTNAME, 0, "host", 4, 0);
    arrived("R-3 by process", pmdaRootContainerHostName(pair[0], NULL, 4096, NULL, 0));
    printf("R-10 %d", __pmdaSendRootPDUContainer(pair[0], 1, 1, NULL, 5, 0));
    printf(" %d", __pmdaSendRootPDUStartReq(pair[0], 1, NULL, 5, "a", 1));
    printf(" %d\n", __pmdaSendRootPDUStart(pair[0], 1, -1, -1, NULL, 5, 0));
    arrived("R-10 zeros", __pmdaSendRootPDUContainer(pair[0], 1, 1, "ab\0cd", 5, 0));
    send(pair[1], &container, 10, 0);
    printf("small buffer %d\n", __pmdaRecvRootPDUContainer(pair[0], 1, &container, 10));
    printf("no buffer %d", __pmdaRecvRootPDUContainer(pair[0], 1, NULL, 100));
    printf(" %d\n", __pmdaRecvRootPDUStop(pair[0], 1, &container, -1));
}

static void
decode_start(void)
{
    char name[64], args[8] = "before";
    int pid = 1;

#define DECODE(what, length) printf("R-4 %s %d", what, __pmdaDecodeRootPDUStart(&start, length, &pid, NULL, NULL, NULL, name, sizeof(name), args, sizeof(args))), \
    printf(" pid %d args %s\n", pid, args)
    memset(&start, 'a', sizeof(start));
    start.pid = 42;
    start.namelen = 64;
    start.argslen = 4;
    DECODE("name fills the buffer", 108);
    start.namelen = 65;
    DECODE("name beyond its field", 108);
    start.namelen = -1;
    DECODE("negative name", 108);
    start.namelen = 4;
    start.argslen = 4097;
    DECODE("arguments beyond their field", 4200);
    start.argslen = -1;
    DECODE("negative arguments", 4200);
    start.argslen = 8;
    DECODE("arguments fill the buffer", 112);
    start.argslen = 5;
    DECODE("cut", 108);
    DECODE("only a header", 16);
    DECODE("good", 109);
    printf("R-4 decode stop %d\n", __pmdaDecodeRootPDUStop(NULL, 32, &pid, NULL, NULL));
}

/* A start message with any number of descriptors. */
static void
pass(const __pmdaRootPDUStart *message, size_t size, int count)
{
    char control[CMSG_SPACE(300 * sizeof(int))];
    struct iovec part = { (void *)message, size };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control };
    struct cmsghdr *first;
    int i;

    memset(control, 0, sizeof(control));
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (i = 0; i < count; i++)
	((int *)CMSG_DATA(first))[i] = i % 2;
    if (sendmsg(pair[1], &header, 0) < 0)
	perror("sendmsg");
}

static void
descriptors(void)
{
    static const int counts[] = { 1, 3, 60 };
    int before = open_descriptors(), pid, fd;
    unsigned int i;

    memset(&start, 0, sizeof(start));
    start.hdr = (__pmdaRootPDUHdr){ PDUROOT_STARTPMDA, 104, 0, 2 };
    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
	pass(&start, 104, counts[i]);
	printf("R-7 %d descriptors: %d", counts[i], __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
	printf(" %d %d, left open %d\n", start.infd, start.outfd, open_descriptors() - before);
    }
    start.hdr.status = -4;
    pass(&start, 104, 2);
    printf("R-7 status %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    start.hdr.status = 0;
    pass(&start, 50, 2);
    printf(" cut %d, left open %d\n", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)), open_descriptors() - before);
    start.hdr.version = 3;
    pass(&start, 104, 2);
    printf("R-6 version %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    start.hdr.version = 2;
    pass(&start, 104, 2);
    printf(" small buffer %d, left open %d\n", __pmdaRecvRootPDUStart(pair[0], &start, 50), open_descriptors() - before);
    recv(pair[0], &container, sizeof(container), MSG_DONTWAIT);
    start.hdr.type = PDUROOT_STARTPMDA;
    pass(&start, 104, 2);
    printf("R-7 closed on exec %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    printf(" %d %d\n", fcntl(start.infd, F_GETFD) & FD_CLOEXEC, fcntl(start.outfd, F_GETFD) & FD_CLOEXEC);
    close(start.infd);
    close(start.outfd);
    pass(&start, 104, 2);
    printf("R-7 not wanted %d", pmdaRootProcessStart(pair[0], 1, "a", 1, "b", 1, &pid, &fd, NULL));
    close(fd);
    printf(" left open %d\n", open_descriptors() - before);
}

static void
positive_status(void)
{
    start.hdr.status = 5;
    send(pair[1], &start, 104, 0);
    printf("R-8 %d", __pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    __pmdaSendRootPDUInfo(pair[1], 7, 5);
    printf(" %d", __pmdaRecvRootPDUInfo(pair[0], NULL, NULL));
    __pmdaSendRootPDUStop(pair[1], PDUROOT_STOPPMDA, 1, 1, 1, 5);
    printf(" %d\n", __pmdaRecvRootPDUStop(pair[0], PDUROOT_STOPPMDA, &start, sizeof(start)));
}

static void
interrupted(int sig)
{
    (void)sig;
    __pmdaSendRootPDUStop(pair[1], PDUROOT_STOPPMDA, 3, 4, 0, 0);
}

static void
signals(void)
{
    struct sigaction action = { .sa_handler = interrupted };
    struct itimerval timer = { { 0, 0 }, { 0, 50000 } };

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("R-15 %d\n", __pmdaRecvRootPDUStop(pair[0], PDUROOT_STOPPMDA, &start, sizeof(start)));
}

static int listener;

static void *
greet(void *unused)
{
    int fd = accept(listener, NULL, NULL);

    __pmdaSendRootPDUInfo(fd, 7, 0);
    return unused;
}

static void
connection(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
    pthread_t thread;
    int fd;

    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 5) < 0)
	exit(1);
    pthread_create(&thread, NULL, greet, NULL);
    fd = pmdaRootConnect("socket");
    printf("ROOT-33 closed on exec %d\n", fcntl(fd, F_GETFD) & FD_CLOEXEC);
    pthread_join(thread, NULL);
}

int
main(void)
{
    open_pair();
    requests();
    containers();
    close_pair();
    open_pair();
    decode_start();
    descriptors();
    close_pair();
    open_pair();
    positive_status();
    signals();
    connection();
    return 0;
}
