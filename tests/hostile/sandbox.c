/*
 * An agent in a sandbox: help texts, cache files, sockets and the main loop under a filter of seccomp.
 *
 * sandbox list              the system calls that the library makes and the C library does not (docs/OPERATING.md has them)
 * sandbox trace             the numbers of the system calls of a life of the agent, by ptrace
 * sandbox kill NUMBER...    a life under a filter that allows these and the list, and kills at any other
 * sandbox refuse            a life for each call of the list and each error that a sandbox gives in its place: what does not need the
 *                           call goes on, and no file is damaged
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <nss.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include "../c/generation.h"
#include "../c/help_fixture.h"

#ifdef __x86_64__

#define INSTANCES 50

/* What has worked in a life. */
enum {
    HELPED = 1,		/* a help text */
    REPLACED = 2,	/* saves: a file that is there */
    MADE = 4,		/* a new file */
    IN_PLACE = 8,	/* a file with two names, which becomes shorter */
    ALIKE = 16,		/* a file with an attribute, of another user */
    LINKED = 32,	/* a file behind a link */
    KEPT = 64,		/* a file that could not be loaded, which is kept */
    FETCHED = 128,	/* values, of a metric that is in no table as well */
    CONNECTED = 256,	/* the main loop */
    ALL = 511
};

/* The list of docs/OPERATING.md, and what is lost where a sandbox refuses the call. */
static const struct { const char *name; long number; int lost; } listed[] = {
    { "accept4", SYS_accept4, 0 },
    { "fchmod", SYS_fchmod, KEPT },
    { "fchown", SYS_fchown, 0 },
    { "fchownat", SYS_fchownat, 0 },
    { "fcntl", SYS_fcntl, 0 },
    { "fgetxattr", SYS_fgetxattr, 0 },
    { "flistxattr", SYS_flistxattr, KEPT },
    { "fstatfs", SYS_fstatfs, 0 },
    { "ftruncate", SYS_ftruncate, IN_PLACE },
    { "getdents64", SYS_getdents64, 0 },
    { "geteuid", SYS_geteuid, 0 },
    { "mkdirat", SYS_mkdirat, 0 },
    { "poll", SYS_poll, 0 },
    { "pread64", SYS_pread64, HELPED },
    { "pwrite64", SYS_pwrite64, IN_PLACE | ALIKE },
    { "readlinkat", SYS_readlinkat, LINKED },
    { "renameat", SYS_renameat, KEPT },
    { "renameat2", SYS_renameat2, 0 },
    { "statx", SYS_statx, 0 },
    { "unlinkat", SYS_unlinkat, 0 },
};
/* Calls that the C library makes, too. */
static const struct { const char *name; long number; int lost; } common[] = {
    { "lseek", SYS_lseek, 0 },
};
#define LISTED ((int)(sizeof(listed) / sizeof(listed[0])))

static pmdaInterface table;
static char folder[1024], unix_path[1100], help_path[1100];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->l = 42;
    return PMDA_FETCH_STATIC;
}

/* Loads a domain, adds instances and saves it; whether as many are saved. */
static int
save(int serial, const char *word, int count, int wanted)
{
    pmInDom indom = pmInDom_build(246, serial);
    char name[64];
    int i;

    pmdaCacheOp(indom, PMDA_CACHE_LOAD);
    if (count < INSTANCES)
	pmdaCacheOp(indom, PMDA_CACHE_CULL);
    for (i = 0; i < count; i++) {
	snprintf(name, sizeof(name), "%s%d", word, i);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
    }
    return pmdaCacheOp(indom, PMDA_CACHE_SAVE) == wanted;
}

/* Without a free descriptor a file cannot be loaded. */
static void
load_in_vain(int serial)
{
    struct rlimit none = { 3, 4096 }, before;

    getrlimit(RLIMIT_NOFILE, &before);
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &none);
    pmdaCacheOp(pmInDom_build(246, serial), PMDA_CACHE_LOAD);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* The life of the agent, in a process of its own; the number says what has worked. */
