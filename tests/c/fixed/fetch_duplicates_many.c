/*
 * A hashed table with the same metrics twice: the last entry of each is found, whatever the number of metrics. In the C library it
 * depends on that number, and on the numbers of earlier tables. F-15
 */
#include "fetch.h"

#define MOST 1000
static pmdaMetric metrics[MOST];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric; (void)inst; (void)atom;
    return PMDA_FETCH_NOVALUES;
}

int
main(void)
{
    pmdaInterface dispatch;
    pmDesc desc;
    int i, n, last;

    agent(&dispatch, 7, value, NULL, 0, metrics, 1);
    pmdaSetFlags(&dispatch, PMDA_EXT_FLAG_HASHED);
    for (n = 1; n <= MOST / 2; n += 1 + n / 8) {
	for (i = 0; i < 2 * n; i++) {
	    metrics[i].m_desc.pmid = pmID_build(DOMAIN, 1, i % n);
	    metrics[i].m_desc.indom = i;
	}
	pmdaRehash(CALL(dispatch).ext, metrics, 2 * n);
	last = 0;
	for (i = 0; i < n; i++) {
	    if (pmdaDesc(pmID_build(DOMAIN, 1, i), &desc, CALL(dispatch).ext) == 0)
		last += desc.indom == (pmInDom)(n + i);
	}
	printf("twice %d: the last of %d\n", n, last);
    }
    return 0;
}
