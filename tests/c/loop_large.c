/*
 * A daemon that has sent a large reply does not keep the memory for it until the next request: neither with the library's own
 * fetch, nor with one that passes the call on. WIRE-75 MAIN-20
 */
#include <malloc.h>
#include "loop.h"

#define INSTANCES 200000

static int passed_on;
static pmdaInterface stock;
static pmdaInstid instances[INSTANCES];
static pmdaIndom indoms[] = { { 1, INSTANCES, instances } };
static pmdaMetric metrics[1];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->ull = inst;
    return 1;
}

static int
passing_fetch(int count, pmID *list, pmdaResult **result, pmdaExt *ext)
{
    return pmdaFetch(count, list, result, ext);
}

/* Runs before each request: what is in use now, compared with the first time. */
static int
check(void)
{
    static size_t before;
    struct mallinfo2 now = mallinfo2();
    size_t used = now.uordblks + now.hblkhd;

    if (before == 0)
	before = used;
    else
	say("more than 1 MB is kept: %s", used > before + (1 << 20) ? "yes" : "no");
    return 0;
}

static void
body(void)
{
    int i;

    memset(&stock, 0, sizeof(stock));
    pmdaDaemon(&stock, 7, "agent", 253, NULL, NULL);
    pmdaSetFetchCallBack(&stock, value);
    pmdaSetCheckCallBack(&stock, check);
    for (i = 0; i < INSTANCES; i++) {
	instances[i].i_inst = i;
	instances[i].i_name = "instance";
    }
    indoms[0].it_indom = pmInDom_build(253, 1);
    metrics[0].m_desc.pmid = pmID_build(253, 0, 0);
    metrics[0].m_desc.type = PM_TYPE_U64;
    metrics[0].m_desc.sem = PM_SEM_INSTANT;
    metrics[0].m_desc.indom = indoms[0].it_indom;
    pmdaInit(&stock, indoms, 1, metrics, 1);
    if (passed_on)
	stock.version.any.fetch = passing_fetch;
    stock.version.any.ext->e_infd = 0;
    stock.version.any.ext->e_outfd = 1;
    pmdaMain(&stock);
}

/* A fetch, of whose reply only the beginning is shown. */
static void
fetch(void)
{
    static unsigned char bytes[1 << 16];
    int length, i, n;

    post("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    n = get(bytes, 64);
    length = bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    printf("<");
    for (i = 0; i < n; i++)
	printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
    printf(" ...\n");
    while (n < length && (i = get(bytes, length - n < (int)sizeof(bytes) ? length - n : (int)sizeof(bytes))) > 0)
	n += i;
    printf("all of %d: %s\n", length, n == length ? "yes" : "no");
}

int
main(void)
{
    int round;

    for (passed_on = 0; passed_on < 2; passed_on++) {
	printf("passed on: %d\n", passed_on);
	start(body);
	for (round = 0; round < 2; round++) {
	    ask("00000010 00007004 00000000 3f400000");
	    fetch();
	}
	ask("00000010 00007004 00000000 3f400000");
	finish();
    }
    return 0;
}
