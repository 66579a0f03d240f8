/*
 * The messages of pmdaConnect when it is called at the wrong time, and when a step of opening a socket fails: functions of
 * the program, in place of the C library's, let the steps fail one by one. CONN-1 CONN-3 CONN-4 CONN-5 MAIN-3
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "setup.h"

/* The function that fails now. */
static const char *failing = "";
static int error_number;

static int
fails(const char *name)
{
    if (strstr(failing, name) == NULL)
	return 0;
    errno = error_number;
    return 1;
}

/* Whether all steps succeed, though there may be no such address on this machine. */
static int
opens(void)
{
    return strcmp(failing, "opens") == 0;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

int socket(int family, int type, int protocol)
{
    return fails("socket") ? -1 : REAL(socket)(family, type, protocol);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    if (level == SOL_SOCKET && option == SO_REUSEADDR && fails("reuseaddr"))
	return -1;
    if (level == SOL_SOCKET && option == SO_LINGER && fails("linger"))
	return -1;
    if (level != SOL_SOCKET && fails("nodelay"))
	return -1;
    return REAL(setsockopt)(fd, level, option, value, size);
}

#ifdef __USE_TIME64_REDIRECTS
/* Where the headers lead those who ask for 64 bits of time to another function, some still ask for this one. */
int plain_setsockopt(int fd, int level, int option, const void *value, socklen_t size) __asm__("setsockopt");

int plain_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    return setsockopt(fd, level, option, value, size);
}
#endif

int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    const struct sockaddr *plain = *(const struct sockaddr *const *)&address;

    if (fails("bind"))
	return -1;
    /* A port may be taken. */
    return strcmp(failing, "") != 0 && plain->sa_family != AF_UNIX ? 0 : REAL(bind)(fd, address, size);
}

int listen(int fd, int backlog)
{
    if (strcmp(failing, "accept") == 0 || opens())
	return 0;
    errno = strcmp(failing, "listen") == 0 ? error_number : EOPNOTSUPP;
    return strcmp(failing, "") != 0 ? -1 : REAL(listen)(fd, backlog);
}

int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout)
{
    return strcmp(failing, "accept") == 0 || opens() ? 1 : REAL(select)(count, in, out, other, timeout);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (strcmp(failing, "accept") == 0 || opens()) {
	fds[0].revents = POLLIN;
	return 1;
    }
    return REAL(poll)(fds, count, timeout);
}

/* A connection whose other side says nothing. */
static int
silent(void)
{
    int pair[2] = { -1, -1 };

    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    shutdown(pair[1], SHUT_WR);
    return pair[0];
}

int accept(int fd, __SOCKADDR_ARG address, socklen_t *size)
{
    return fails("accept") ? -1 : opens() ? silent() : REAL(accept)(fd, address, size);
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
    return fails("accept") ? -1 : opens() ? silent() : REAL(accept4)(fd, address, size, flags);
}

int unlink(const char *path)
{
    return fails("unlink") ? -1 : REAL(unlink)(path);
}

int chown(const char *path, uid_t user, gid_t group)
{
    return strcmp(failing, "") == 0 ? REAL(chown)(path, user, group) : fails("chown") ? -1 : 0;
}

int fchownat(int fd, const char *path, uid_t user, gid_t group, int flags)
{
    (void)fd;
    (void)flags;
    return chown(path, user, group);
}

int chmod(const char *path, mode_t mode)
{
    (void)path;
    (void)mode;
    return fails("chmod") ? -1 : 0;
}

int fchmodat(int fd, const char *path, mode_t mode, int flags)
{
    (void)fd;
    (void)flags;
    return chmod(path, mode);
}

static int debugging = 1;
static struct passwd user = { .pw_name = "pcp", .pw_uid = 12, .pw_gid = 13 };

struct passwd *getpwnam(const char *name)
{
    (void)name;
    return fails("getpwnam") ? NULL : &user;
}

