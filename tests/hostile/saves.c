/*
 * Faults while caches are saved: SIGKILL at random moments, disks that are full, directories that cannot be written,
 * two agents at once.  A cache file is whole at every moment: the old one or the new one (DEF-1).
 *
 * saves KILLS
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define INSTANCES	300
#define NOBODY		65534

static pmInDom indom;
static char folder[1024], file[1100];

static void
fail(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

/* The end of each name. */
static const char *padding = "";
#define SHORT	"-"
#define MIDDLE	"-twenty-characters---"
#define LONG	"-sixty-characters-------------------------------------------"

/* Replaces all instances of the cache by those of a generation, and saves it. */
static int
save(long generation)
{
    char name[128];
    int i;

    pmdaCacheOp(indom, PMDA_CACHE_CULL);
    for (i = 0; i < INSTANCES; i++) {
	snprintf(name, sizeof(name), "generation-%ld-instance-%d%s", generation, i, padding);
	if (pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL) < 0)
	    fail("store");
    }
    return pmdaCacheOp(indom, PMDA_CACHE_SAVE);
}

/* The generation of the file, which must be whole; -1 when there is none. */
static long
generation_of_file(void)
{
    char line[256];
    long generation = -1, found;
    int count = -1, id, number;
    long long stamp;
    FILE *f = fopen(file, "r");

    if (f == NULL)
	return -1;
    while (fgets(line, sizeof(line), f)) {
	if (strchr(line, '\n') == NULL)
	    fail("a line that is cut");
	if (count++ < 0)
	    continue;
	if (sscanf(line, "%d %lld generation-%ld-instance-%d", &id, &stamp, &found, &number) != 4 || number != count - 1)
	    fail("a damaged line");
	if (generation >= 0 && found != generation)
	    fail("a file of two generations");
	generation = found;
    }
    fclose(f);
    if (count != INSTANCES)
	fail("a file that is cut");
    return generation;
}

/* Files in the folder beside the cache's own. */
static int
left_over(void)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    int count = -3;	/* ".", ".." and the cache */

    while (d && (entry = readdir(d)))
	count++;
    closedir(d);
    return count;
}

/* Makes all files of the folder look as if they were an hour old. */
static void
age_left_over(void)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    char name[1400];
    struct timeval then[2] = { { time(NULL) - 3600, 0 }, { time(NULL) - 3600, 0 } };

    while (d && (entry = readdir(d))) {
	snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
	utimes(name, then);
    }
    closedir(d);
}

