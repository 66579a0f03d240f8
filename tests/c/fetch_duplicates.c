/*
 * A hashed table with the same metric more than once, of any size: which one is found depends on how often libpcp's hash has grown
 * since. Two MMV files with one cluster make such a table. F-15, FETCH-20, INIT-46
 *
 * differs with PCP 7: its hash grows at other numbers of entries; ours follows PCP 6
 */
#include "fetch.h"

#define MOST 2100
static pmdaMetric metrics[MOST];

static unsigned int seed = 4711;
static int
any(int n)
{
    seed = seed * 1103515245 + 12345;
    return (int)((seed >> 16) % (unsigned int)n);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->l = (int)(metric - metrics);
    return PMDA_FETCH_STATIC;
}

/* Which entry each metric is, as a list or a sum. */
static void
show(pmdaInterface *dispatch, const char *what, int entries, int distinct)
{
    unsigned int sum = 0;
    pmDesc desc;
    int i;

    pmdaRehash(CALL(*dispatch).ext, metrics, entries);
    printf("%s %d:", what, entries);
    for (i = 0; i < distinct; i++) {
	if (pmdaDesc(pmID_build(DOMAIN, 1, i), &desc, CALL(*dispatch).ext) < 0)
	    desc.indom = 9999999;
	sum = sum * 31 + desc.indom;
	if (distinct <= 30)
	    printf(" %u", desc.indom);
    }
    printf(" sum %u\n", sum);
}

int
main(void)
{
    pmdaInterface dispatch;
    pmID pmid = pmID_build(DOMAIN, 1, 0);
    int i, n, distinct;

    for (i = 0; i < MOST; i++) {
	metrics[i].m_desc.type = PM_TYPE_32;
	metrics[i].m_desc.indom = i;
    }
    metrics[0].m_desc.pmid = pmid;
    agent(&dispatch, 7, value, NULL, 0, metrics, 1);
    pmdaSetFlags(&dispatch, PMDA_EXT_FLAG_HASHED);
    for (n = 1; n <= 300; n++) {
	for (i = 0; i < n; i++)
	    metrics[i].m_desc.pmid = pmID_build(DOMAIN, 1, i / 2);
	show(&dispatch, "pairs of", n, (n + 1) / 2);
    }
    for (n = 300; n <= MOST; n += 100) {
	for (i = 0; i < n; i++)
	    metrics[i].m_desc.pmid = pmID_build(DOMAIN, 1, i % (n / 2));
	show(&dispatch, "halves of", n, n / 2);
    }
    for (n = 1; n < MOST; n += 1 + any(n)) {
	distinct = 1 + any(n < 1000 ? n : 1000);
	for (i = 0; i < n; i++)
	    metrics[i].m_desc.pmid = pmID_build(DOMAIN, 1, any(distinct));
	show(&dispatch, "any of", n, distinct);
    }
    for (i = 0; i < 9; i++) {
	metrics[i].m_desc.pmid = pmid;
	metrics[i].m_desc.indom = PM_INDOM_NULL;
    }
    for (n = 1; n < 10; n++) {
	pmdaRehash(CALL(dispatch).ext, metrics, n);
	fetch(&dispatch, 1, &pmid);
    }
    return 0;
}