/* Connects in a child: a socket that cannot be had ends the process. */
static void
connects(const char *step, int number, pmdaIoType io, const char *name, int port)
{
    int status;
    pid_t child;

    printf("%s fails with %d, io %d, name %s\n", step, number, (int)io, name ? name : "none");
    fflush(stdout);
    if ((child = fork()) == 0) {
	pmdaInterface table = { 0 };
	int none = open("/dev/null", O_RDONLY);

	/* nobody is there to shake hands */
	dup2(none, 0);
	if (debugging)
	    pmSetDebug("libpmda");
	pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
	table.version.any.ext->e_io = io;
	table.version.any.ext->e_sockname = (char *)name;
	table.version.any.ext->e_port = port;
	if (strcmp(step, "closed") == 0)
	    close(1);
	failing = step;
	error_number = number;
	pmdaConnect(&table);
	failing = "";
	printf("  status %d\n", table.status);
	exit(0);
    }
    waitpid(child, &status, 0);
    printf("  ends with %x\n", status);
}

static void
wrong_times(void)
{
    static const int versions[] = { 1, 2, 7, PMDA_INTERFACE_LATEST, 99 };
    static const int flags[] = { 0, PMDA_EXT_SETUPDONE, PMDA_EXT_CONNECTED, PMDA_EXT_SETUPDONE | PMDA_EXT_CONNECTED };
    unsigned int i, j;

    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
	for (j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
	    pmdaInterface table = { 0 };

	    if (flags[j] == PMDA_EXT_SETUPDONE && versions[i] != 1 && versions[i] != 99)
		continue;
	    pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
	    table.version.any.ext->e_flags = flags[j];
	    table.comm.pmda_interface = versions[i];
	    table.status = 0;
	    printf("version %d flags %x:", versions[i], flags[j]);
	    fflush(stdout);
	    pmdaConnect(&table);
	    printf(" status %d\n", table.status);
	    table.status = 0;
	    if (versions[i] == 1 || versions[i] == 99)
		pmdaMain(&table);
	}
    }
}

int
main(void)
{
    static const struct { const char *name; int number; } steps[] = {
	{ "socket", EMFILE }, { "linger", EINVAL }, { "nodelay", EINVAL }, { "reuseaddr", EINVAL }, { "bind", EADDRINUSE },
	{ "listen", EOPNOTSUPP }, { "accept", ECONNABORTED },
    };
    static const struct { const char *name; int number; } files[] = {
	{ "socket", EMFILE }, { "unlink", EACCES }, { "bind", EADDRINUSE }, { "getpwnam", 0 }, { "getpwnam", EIO },
	{ "chown", EPERM }, { "chmod", EPERM }, { "chown and chmod", EPERM },
	{ "getpwnam and chmod", EPERM }, { "listen", EOPNOTSUPP },
	{ "accept", ECONNABORTED },
    };
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (i = 0; i < 2; i++) {
	if (i)
	    pmSetDebug("libpmda");
	wrong_times();
    }
    pmClearDebug("libpmda");
    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
	/* a step that is not fatal is followed by one that is */
	connects(steps[i].name, steps[i].number, pmdaInet, NULL, 1);
	connects(steps[i].name, steps[i].number, pmdaIPv6, NULL, 2);
    }
    /* somebody connects, and says nothing */
    connects("opens", 0, pmdaInet, NULL, 1);
    connects("opens", 0, pmdaIPv6, NULL, 2);
    connects("bind", EACCES, pmdaInet, "domain", 2);
    connects("", 0, pmdaInet, "no-such-service", 2);
    connects("", 0, pmdaIPv6, "", 2);
    connects("", 0, pmdaUnknown + 7, NULL, 0);
    connects("closed", 0, pmdaPipe, NULL, 0);
    for (i = 0; i < 2 * sizeof(files) / sizeof(files[0]); i++) {
	debugging = i % 2;
	connects(files[i / 2].name, files[i / 2].number, pmdaUnix, "agent.socket", 0);
    }
    return 0;
}
