/*
 * Only regular files are read and written: a FIFO without another end does not hold up the agent, a device does not feed it for
 * ever, and neither is opened or replaced. CACHE-90, DEF-17.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static char path[4096];
static pmInDom d = 0x3ec0000a;

static const char *
next(void)
{
    d++;
    snprintf(path, sizeof(path), "%s/config/pmda/251.%u", getenv("PCP_VAR_DIR"), d & 0xff);
    return path;
}

static void
load(const char *what)
{
    struct stat now;
    int sts, inst;

    alarm(10);
    sts = pmdaCacheOp(d, PMDA_CACHE_LOAD);
    alarm(0);
    inst = pmdaCacheStore(d, PMDA_CACHE_ADD, "next", NULL);
    printf("%s: %d, next %d of %d", what, sts, inst, pmdaCacheOp(d, PMDA_CACHE_SIZE));
    alarm(10);
    printf(", saved %d", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    alarm(0);
    if (lstat(path, &now) < 0)
	now.st_mode = 0;
    printf(", still 0%o\n", now.st_mode & S_IFMT);
    remove(path);
}

int
main(void)
{
    struct sockaddr_un address = { AF_UNIX, "251.socket" };
    char target[4096], *here;
    int fd;

    pmSetProgname("cache");
    setvbuf(stdout, NULL, _IONBF, 0);
    pmdaCacheOp(d, PMDA_CACHE_LOAD);
    mkfifo(next(), 0666);
    load("FIFO");
    if (symlink("/dev/zero", next()) == 0)
	load("/dev/zero");
    if (symlink("/dev/null", next()) == 0)
	load("/dev/null");
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && (here = getcwd(NULL, 0)) != NULL) {
	snprintf(target, sizeof(target), "%s/251.socket", here);
	if (symlink(target, next()) == 0)
	    load("socket");
	unlink(target);
	free(here);
    }
    mkdir(next(), 0777);
    load("directory");
    return 0;
}
