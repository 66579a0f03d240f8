/*
 * How a metric is found, by each method and with every kind of change behind the library's back: FETCH-14, FETCH-15, FETCH-20,
 * FETCH-21, FETCH-22, FETCH-23, FETCH-38, FETCH-80, FETCH-81, F-13, F-18, INIT-44, INIT-46.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define N 60
static pmdaMetric metrics[N], other[N];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->l = metric->m_user ? *(int *)metric->m_user : -1;
    (void)inst;
    return 1;
}

static int describe_code;
static int
describe(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    (void)ext;
    if (pmID_item(pmid) == 77)
	return -1;
    desc->pmid = pmid;
    desc->type = PM_TYPE_32;
    desc->indom = PM_INDOM_NULL;
    return describe_code;
}

static void
try(pmdaInterface *dispatch, const char *what)
{
    pmID pmids[14];
    pmDesc desc;
    int i, n = 0, sts;

    for (i = 0; i < 8; i++)
	pmids[n++] = pmID_build(DOMAIN, 1, i * 9);
    pmids[n++] = pmID_build(DOMAIN, 2, 3);
    pmids[n++] = pmID_build(DOMAIN, 2, 77);
    pmids[n++] = pmID_build(3, 1, 9);
    pmids[n++] = pmID_build(DOMAIN, 1, 9) | 0x80000000;
    pmids[n++] = 0;
    pmids[n++] = PM_ID_NULL;
    printf("%s: direct %d flags %x\n", what, CALL(*dispatch).ext->e_direct, CALL(*dispatch).ext->e_flags);
    fetch(dispatch, n, pmids);
    fetch(dispatch, n, pmids);
    fetch(dispatch, n, pmids);
    for (i = 0; i < n; i++) {
	memset(&desc, 0x55, sizeof(desc));
	sts = pmdaDesc(pmids[i], &desc, CALL(*dispatch).ext);
	printf(" %d/%x/%x", sts, desc.pmid, desc.indom);
    }
    printf("\n");
    fflush(stdout);
}

static void
fill(pmdaMetric *table, int first, int step, int user)
{
    static int users[3 * N];
    int i;

    for (i = 0; i < N; i++) {
	users[user * N + i] = user * 1000 + i;
	table[i].m_user = &users[user * N + i];
	table[i].m_desc.pmid = pmID_build(DOMAIN, 1, (first + i * step) % 61);
	table[i].m_desc.type = PM_TYPE_32;
	table[i].m_desc.indom = PM_INDOM_NULL;
    }
}

int
main(void)
{
    pmdaInterface dispatch;
    pmdaExt *ext;
    pmdaMetric swap;
    int i, version;

    for (version = 3; version <= 7; version += 2) {
	fill(metrics, 0, 1, 0);
	agent(&dispatch, version, value, NULL, 0, metrics, N);
	ext = CALL(dispatch).ext;
	try(&dispatch, "direct");
	fill(metrics, 5, 7, 0);
	agent(&dispatch, version, value, NULL, 0, metrics, N);
	ext = CALL(dispatch).ext;
	try(&dispatch, "linear");
	for (i = 0; i < 20; i++) {
	    swap = metrics[i];
	    metrics[i] = metrics[N - 1 - i];
	    metrics[N - 1 - i] = swap;
	}
	try(&dispatch, "order changed in place");
	fill(metrics, 9, 3, 1);
	try(&dispatch, "written anew");
	metrics[0] = metrics[10];
	metrics[10].m_desc.pmid = pmID_build(DOMAIN, 2, 3);
	try(&dispatch, "one moved, one new");
	ext->e_nmetrics = 20;
	try(&dispatch, "shorter");
	fill(other, 2, 5, 2);
	other[50].m_desc.pmid = other[3].m_desc.pmid;
	other[1].m_desc.pmid = other[40].m_desc.pmid;
	ext->e_metrics = other;
	ext->e_nmetrics = N;
	try(&dispatch, "another table, with duplicates");
	ext->e_direct = 1;
	try(&dispatch, "direct all of a sudden");
	fill(metrics, 5, 7, 0);
	pmdaRehash(ext, metrics, N);
	try(&dispatch, "rehashed");
	metrics[3].m_desc.pmid = pmID_build(DOMAIN, 1, 0);
	metrics[4].m_user = NULL;
	try(&dispatch, "written in place, not rehashed");
	pmdaRehash(ext, other + 2, 30);
	try(&dispatch, "rehashed with a part of the other");
	ext->e_flags &= ~(unsigned int)PMDA_EXT_FLAG_HASHED;
	try(&dispatch, "flag taken away");
	pmdaRehash(ext, NULL, 0);
	try(&dispatch, "no metrics");
	fill(metrics, 5, 7, 0);		/* each metric once: fetch_duplicates.c has them twice */
	CALL(dispatch).desc = describe;
	pmdaInit(&dispatch, NULL, 0, metrics, N);
	for (describe_code = 0; describe_code > -2; describe_code--)
	    try(&dispatch, "a desc method of its own");
	CALL(dispatch).desc = NULL;
	pmdaInit(&dispatch, NULL, 0, metrics, N);
	try(&dispatch, "no desc method");
    }
    return 0;
}
