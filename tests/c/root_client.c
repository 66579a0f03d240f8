/*
 * differs on x86: the C library waits for ever, as messages without descriptors do not arrive (see root_pdu.c)
 *
 * Connecting to a server of our own and every question to it: ROOT-30, ROOT-31, ROOT-32, ROOT-34, ROOT-35, ROOT-37, ROOT-38, ROOT-39,
 * ROOT-40, ROOT-50, ROOT-51; R-9.
 */
#include <poll.h>
#include <pthread.h>
#include "root_tools.h"

static int listener;
static int greeting;
/* The answers of a pmdaroot that refuses: codes of the system and of PCP. */
static const int refusals[] = { -1234, -ENOMEM, PM_ERR_PERMISSION, PM_ERR_IPC, PM_ERR_NOCONTAINER };

/* One connection: greets, then answers what it is asked until the client goes. */
static void *
serve(void *unused)
{
    struct pollfd wait = { .fd = listener, .events = POLLIN };
    char bytes[8192], name[100];
    int fd, ends[2], pid, code, force;
    ssize_t got;

    (void)unused;
    /* accept takes a number before it waits: the client would get this one or the next. */
    poll(&wait, 1, -1);
    fd = accept(listener, NULL, NULL);
    if (greeting == 1)
	close(fd);
    else if (greeting > 1)
	__pmdaSendRootPDUInfo(fd, 7, refusals[greeting - 2]);
    else
	__pmdaSendRootPDUInfo(fd, 7, 0);
    while (greeting == 0 && (got = recv(fd, bytes, sizeof(bytes), 0)) >= 16) {
	const __pmdaRootPDUHdr *header = (const __pmdaRootPDUHdr *)bytes;

	switch (header->type) {
	case PDUROOT_HOSTNAME_REQ:
	case PDUROOT_CGROUPNAME_REQ:
	    __pmdaDecodeRootPDUContainer(bytes, got, &pid, name, sizeof(name));
	    if (strcmp(name, "unknown") == 0)
		__pmdaSendRootPDUContainer(fd, header->type + 1, 0, NULL, 0, PM_ERR_NOCONTAINER);
	    else if (strcmp(name, "type") == 0)
		__pmdaSendRootPDUContainer(fd, PDUROOT_INFO, 0, NULL, 0, 0);
	    else {
		strcat(name, ".host");
		__pmdaSendRootPDUContainer(fd, header->type + 1, 0, name, strlen(name), 0);
	    }
	    break;
	case PDUROOT_PROCESSID_REQ:
	    __pmdaDecodeRootPDUContainer(bytes, got, &pid, name, sizeof(name));
	    __pmdaSendRootPDUContainer(fd, PDUROOT_PROCESSID, strcmp(name, "bad") == 0 ? -5 : 1234, NULL, 0, 0);
	    break;
	case PDUROOT_STARTPMDA_REQ: {
	    __pmdaRootPDUStart *start = (__pmdaRootPDUStart *)bytes;

	    printf("  asked to start \"%.*s\" with \"%.*s\" over %d\n", start->namelen, start->name, start->argslen, start->args, start->ipctype);
	    if (pipe(ends) < 0)
		exit(5);
	    if (start->ipctype == 3)
		__pmdaSendRootPDUStart(fd, -1, -1, -1, start->name, start->namelen, -2);
	    else
		__pmdaSendRootPDUStart(fd, 777, start->ipctype == 1 ? ends[0] : -1, ends[1], start->name, start->namelen, 0);
	    close(ends[0]);
	    close(ends[1]);
	    break;
	}
	case PDUROOT_STOPPMDA_REQ:
	    __pmdaDecodeRootPDUStop(bytes, got, &pid, &code, &force);
	    printf("  asked to stop %d %d %d\n", pid, code, force);
	    __pmdaSendRootPDUStop(fd, PDUROOT_STOPPMDA, pid + 1, 256, 0, pid == 13 ? -ESRCH : 0);
	    break;
	}
    }
    if (greeting != 1)
	close(fd);
    return NULL;
}

static int
join(const char *path, int how, pthread_t *thread)
{
    greeting = how;
    pthread_create(thread, NULL, serve, NULL);
    return pmdaRootConnect(path);
}

