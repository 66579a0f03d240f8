/*
 * An agent without a name, and a socket without a path: each message has "(null)" in their place, but for the name of a
 * service, which is empty. INIT-52 CONN-4
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "setup.h"

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
    { NULL, { PMDA_PMID(0, 5), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
    { NULL, { PMDA_PMID(0, 2), PM_TYPE_32, 5, PM_SEM_INSTANT, { 0 } } },
};
static pmdaInstid set[] = { { 0, "a" } };
static pmdaIndom indoms[] = { { 0, 1, set } };

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->l = 1;
    return PMDA_FETCH_STATIC;
}

static void
nameless(pmdaInterface *table, int flags)
{
    memset(table, 0, sizeof(*table));
    pmdaDaemon(table, PMDA_INTERFACE_7, NULL, 30, NULL, NULL);
    pmdaSetFetchCallBack(table, value);
    pmdaSetFlags(table, flags);
}

static void
setups(void)
{
    pmdaInterface table;

    memset(&table, 0, sizeof(table));
    pmdaDaemon(&table, 99, NULL, 30, NULL, NULL);
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, 99, NULL, NULL);
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, NULL, NULL);
    pmdaInit(&table, indoms, 1, metrics, 2);
    memset(&table, 0, sizeof(table));
    pmdaDaemon(&table, PMDA_INTERFACE_7, NULL, 30, NULL, "/no/such/help");
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, indoms, 1, metrics, 1);
}

static void
tables(void)
{
    static const int flags[] = { 0, PMDA_EXT_FLAG_DIRECT, PMDA_EXT_FLAG_HASHED };
    pmdaInterface table;
    unsigned int i;

    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
	nameless(&table, flags[i]);
	pmdaInit(&table, indoms, 1, metrics, 2);
    }
    pmdaRehash(table.version.any.ext, metrics, 2);
    nameless(&table, 0);
    pmdaInit(&table, indoms, -1, metrics, 2);
    nameless(&table, 0);
    pmdaInit(&table, indoms, 1, metrics, -1);
    nameless(&table, 0);
    pmdaInit(&table, NULL, 1, metrics, 2);
    nameless(&table, 0);
    pmdaInit(&table, indoms, 1, metrics, 3);
    nameless(&table, 0);
    table.version.any.text = NULL;
    pmdaInit(&table, indoms, 1, metrics, 1);
}

static void
options(void)
{
    char *argv[] = { "program", "-d", "12x", "-D", "unknown", "-i", "1", "-p", NULL };
    pmdaOptions opts = { .short_options = "d:D:i:p" };
    pmdaInterface table;
    int errors = 0;

    nameless(&table, 0);
    printf("option %d", pmdaGetOptions(8, argv, &opts, &table));
    printf(", %d errors\n", opts.errors);
    pmdaUsageMessage(&opts);
    nameless(&table, 0);
    printf("option %d", pmdaGetOpt(8, argv, "d:D:i:p", &table, &errors));
    printf(", %d errors\n", errors);
    pmflush();
}

/* Connects in a child: a failure ends the process. */
static void
connects(const char *what, int io, int port)
{
    pmdaInterface table;
    pid_t child;
    int status = -1;

    printf("%s\n", what);
    if ((child = fork()) == 0) {
	int null = open("/dev/null", O_RDWR), out = dup(1);

	nameless(&table, 0);
	pmdaInit(&table, indoms, 1, metrics, 1);
	table.version.any.ext->e_io = io;
	table.version.any.ext->e_port = port;
	table.version.any.ext->e_sockname = NULL;
	if (null < 0 || out < 0 || dup2(null, 0) < 0)
	    exit(2);
	if (io == pmdaPipe)
	    dup2(null, 1);
	alarm(20);
	pmdaConnect(&table);
	fflush(stdout);
	dup2(out, 1);
	printf("  status %d\n", table.status);
	exit(0);
    }
    if (waitpid(child, &status, 0) == child)
	printf("  ended with 0x%x\n", status);
}

static void
requests(void)
{
    struct { int length, type, from; } unknown = { htonl(12), htonl(0x7fff), 0 };
    struct { int length, type, from, code; } error = { htonl(16), htonl(0x7000), 0, htonl(-5) };
    pmdaInterface table;
    int ends[2];

    nameless(&table, 0);
    pmdaInit(&table, indoms, 1, metrics, 1);
    if (pipe(ends) < 0 || write(ends[1], &unknown, 12) != 12 || write(ends[1], &error, 16) != 16)
	exit(1);
    close(ends[1]);
    table.version.any.ext->e_infd = ends[0];
    table.version.any.ext->e_outfd = open("/dev/null", O_WRONLY);
    while (__pmdaMainPDU(&table) >= 0)
	;
    close(ends[0]);
    close(table.version.any.ext->e_outfd);
}

static void
all(void)
{
    setups();
    tables();
    options();
    connects("pipe", pmdaPipe, 0);
    connects("unix", pmdaUnix, 0);
    connects("no such transport", 77, 0);
    requests();
}

int
main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    all();
    pmSetDebug("libpmda");
    all();
    return 0;
}
