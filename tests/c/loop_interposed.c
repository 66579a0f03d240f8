/*
 * Functions that are preloaded in front of the library's own, as tracers do, are called: as methods that the library has put
 * into the table, and for each PDU of pmdaMain. MAIN-1 INIT-10
 * differs with -Bsymbolic-functions: nothing gets in front of the C library's functions in its own calls
 * dso: interpose
 */
#include "loop.h"

static pmdaInstid colours[] = { { 3, "red" }, { 5, "blue" } };
static pmdaIndom indoms[] = { { 1, 2, colours } };
static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = 40 + inst;
    return PMDA_FETCH_STATIC;
}

static void
body(void)
{
    static pmdaInterface stock;

    pmSetProgname("agent");
    pmdaDaemon(&stock, PMDA_INTERFACE_7, "agent", 253, "log", NULL);
    pmdaSetFetchCallBack(&stock, value);
    pmdaInit(&stock, indoms, 1, metrics, 1);
    say("the table has what is in front: %d %d", stock.version.any.fetch == pmdaFetch, stock.version.any.instance == pmdaInstance);
    stock.version.any.ext->e_infd = 0;
    stock.version.any.ext->e_outfd = 1;
    pmdaMain(&stock);
}

int
main(int argc, char **argv)
{
    char path[4096], preloaded[4096 + 4];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (argc == 1) {
	path[length < 0 ? 0 : length] = '\0';
	sprintf(preloaded, "%s.so", path);
	setenv("LD_PRELOAD", preloaded, 1);
	execl(path, argv[0], "preloaded", NULL);
	return 9;
    }
    unsetenv("LD_PRELOAD");
    start(body);
    post("0000001c 00007002 00000000 00000001 00000000 00000000 00000000");
    post("00000020 00007003 00000001 00000001 00000000 00000000 00000001 3f400000");
    reply();
    post("00000010 00007004 00000001 3f400000");
    reply();
    post("00000020 00007006 00000001 3f400001 00000000 00000000 ffffffff 00000000");
    reply();
    post("00000014 00007008 00000001 3f400000 00000005");
    reply();
    post("0000002c 00007001 00000001 00000009 00000000 00000001 3f400005 00000001 00000000 ffffffff 0000000b");
    reply();
    post("00000014 00007012 00000001 3f400000 00000010");
    reply();
    post("00000018 0000700e 00000000 00000009 00000000 00000001");
    reply();
    post("00000018 0000700f 00000000 00000001 00000003 612e627e");
    reply();
    post("00000016 00007011 00000003 00000005 74616e79 6100");
    finish();
    return 0;
}
