/*
 * pmdaInit: its checks, what it stamps, which lookup it chooses (INIT-40, INIT-41, INIT-42, INIT-43, INIT-44, INIT-45,
 * INIT-46, HELP-14).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->ul = inst;
    return 1;
}

static pmdaInterface d;

static pmdaExt *
fresh(int version, int callback)
{
    memset(&d, 0, sizeof(d));
    d.domain = 250;
    pmdaDSO(&d, version, "test", NULL);
    if (callback)
	pmdaSetFetchCallBack(&d, value);
    return d.version.any.ext;
}

static pmdaMetric metrics[4];
static pmdaIndom indoms[3];

static void
tables(int step)
{
    int i;

    memset(metrics, 0, sizeof(metrics));
    memset(indoms, 0, sizeof(indoms));
    for (i = 0; i < 4; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(i / 2, i * step);
	metrics[i].m_desc.indom = i == 0 ? PM_INDOM_NULL : (pmInDom)(i - 1);
    }
    for (i = 0; i < 3; i++)
	indoms[i].it_indom = i;
}

static void
show(const char *what)
{
    pmdaExt *e = d.version.any.ext;
    int i;

    fflush(stderr);
    printf("%s: status %d flags %x direct %d help %d metrics %d indoms %d\n", what, d.status, e->e_flags, e->e_direct,
	e->e_help, e->e_nmetrics, e->e_nindoms);
    for (i = 0; i < 4; i++)
	printf("  %08x %08x\n", metrics[i].m_desc.pmid, metrics[i].m_desc.indom);
    for (i = 0; i < 3; i++)
	printf("  %08x\n", indoms[i].it_indom);
    fflush(stdout);
}

int
main(void)
{
    pmdaExt *e;

    tables(1);
    fresh(PMDA_INTERFACE_7, 1);
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("direct");
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("again");

    tables(2);
    fresh(PMDA_INTERFACE_2, 1);
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("linear");
    tables(2);
    e = fresh(PMDA_INTERFACE_7, 1);
    pmdaSetFlags(&d, PMDA_EXT_FLAG_DIRECT);
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("direct asked for in vain");
    tables(2);
    e = fresh(PMDA_INTERFACE_7, 1);
    pmdaSetFlags(&d, PMDA_EXT_FLAG_HASHED);
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("hashed");
    pmdaRehash(e, metrics, 2);
    show("rehashed");

    tables(1);
    e = fresh(PMDA_INTERFACE_7, 1);
    e->e_status = -7;
    e->e_helptext = "no/such/help";
    d.status = -3;
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("status of the extension, help missing");

    tables(1);
    fresh(PMDA_INTERFACE_7, 0);
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("no callback");
    d.version.any.fetch = (int (*)(int, pmID *, pmResult **, pmdaExt *))abort;
    d.version.any.text = NULL;
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("own fetch and no text method");

    tables(1);
    fresh(PMDA_INTERFACE_7, 1);
    pmdaInit(&d, indoms, 3, metrics, -1);
    show("negative nmetrics");
    pmdaInit(&d, indoms, -1, metrics, 4);
    show("negative nindoms");
    pmdaInit(&d, NULL, 0, NULL, 4);
    show("no metrics");
    pmdaInit(&d, NULL, 2, metrics, 4);
    show("no indoms");
    pmdaInit(&d, NULL, 0, metrics, 4);
    show("metrics without table of indoms");
    pmdaInit(&d, NULL, 0, NULL, 0);
    show("nothing");
    indoms[1].it_indom = PM_INDOM_NULL;
    pmdaInit(&d, indoms, 2, metrics, 4);
    show("undefined serial, a NULL domain in the table");
    d.comm.pmda_interface = 9;
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("bad interface");
    tables(1);
    fresh(PMDA_INTERFACE_7, 1);
    d.domain = 12;
    pmdaInit(&d, indoms, 3, metrics, 4);
    show("the domain of the dispatch table counts");
    return 0;
}
