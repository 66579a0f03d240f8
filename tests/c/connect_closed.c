/*
 * A peer that goes away before its reply is sent: what is logged about it on each kind of connection, and that the loop
 * ends in order. WIRE-21 WIRE-22 WIRE-24
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "loop.h"

static int io, port, gone[2];

static int
late_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    char byte;
    int status = own_desc(pmid, desc, ext);

    /* the peer has gone when this ends */
    close(gone[1]);
    while (read(gone[0], &byte, 1) > 0)
	;
    return status;
}

static void
body(void)
{
    agent(7);
    dispatch.version.seven.desc = late_desc;
    extension.e_io = io;
    extension.e_port = port;
    extension.e_sockname = io == pmdaUnix ? "agent.socket" : NULL;
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

static int
free_port(int family)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    int fd = socket(family, SOCK_STREAM, 0);

    if (bind(fd, address, size) < 0)
	return -1;
    getsockname(fd, address, &size);
    close(fd);
    return ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
}

static int
meet(struct sockaddr *address, socklen_t size)
{
    int i, fd = -1;

    for (i = 0; i < 5000; i++) {
	fd = socket(address->sa_family, SOCK_STREAM, 0);
	if (connect(fd, address, size) == 0)
	    return fd;
	close(fd);
	usleep(1000);
    }
    exit(9);
}

/* `abortive`: the connection is reset; else the peer has only closed its end. */
static void
scene(const char *what, int family, int abortive)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "agent.socket" };
    struct linger linger = { 1, 0 };
    unsigned char bytes[20];

    printf("== %s\n", what);
    fprintf(stderr, "== %s\n", what);
    if (pipe(gone) < 0)
	exit(9);
    io = family == AF_INET ? pmdaInet : family == AF_INET6 ? pmdaIPv6 : family == AF_UNIX ? pmdaUnix : pmdaPipe;
    if (io == pmdaInet || io == pmdaIPv6) {
	port = free_port(family);
	if (port < 0) {
	    printf("no such address here\n");
	    return;
	}
    }
    start(body);
    close(gone[0]);
    if (io != pmdaPipe) {
	four.sin_port = six.sin6_port = htons(port);
	close(to_agent);
	close(from_agent);
	to_agent = family == AF_INET ? meet((struct sockaddr *)&four, sizeof four)
		 : family == AF_INET6 ? meet((struct sockaddr *)&six, sizeof six)
		 : meet((struct sockaddr *)&path, sizeof path);
	from_agent = to_agent;
    }
    printf("credentials: %d bytes\n", get(bytes, 20));
    post("00000014 0000700c 0000469a 00000001 01020000");
    post("00000010 00007004 00000000 3f400000 00000010 00007004 00000000 3f400001"
	 "0000000c 00007003 00000000"
	 "00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000"
	 "00000014 00007008 00000000 3f400000 00000005");
    /* the credentials and the first request have been taken when the agent waits; the rest is there */
    usleep(50000);
    if (abortive)
	setsockopt(to_agent, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(from_agent);
    if (from_agent == to_agent)
	to_agent = -1;
    usleep(20000);
    close(gone[1]);
    from_agent = -1;
    finish();
}

int
main(void)
{
    scene("pipe", -1, 0);
    scene("unix", AF_UNIX, 0);
    scene("inet", AF_INET, 0);
    scene("inet, reset", AF_INET, 1);
    scene("ipv6, reset", AF_INET6, 1);
    unlink("agent.socket");
    return 0;
}