/* Runs `body` in a child; its exit status, or minus the signal that it died of. */
static int
in_child(void (*body)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
	body();
	_exit(0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void
quiet(void)
{
    int null = open("/dev/null", O_WRONLY);

    dup2(null, 2);
}

/*
 * A child saves one generation after the other until it is killed. The moment lies in a window, in microseconds, that grows where
 * a save does not fit into it: machines are slow, or busy. There are some more where none has fitted yet.
 */
static void
kills(int count)
{
    static const uint64_t least = 6000, most = 2000000;
    uint64_t seed = 1, window = least;
    long generation = 0, before, changes = 0;

    while (count-- > 0 || (changes == 0 && count > -20)) {
	pid_t child;
	int ready[2];
	char byte;

	before = generation_of_file();
	if (pipe(ready) != 0)
	    abort();
	child = fork();
	if (child == 0) {
	    long mine = generation;

	    if (before >= 0 && pmdaCacheOp(indom, PMDA_CACHE_LOAD) != INSTANCES)
		_exit(1);
	    if (write(ready[1], "", 1) != 1)
		_exit(1);
	    for (;;)
		if (save(++mine) != INSTANCES)
		    _exit(1);
	}
	if (read(ready[0], &byte, 1) != 1)
	    abort();
	close(ready[0]);
	close(ready[1]);
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	usleep((seed >> 33) % window);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	generation = generation_of_file();
	if (generation < before)
	    fail("the file has gone back");
	changes += generation != before;
	window = generation == before ? window * 2 : window * 3 / 4;
	window = window < least ? least : window > most ? most : window;
    }
    if (changes == 0)
	fail("nothing was ever saved");
    printf("kills: the file was whole each time\n");
    age_left_over();
    if (save(generation + 1) != INSTANCES || left_over() != 0)
	fail("what killed agents leave is never removed");
}

/* The limit of a file's size stands for a full disk; the process is not to die of the signal. */
static void
no_room(void)
{
    struct rlimit limit = { 4096, 4096 };
    long before = generation_of_file();
    int status;

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    quiet();
    status = save(before + 1);
    if (status != -EFBIG)
	_exit(2);
    if (generation_of_file() != before)
	_exit(3);
    limit.rlim_cur = 1 << 20;
    if (save(before + 1) != -EFBIG || left_over() != 0)
	_exit(4);
    /* The instances are still dirty: the next chance is taken. */
    if (pmdaCacheOp(indom, PMDA_CACHE_SYNC) >= 0)
	_exit(5);
}

/* Drops root's rights, as agents do. */
static void
become_nobody(void)
{
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
	_exit(6);
}

/* A file system that is full, in a name space of its own; status 77 where that is not allowed. */
static void
full_disk(void)
{
    long before = generation_of_file();
    char name[1200] = "", second[1200];
    int fd;

    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
	mount("none", folder, "tmpfs", 0, "size=64k,mode=755") != 0)
	_exit(77);
    quiet();
    padding = MIDDLE;
    if (save(1) != INSTANCES)
	_exit(2);
    snprintf(name, sizeof(name), "%s/filler", folder);
    fd = open(name, O_WRONLY | O_CREAT, 0600);
    while (write(fd, name, sizeof(name)) > 0)
	;
    close(fd);
    /* What is no longer than the old file is written in place. */
    padding = SHORT;
    if (save(2) != INSTANCES || generation_of_file() != 2)
	_exit(3);
    padding = LONG;
    if (save(3) != -ENOSPC || generation_of_file() != 2 || left_over() != 1)
	_exit(4);
    /* A file with two names is never replaced. */
    snprintf(second, sizeof(second), "%s/second", folder);
    if (link(file, second) != 0)
	_exit(5);
    if (save(4) != -ENOSPC || generation_of_file() != 2)
	_exit(6);
    unlink(name);
    if (pmdaCacheOp(indom, PMDA_CACHE_SYNC) != INSTANCES || generation_of_file() != 4)
	_exit(7);
    (void)before;
}

/* The same, of a user who may write to the file alone. */
static void
full_disk_in_place(void)
{
    char name[1200] = "";
    int fd;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
	mount("none", folder, "tmpfs", 0, "size=64k,mode=755") != 0)
	_exit(77);
    quiet();
    padding = MIDDLE;
    if (save(1) != INSTANCES || chown(file, NOBODY, NOBODY) != 0)
	_exit(2);
    snprintf(name, sizeof(name), "%s/filler", folder);
    fd = open(name, O_WRONLY | O_CREAT, 0600);
    while (write(fd, name, sizeof(name)) > 0)
	;
    become_nobody();
    padding = LONG;
    if (save(2) != -ENOSPC || generation_of_file() != 1)
	_exit(3);
    padding = SHORT;
    if (save(3) != INSTANCES || generation_of_file() != 3)
	_exit(4);
    padding = LONG;
    if (ftruncate(fd, 0) != 0 || save(4) != INSTANCES || generation_of_file() != 4)
	_exit(5);
}

static void
read_only_directory(void)
{
    long before = generation_of_file();

    become_nobody();
    quiet();
    if (save(before + 1) != -EACCES || generation_of_file() != before)
	_exit(2);
    if (pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE) != INSTANCES)
	_exit(3);
}

static void
missing_directory(void)
{
    quiet();
    if (save(1) != -ENOENT)
	_exit(2);
    if (pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE) != INSTANCES)
	_exit(3);
}