static int
live(void)
{
    static pmdaMetric metrics[] = { { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } };
    pmID pmids[] = { pmID_build(246, 0, 0), pmID_build(246, 0, 9) };
    pmdaResult *result;
    int done = 0, handle = pmdaOpenHelp(help_path);
    const char *text = handle < 0 ? NULL : pmdaGetHelp(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);

    done |= text != NULL && strcmp(text, "first") == 0 ? HELPED : 0;
    done |= save(1, "more", INSTANCES, 2 * INSTANCES) ? REPLACED : 0;
    done |= save(2, "new", INSTANCES, INSTANCES) ? MADE : 0;
    done |= save(3, "two", 20, 20) ? IN_PLACE : 0;
    done |= save(4, "more", INSTANCES, 2 * INSTANCES) ? ALIKE : 0;
    done |= save(5, "more", INSTANCES, 2 * INSTANCES) ? LINKED : 0;
    load_in_vain(6);
    if (pmdaCacheStore(pmInDom_build(246, 6), PMDA_CACHE_ADD, "new0", NULL) >= 0 &&
	pmdaCacheOp(pmInDom_build(246, 6), PMDA_CACHE_SAVE) == 1)
	done |= KEPT;
    table.domain = 246;
    pmdaDSO(&table, PMDA_INTERFACE_7, (char *)"sandbox", NULL);
    table.version.any.text = NULL;
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, NULL, 0, metrics, 1);
    if (pmdaFetch(2, pmids, &result, table.version.any.ext) >= 0 && result->vset[0]->vlist[0].value.lval == 42)
	done |= FETCHED;
    close(pmdaRootConnect("/nowhere/pmcd.socket"));
    memset(&table, 0, sizeof(table));
    pmdaDaemon(&table, PMDA_INTERFACE_7, "sandbox", 246, "log", NULL);
    table.version.any.text = NULL;
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, NULL, 0, metrics, 1);
    table.version.any.ext->e_io = pmdaUnix;
    table.version.any.ext->e_sockname = unix_path;
    pmdaConnect(&table);
    if (table.status == 0) {
	pmdaMain(&table);
	done |= CONNECTED;
    }
    return done;
}

