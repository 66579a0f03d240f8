/*
 * Requests for the labels of a context with an empty directory of labels: libpcp gives a set without labels, and a 0. Its text
 * is freed nevertheless. L-11 LABEL-20 LABEL-27
 */
#include <malloc.h>
#include <sys/stat.h>
#include "loop.h"

#define ROUNDS 500

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    (void)atom;
    return 0;
}

static void
body(void)
{
    static pmdaInterface stock;
    size_t before = 0;
    int i;

    pmSetProgname("agent");
    pmdaDaemon(&stock, PMDA_INTERFACE_7, "agent", 253, "log", NULL);
    stock.version.any.text = own_text;
    pmdaSetFetchCallBack(&stock, value);
    pmdaInit(&stock, NULL, 0, NULL, 0);
    stock.version.any.ext->e_infd = 0;
    stock.version.any.ext->e_outfd = 1;
    for (i = 0; i < ROUNDS; i++) {
	if (__pmdaMainPDU(&stock) < 0)
	    break;
	if (i == ROUNDS / 2)
	    before = mallinfo2().uordblks;
    }
    say("%d requests, memory has grown: %d", i, mallinfo2().uordblks > before + 1000);
}

int
main(void)
{
    unsigned char answer[28];
    unsigned char request[] = { 0, 0, 0, 0x14, 0, 0, 0x70, 0x12, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1 };
    int i, good = 0;

    mkdir("etc", 0777);
    mkdir("etc/labels", 0777);
    mkdir("etc/labels/optional", 0777);
    start(body);
    for (i = 0; i < ROUNDS; i++) {
	put(request, sizeof(request));
	good += get(answer, sizeof(answer)) == sizeof(answer) && answer[7] == 0x13 && answer[27] == 0;
    }
    printf("%d answers without a set\n", good);
    finish();
    return 0;
}
