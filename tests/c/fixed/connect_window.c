/*
 * A socket in the file system is never open to more than it is in the end, and no socket gets into the programs that an
 * agent starts. This program stands between the library and the C library's bind() and listen() and looks.
 * CONN-3 CONN-4 CONN-5
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "loop.h"
#include "loop_socket.h"

static int
closes_on_exec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static void
look(const char *when)
{
    struct stat is;

    if (stat("agent.socket", &is) == 0)
	say("%s: mode %o", when, is.st_mode & 0777);
}

int
bind(int fd, const struct sockaddr *address, socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "bind");
    int status = next(fd, address, length);

    look("bound");
    return status;
}

int
listen(int fd, int backlog)
{
    int (*next)(int, int) = dlsym(RTLD_NEXT, "listen");

    say("listens: closes on exec %d", closes_on_exec(fd));
    look("listens");
    return next(fd, backlog);
}

static void
body(void)
{
    umask(0);
    /* a user that every system has */
    setenv("PCP_USER", "root", 1);
    agent(7);
    extension.e_io = pmdaUnix;
    extension.e_sockname = "agent.socket";
    pmdaConnect(&dispatch);
    say("status %d connection: closes on exec %d", dispatch.status, closes_on_exec(extension.e_infd));
}

int
main(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "agent.socket" };
    unsigned char credentials[20];

    start(body);
    reach((struct sockaddr *)&address, sizeof address);
    printf("credentials: %d bytes\n", get(credentials, 20));
    post("00000014 0000700c 0000469a 00000001 01020000");
    finish();
    return 0;
}
