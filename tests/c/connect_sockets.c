/*
 * Agents that wait on a socket: a path, and a free port of the loopback addresses; what the connection is like, what
 * happens when the socket cannot be had. CONN-3 CONN-4 CONN-5 CONN-8
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include "loop.h"
#include "loop_socket.h"

static int io, port;
static char *name;

static void
body(void)
{
    struct linger linger;
    socklen_t size = sizeof linger;
    int nodelay = -1;

    agent(7);
    extension.e_io = io;
    extension.e_port = port;
    extension.e_sockname = name;
    pmdaConnect(&dispatch);
    say("status %d same %d", dispatch.status, extension.e_infd == extension.e_outfd);
    if (io != pmdaUnix) {
	getsockopt(extension.e_infd, SOL_SOCKET, SO_LINGER, &linger, &size);
	size = sizeof nodelay;
	getsockopt(extension.e_infd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &size);
	say("linger %d %d nodelay %d", linger.l_onoff, linger.l_linger, nodelay != 0);
    }
    pmdaMain(&dispatch);
}

/* A port that was free a moment ago. */
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

static void
meet(struct sockaddr *address, socklen_t size)
{
    unsigned char bytes[20];

    reach(address, size);
    printf("credentials: %d bytes\n", get(bytes, 20));
    post("00000014 0000700c 0000469a 00000001 01020000");
    ask("00000010 00007004 00000000 3f400000");
    shutdown(to_agent, SHUT_WR);
    finish();
}

static void
meet_port(int family)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    port = free_port(family);
    if (port < 0) {
	printf("no such address here\n");
	return;
    }
    start(body);
    six.sin6_port = four.sin_port = htons(port);
    if (family == AF_INET)
	meet((struct sockaddr *)&four, sizeof four);
    else
	meet((struct sockaddr *)&six, sizeof six);
}

static void
meet_path(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "agent.socket" };
    struct stat is;

    start(body);
    meet((struct sockaddr *)&address, sizeof address);
    stat("agent.socket", &is);
    printf("mode %o\n", is.st_mode);
}

int
main(void)
{
    printf("== unix\n");
    io = pmdaUnix;
    name = "agent.socket";
    meet_path();
    printf("== unix, again\n");
    meet_path();
    unlink("agent.socket");
    printf("== unix, impossible\n");
    name = "none/agent.socket";
    start(body);
    finish();
    name = "var";
    start(body);
    finish();

    name = NULL;
    printf("== inet\n");
    io = pmdaInet;
    meet_port(AF_INET);
    printf("== ipv6\n");
    io = pmdaIPv6;
    meet_port(AF_INET6);
    printf("== no such service\n");
    io = pmdaInet;
    name = "no-such-service";
    start(body);
    finish();
    return 0;
}
