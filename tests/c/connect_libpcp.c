/*
 * libpcp's data about the descriptors of an agent after pmdaConnect: libpcp's own calls on these descriptors work beside the
 * loop. CONN-8 WIRE-20
 * cc: -lpcp
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "loop.h"

/* Not in the installed headers. */
extern int __pmSocketIPC(int);
extern int __pmVersionIPC(int);
extern int __pmSendError(int, int, int);

static int io, port;

static void
show(const char *what)
{
    say("%s: socket %d %d version %d %d", what, __pmSocketIPC(extension.e_infd), __pmSocketIPC(extension.e_outfd),
	__pmVersionIPC(extension.e_infd), __pmVersionIPC(extension.e_outfd));
}

static int
sending_text(int ident, int type, char **buffer, pmdaExt *ext)
{
    int status = __pmSendError(ext->e_outfd, 77, PM_ERR_AGAIN);

    say("__pmSendError %d", status);
    return own_text(ident, type, buffer, ext);
}

static void
body(void)
{
    agent(7);
    extension.e_io = io;
    extension.e_port = port;
    extension.e_sockname = io == pmdaUnix ? "agent.socket" : NULL;
    dispatch.version.seven.text = sending_text;
    if (io == pmdaPipe) {
	extension.e_infd = 0;
	extension.e_outfd = 1;
	show("before");
    }
    pmdaConnect(&dispatch);
    show("after");
    pmdaMain(&dispatch);
    show("at the end");
}

static void
meet(struct sockaddr *address, socklen_t size)
{
    int i;

    close(to_agent);
    close(from_agent);
    for (i = 0; i < 5000; i++) {
	to_agent = socket(address->sa_family, SOCK_STREAM, 0);
	if (connect(to_agent, address, size) == 0)
	    break;
	close(to_agent);
	usleep(1000);
    }
    from_agent = dup(to_agent);
}

static void
talk(const char *what, const char *credentials)
{
    unsigned char bytes[20];
    char opening[200];

    printf("== %s\n", what);
    printf("credentials: %d bytes\n", get(bytes, 20));
    /* In one write, and nothing more to an agent that has not answered: it ends when the handshake does not suit it. */
    snprintf(opening, sizeof opening, "%s 00000014 00007008 00000000 3f400000 00000005", credentials);
    post(opening);
    if (reply()) {
	reply();
	ask("00000010 00007004 00000000 3f400001");
    }
    shutdown(to_agent, SHUT_WR);
    finish();
}

int
main(void)
{
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "agent.socket" };
    socklen_t size = sizeof four;
    int fd;

    io = pmdaPipe;
    start(body);
    talk("pipe", "00000014 0000700c 0000469a 00000001 01020000");
    start(body);
    talk("pipe, version 1", "00000014 0000700c 0000469a 00000001 01010000");
    start(body);
    talk("pipe, no version", "00000010 0000700c 0000469a 00000000");
    start(body);
    talk("pipe, no handshake", "00000010 00007004 00000000 3f400001");
    io = pmdaUnix;
    start(body);
    meet((struct sockaddr *)&path, sizeof path);
    talk("unix", "00000014 0000700c 0000469a 00000001 01020000");
    unlink("agent.socket");
    io = pmdaInet;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&four, sizeof four) < 0)
	return 9;
    getsockname(fd, (struct sockaddr *)&four, &size);
    close(fd);
    port = ntohs(four.sin_port);
    start(body);
    meet((struct sockaddr *)&four, sizeof four);
    talk("inet", "00000014 0000700c 0000469a 00000001 01020000");
    return 0;
}
