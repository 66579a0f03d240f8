/*
 * Instance domains in ascending order, with gaps, in any order, and more than once: which of them each metric is matched to,
 * and which metric has none. INIT-41 INIT-42
 */
#include "fetch.h"

static unsigned int state = 12345;

static unsigned int
next(unsigned int below)
{
    state = state * 1103515245 + 12345;
    return (state >> 16) % below;
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->ull = 0;
    return PMDA_FETCH_STATIC;
}

static void
check(const char *what, int order, int ndomains, int nmetrics)
{
    static pmdaIndom domains[400];
    static pmdaMetric metrics[60];
    pmdaInterface dispatch;
    int i;

    for (i = 0; i < ndomains; i++) {
	domains[i].it_indom = order == 0 ? i : order == 1 ? 5 + 3 * i : order == 2 ? 4 * (ndomains - i) : (int)next(ndomains);
	if (order == 4)
	    domains[i].it_indom = i / 2;
	/* The domain of another agent may be in the identifier already. */
	domains[i].it_indom |= next(2) ? 77 << 22 : 0;
    }
    for (i = 0; i < nmetrics; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(i % 3, i);
	metrics[i].m_desc.type = PM_TYPE_U32;
	metrics[i].m_desc.indom = next(8) == 0 ? PM_INDOM_NULL : domains[next(ndomains)].it_indom & 0x3fffff;
	if (next(200) == 0)
	    metrics[i].m_desc.indom = 1 + next(2 * ndomains);
    }
    printf("%s: %d domains, %d metrics\n", what, ndomains, nmetrics);
    fflush(stdout);
    fprintf(stderr, "%s: %d domains, %d metrics\n", what, ndomains, nmetrics);
    agent(&dispatch, PMDA_INTERFACE_7, value, domains, ndomains, metrics, nmetrics);
    printf("status %d\n", dispatch.status);
    for (i = 0; i < nmetrics; i++)
	printf(" %x", metrics[i].m_desc.indom);
    for (i = 0; i < ndomains; i++)
	printf("%s%x", i ? " " : "\n", domains[i].it_indom);
    printf("\n");
}

int
main(void)
{
    static const char *orders[] = { "one after the other", "with gaps", "descending", "in any order", "twice each" };
    int debug, order, turn;

    pmSetProgname("init");
    for (debug = 0; debug < 2; debug++) {
	if (debug)
	    pmSetDebug("libpmda");
	for (order = 0; order < 5; order++)
	    for (turn = 0; turn < 12; turn++)
		check(orders[order], order, 1 + next(turn < 6 ? 5 : 400), 1 + next(60));
    }
    return 0;
}