static void
planted_links(void)
{
    char name[1200], victim[1200];
    struct stat before, after;
    int i, fd;

    /* Whoever can write the directory may guess temporary names: none of them is followed. */
    snprintf(victim, sizeof(victim), "%s/../victim", folder);
    fd = open(victim, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (write(fd, "victim", 6) != 6)
	_exit(2);
    close(fd);
    stat(victim, &before);
    for (i = 0; i < 4; i++) {
	static const char *patterns[] = { "%s/.%s.tmp", "%s/%s.tmp", "%s/.%s.new", "%s/.%s" };
	snprintf(name, sizeof(name), patterns[i], folder, strrchr(file, '/') + 1);
	if (symlink(victim, name) != 0)
	    _exit(3);
    }
    if (save(generation_of_file() + 1) != INSTANCES)
	_exit(4);
    stat(victim, &after);
    if (after.st_size != before.st_size || after.st_ino != before.st_ino || after.st_mode != before.st_mode)
	_exit(5);
    for (i = 0; i < 4; i++) {
	static const char *patterns[] = { "%s/.%s.tmp", "%s/%s.tmp", "%s/.%s.new", "%s/.%s" };
	snprintf(name, sizeof(name), patterns[i], folder, strrchr(file, '/') + 1);
	unlink(name);
    }
    unlink(victim);
}

/* Mode and owner of the file survive; a new file has the mode that umask says. */
static void
mode_and_owner(void)
{
    struct stat found;

    if (geteuid() == 0 && chown(file, NOBODY, NOBODY) != 0)
	_exit(2);
    chmod(file, 0640);
    if (save(generation_of_file() + 1) != INSTANCES || stat(file, &found) != 0)
	_exit(3);
    if ((found.st_mode & 07777) != 0640 || (geteuid() == 0 && (found.st_uid != NOBODY || found.st_gid != NOBODY)))
	_exit(4);
    unlink(file);
    umask(027);
    if (save(1) != INSTANCES || stat(file, &found) != 0 || (found.st_mode & 07777) != 0640 || found.st_uid != geteuid())
	_exit(5);
}

/* Two agents of one domain: the last one wins, the file is whole all the time. */
static void
two_agents(void)
{
    pid_t agents[2];
    int i, status, looks = 0;

    for (i = 0; i < 2; i++)
	if ((agents[i] = fork()) == 0) {
	    for (int round = 0; round < 100; round++)
		if (save(1000 * (i + 1) + round) != INSTANCES)
		    _exit(1);
	    _exit(0);
	}
    for (i = 0; i < 2; i++) {
	while (waitpid(agents[i], &status, WNOHANG) == 0) {
	    generation_of_file();
	    looks++;
	}
	if (status != 0)
	    _exit(2);
    }
    if (looks == 0 || left_over() != 0)
	_exit(3);
}

static void
expect(const char *what, int status)
{
    if (status == 77) {
	printf("%s: not allowed here\n", what);
	return;
    }
    if (status != 0) {
	fprintf(stderr, "FAILED: %s: %d\n", what, status);
	exit(1);
    }
    printf("%s: holds\n", what);
}

int
main(int argc, char **argv)
{
    const char *var = getenv("PCP_VAR_DIR");
    char gone[1100];

    setvbuf(stdout, NULL, _IOLBF, 0);
    indom = pmInDom_build(251, 9);
    snprintf(folder, sizeof(folder), "%s/config/pmda", var);
    snprintf(file, sizeof(file), "%s/251.9", folder);
    mkdir(folder, 0755);
    kills(argc > 1 ? atoi(argv[1]) : 10);
    expect("a file that may not grow", in_child(no_room));
    expect("a full disk", in_child(full_disk));
    expect("a full disk, in place", in_child(full_disk_in_place));
    chmod(folder, 0555);
    chmod(file, 0444);
    expect("a read-only directory", in_child(read_only_directory));
    chmod(folder, 0755);
    chmod(file, 0644);
    expect("planted links", in_child(planted_links));
    expect("mode and owner", in_child(mode_and_owner));
    expect("two agents", in_child(two_agents));
    snprintf(gone, sizeof(gone), "%s/config", var);
    if (rename(gone, "config.away") != 0)
	abort();
    expect("a missing directory", in_child(missing_directory));
    return 0;
}
