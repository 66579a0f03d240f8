/*
 * The path of a socket: one of more than 107 bytes is refused, and what has the name that it would be cut to is left alone; what somebody has
 * put in the place of the socket, once it was bound, keeps its mode. CONN-4 CONN-5 ROOT-31
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include "loop.h"

static char name[128];
static const char *replacement;

/* The library's own bind, and what somebody else does right behind it. */
int
bind(int fd, const struct sockaddr *address, socklen_t size)
{
    int sts = syscall(SYS_bind, fd, address, size);

    if (sts == 0 && replacement != NULL && rename(replacement, ((const struct sockaddr_un *)address)->sun_path) < 0)
	exit(8);
    return sts;
}

static void
body(void)
{
    /* Nobody comes to connect. */
    alarm(1);
    agent(7);
    extension.e_io = pmdaUnix;
    extension.e_sockname = name;
    pmdaConnect(&dispatch);
}

static void
show(const char *path)
{
    struct stat is;

    if (lstat(path, &is) < 0)
	printf("%.20s: %s\n", path, strerror(errno));
    else
	printf("%.20s: %s %o\n", path, S_ISREG(is.st_mode) ? "file" : S_ISSOCK(is.st_mode) ? "socket" : "other", is.st_mode & 07777);
    fflush(stdout);
}

/* The mode of the socket's file. */
static void
make(const char *path, int mode)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    fchmod(fd, mode);
    close(fd);
}

static void
replaced(const char *by)
{
    replacement = by;
    strcpy(name, "agent.socket");
    start(body);
    finish();
    show(name);
    unlink(name);
}

int
main(void)
{
    struct sockaddr_un other = { AF_UNIX, "other" };
    int fd;

    /* This user is there, whoever runs this. */
    setenv("PCP_USER", "root", 1);
    memset(name, 'p', 120);
    memcpy(name, "long.", 5);
    start(body);
    finish();
    show(name);
    name[107] = '\0';
    show(name);
    unlink(name);
    memset(name, 'p', 120);
    printf("root %d\n", pmdaRootConnect(name));

    printf("== nothing in its place\n");
    replaced(NULL);
    printf("== a file in its place\n");
    make("file", 0400);
    replaced("file");
    printf("== a link in its place\n");
    make("file", 0400);
    if (symlink("file", "link") < 0)
	return 1;
    replaced("link");
    show("file");
    printf("== an open socket in its place\n");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    syscall(SYS_bind, fd, &other, sizeof(other));
    chmod("other", 0644);
    replaced("other");
    unlink("file");
    return 0;
}