static void
questions(int fd)
{
    char buffer[64] = "";
    int pid = 1, in = 2, out = 3, status = 4;

    printf("host %d", pmdaRootContainerHostName(fd, "box", 3, buffer, sizeof(buffer)));
    printf(" %s\n", buffer);
    printf("length only %d\n", pmdaRootContainerHostName(fd, "box", 3, NULL, 0));
    printf("group %d", pmdaRootContainerCGroupName(fd, "group-and-more", 5, buffer, sizeof(buffer)));
    printf(" %s\n", buffer);
    printf("small buffer %d\n", pmdaRootContainerCGroupName(fd, "group", 5, buffer, 10));
    printf("unknown %d\n", pmdaRootContainerHostName(fd, "unknown", 7, buffer, sizeof(buffer)));
    printf("other type %d\n", pmdaRootContainerHostName(fd, "type", 4, buffer, sizeof(buffer)));
    printf("process %d", pmdaRootContainerProcessID(fd, "box", 3));
    printf(" %d\n", pmdaRootContainerProcessID(fd, "bad", 3));
    printf("lengths %d", pmdaRootContainerProcessID(fd, "box", -1));
    printf(" %d\n", pmdaRootContainerHostName(fd, "box", 4096, buffer, 64));
    printf("start %d", pmdaRootProcessStart(fd, 1, "agent", 5, "agent -x", 8, &pid, &in, &out));
    printf(" %d %d %d\n", pid, in > 2, out > 2);
    close(in);
    close(out);
    printf("start without descriptors %d", pmdaRootProcessStart(fd, 2, "agent", 5, "agent -x", 8, &pid, &in, &out));
    printf(" %d %d %d\n", pid, in, out);
    printf("start fails %d\n", pmdaRootProcessStart(fd, 3, "agent", 5, "agent -x", 8, &pid, &in, &out));
    printf("start too long %d\n", pmdaRootProcessStart(fd, 1, "agent", 64, "agent -x", 8, &pid, &in, &out));
    printf("wait %d", pmdaRootProcessWait(fd, -1, &status));
    printf(" %d\n", status);
    printf("wait %d\n", pmdaRootProcessWait(fd, 40, &status));
    printf("wait fails %d\n", pmdaRootProcessWait(fd, 13, &status));
    printf("terminate %d", pmdaRootProcessTerminate(fd, 40));
    printf(" %d\n", pmdaRootProcessTerminate(fd, 13));
}

int
main(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char buffer[10];
    pthread_t thread;
    struct linger linger;
    socklen_t size = sizeof(linger);
    int i, fd, pid, before = open_descriptors();

    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(address.sun_path, 'p', sizeof(address.sun_path) - 1);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 5) < 0)
	return 1;
    pmSetProgname("client");
    printf("nobody %d", pmdaRootConnect("nowhere"));
    printf(" %d", pmdaRootConnect(""));
    printf(" %d\n", pmdaRootConnect(NULL));
    pmSetDebug("libpmda");
    printf("nobody %d\n", pmdaRootConnect("nowhere"));
    pmClearDebug("libpmda");
    fd = join(address.sun_path, 1, &thread);
    printf("closed %d\n", fd);
    pthread_join(thread, NULL);
    for (i = 0; i < (int)(sizeof(refusals) / sizeof(refusals[0])); i++) {
	fd = join(address.sun_path, 2 + i, &thread);
	printf("refused %d\n", fd);
	pthread_join(thread, NULL);
    }
    pmSetDebug("libpmda");
    fd = join(address.sun_path, 0, &thread);
    pmClearDebug("libpmda");
    printf("connected %d", fd > 2);
    getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size);
    printf(" linger %d %d\n", linger.l_onoff, linger.l_linger);
    questions(fd);
    pmdaRootShutdown(fd);
    pmdaRootShutdown(-1);
    pthread_join(thread, NULL);
    printf("still open %d, and of no use %d\n", fcntl(fd, F_GETFD) >= 0, pmdaRootContainerProcessID(fd, "box", 3));
    close(fd);
    close(listener);
    printf("all closed %d\n", open_descriptors() == before);
    printf("not connected %d", pmdaRootContainerHostName(-1, "box", 3, buffer, 10));
    printf(" %d", pmdaRootContainerProcessID(-7, "box", 3));
    printf(" %d", pmdaRootContainerCGroupName(-1, "box", 3, NULL, 0));
    printf(" %d", pmdaRootProcessStart(-1, 1, "a", 1, "b", 1, &pid, &pid, &pid));
    printf(" %d", pmdaRootProcessWait(-1, 1, &pid));
    printf(" %d\n", pmdaRootProcessTerminate(-1, 1));
    return 0;
}