/* pmcd, for the agent: shakes hands and goes. A process of its own, since an agent may never listen. */
static pid_t
peer(void)
{
    static const unsigned char creds[] = { 0, 0, 0, 0x14, 0, 0, 0x70, 0x0c, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 0, 0 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    unsigned char bytes[20];
    pid_t child = fork();
    int i, fd;

    if (child != 0)
	return child;
    strncpy(address.sun_path, unix_path, sizeof(address.sun_path) - 1);
    for (i = 0; i < 2000; i++) {
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
	    break;
	close(fd);
	usleep(5000);
    }
    if (read(fd, bytes, sizeof(bytes)) > 0 && write(fd, creds, sizeof(creds)) == sizeof(creds))
	shutdown(fd, SHUT_WR);
    while (read(fd, bytes, sizeof(bytes)) > 0)
	;
    _exit(0);
}

static int *worked;

static void
life(void)
{
    *worked = live();
    _exit(0);
}

/* The file of a domain with the instances old0 to old49. */
static void
old_file(const char *name)
{
    char path[1200];
    FILE *file;
    int i;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if ((file = fopen(path, "w")) == NULL)
	exit(9);
    fprintf(file, "2 0 2147483647\n");
    for (i = 0; i < INSTANCES; i++)
	fprintf(file, "%d 1700000000 old%d\n", i, i);
    fclose(file);
}

/* All is as before a life. */
static void
prepare(void)
{
    static const char *const left[] = { "246.2", "second", "246.6.unread", "link" };
    char path[1200], other[1200];
    unsigned int i;

    for (i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
	snprintf(path, sizeof(path), "%s/%s", folder, left[i]);
	unlink(path);
    }
    unlink(unix_path);
    *worked = 0;
    old_file("246.1");
    old_file("246.3");
    old_file("246.4");
    old_file("behind");
    old_file("246.6");
    snprintf(path, sizeof(path), "%s/246.3", folder);
    snprintf(other, sizeof(other), "%s/second", folder);
    if (link(path, other) != 0)
	exit(9);
    snprintf(path, sizeof(path), "%s/246.4", folder);
    if (setxattr(path, "user.pcp", "value", 5, 0) == 0 && geteuid() == 0 && chown(path, 65534, 65534) != 0)
	exit(9);
    snprintf(path, sizeof(path), "%s/246.5", folder);
    unlink(path);
    if (symlink("behind", path) != 0)
	exit(9);
}

/* The number of whole lines of a file, or -1 for one that is damaged. */
static int
lines(const char *name)
{
    char path[1200], line[256];
    int count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if ((file = fopen(path, "r")) == NULL)
	return 0;
    while (fgets(line, sizeof(line), file)) {
	if (strchr(line, '\n') == NULL || (count > 0 && strstr(line, " old") == NULL && strstr(line, " more") == NULL &&
	    strstr(line, " new") == NULL && strstr(line, " two") == NULL))
	    count = -1000;
	count++;
    }
    fclose(file);
    return count < 0 ? -1 : count;
}

static void
filter(struct sock_filter *code, int length)
{
    struct sock_fprog program = { .len = (unsigned short)length, .filter = code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
	_exit(77);
}

static void
quiet(void)
{
    dup2(open("/dev/null", O_WRONLY), 2);
    alarm(30);
}

static int
ended(pid_t child, pid_t other)
{
    int status;

    waitpid(child, &status, 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int
trace(void)
{
    static char seen[1024];
    struct user_regs_struct registers;
    int status, number;
    pid_t other, child;

    prepare();
    other = peer();
    child = fork();
    if (child == 0) {
	quiet();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	life();
    }
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    for (;;) {
	int signal = WSTOPSIG(status);

	ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)(signal == SIGSTOP || signal == (SIGTRAP | 0x80) ? 0 : signal));
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
	    break;
	if (WSTOPSIG(status) != (SIGTRAP | 0x80))
	    continue;
	ptrace(PTRACE_GETREGS, child, NULL, &registers);
	if (registers.orig_rax < sizeof(seen))
	    seen[registers.orig_rax] = 1;
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    if (!WIFEXITED(status) || *worked != ALL) {
	printf("FAILED: traced: %x, %d of %d has worked\n", status, *worked, ALL);
	return 1;
    }
    for (number = 0; number < (int)sizeof(seen); number++)
	if (seen[number])
	    printf("%d ", number);
    printf("\n");
    return 0;
}

static int
under_a_filter_that_kills(int count, char **numbers)
{
    struct sock_filter code[600];
    int at = 0, i, sts;
    pid_t other, child;

    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (i = 0; i < count + LISTED + 1; i++) {
	long number = i < count ? atol(numbers[i]) : i < count + LISTED ? listed[i - count].number : SYS_exit_group;

	code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    prepare();
    other = peer();
    child = fork();
    if (child == 0) {
	quiet();
	filter(code, at);
	life();
    }
    sts = ended(child, other);
    printf("%s: ended with %d, %d of %d has worked\n", *worked == ALL ? "allowed" : "FAILED", sts, *worked, ALL);
    return *worked != ALL;
}

/* A life where a call is refused with an error; whether more is lost than may be. */
static int
refused(const char *name, long number, int lost, int error)
{
    struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    static const struct { const char *name; int worked, lines, without; } files[] = {
	{ "246.1", REPLACED, 2 * INSTANCES + 1, INSTANCES + 1 },
	{ "246.2", MADE, INSTANCES + 1, 0 },
	{ "246.3", IN_PLACE, 21, INSTANCES + 1 },
	{ "246.4", ALIKE, 2 * INSTANCES + 1, INSTANCES + 1 },
	{ "behind", LINKED, 2 * INSTANCES + 1, INSTANCES + 1 },
    };
    pid_t other, child;
    int sts, i, failed;

    prepare();
    other = peer();
    child = fork();
    if (child == 0) {
	quiet();
	filter(code, 4);
	life();
    }
    sts = ended(child, other);
    failed = sts != 0 || (*worked | lost) != ALL;
    for (i = 0; i < (int)(sizeof(files) / sizeof(files[0])); i++)
	failed |= lines(files[i].name) != (*worked & files[i].worked ? files[i].lines : files[i].without);
    if (failed) {
	printf("FAILED: %s with %s: ended with %d, has not worked: %x, files", name, strerror(error), sts, ALL & ~*worked);
	for (i = 0; i < (int)(sizeof(files) / sizeof(files[0])); i++)
	    printf(" %d", lines(files[i].name));
	printf("\n");
    }
    return failed;
}

static int
each_refused(void)
{
    static const int errors[] = { EPERM, ENOSYS, EINVAL, EACCES };
    int i, j, failed = 0;

    for (j = 0; j < (int)(sizeof(errors) / sizeof(errors[0])); j++) {
	for (i = 0; i < LISTED; i++)
	    failed |= refused(listed[i].name, listed[i].number, listed[i].lost, errors[j]);
	for (i = 0; i < (int)(sizeof(common) / sizeof(common[0])); i++)
	    failed |= refused(common[i].name, common[i].number, common[i].lost, errors[j]);
    }
    printf("%s\n", failed ? "FAILED" : "a refused call costs what needs it");
    return failed;
}

int
main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *var = getenv("PCP_VAR_DIR");
    int i;

    /* The host may have a module that aborts where a call is refused (systemd's). */
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("group", "files");
    worked = mmap(NULL, sizeof(*worked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "list") == 0) {
	for (i = 0; i < LISTED; i++)
	    printf("%s\n", listed[i].name);
	return 0;
    }
    snprintf(folder, sizeof(folder), "%s/config/pmda", var ? var : ".");
    snprintf(unix_path, sizeof(unix_path), "/tmp/sandbox-%d.socket", (int)getpid());
    snprintf(help_path, sizeof(help_path), "%s/help", var ? var : ".");
    mkdir(folder, 0755);
    help_write_good(help_path);
    if (strcmp(mode, "trace") == 0)
	i = trace();
    else if (strcmp(mode, "kill") == 0)
	i = under_a_filter_that_kills(argc - 2, argv + 2);
    else
	i = each_refused();
    unlink(unix_path);
    return i;
}

#else

int
main(void)
{
    printf("for x86-64 alone\n");
    return 0;
}

#endif
