/*
 * The result block and its time stamp: FETCH-12, FETCH-13, FETCH-60, FETCH-61, FETCH-62, FETCH-63, FETCH-70, and the context
 * of the request, MAIN-25.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->l = (int)metric->m_desc.pmid + pmdaGetContext();
    return 1;
}

int
main(void)
{
    static pmdaMetric metrics[50];
    static const int sizes[] = { 1, 7, 7, 3, 50, 1, 49, 50 };
    static const unsigned int flags[] = { 0, 0x20, 0x40, 0x60, 0x80 };
    pmID pmids[50];
    pmdaInterface dispatch;
    pmdaResult *result, *last;
    int i, j, version;

    for (i = 0; i < 50; i++) {
	metrics[i].m_desc.pmid = pmids[i] = pmID_build(DOMAIN, 0, i);
	metrics[i].m_desc.indom = PM_INDOM_NULL;
    }
    for (version = 2; version <= 7; version++) {
	agent(&dispatch, version, value, NULL, 0, metrics, 50);
	last = NULL;
	for (i = 0; i < LENGTH(sizes); i++) {
	    CALL(dispatch).ext->e_context = version * 100 + i;
	    if (CALL(dispatch).fetch(sizes[i], pmids, &result, CALL(dispatch).ext) < 0)
		return 1;
	    printf("%d sets of %d, context %d, %s, first %d\n", result->numpmid, sizes[i], pmdaGetContext(),
		i > 0 && sizes[i] <= sizes[i - 1] ? (result == last ? "same" : "other") : "", result->vset[0]->vlist[0].value.lval);
	    free_sets(result);
	    last = result;
	}
	for (i = 0; i < LENGTH(flags); i++) {
	    CALL(dispatch).ext->e_flags |= flags[i];
	    for (j = 0; j < 2; j++) {
		printf("flags %x: ", CALL(dispatch).ext->e_flags);
		fetch(&dispatch, 1, pmids);
	    }
	}
	CALL(dispatch).ext->e_flags &= ~0x80u;
    }
    pmSetDebug("libpmda");
    for (i = 0; i < LENGTH(flags); i++) {
	CALL(dispatch).ext->e_flags |= flags[i];
	fetch(&dispatch, 1, pmids);
    }
    return 0;
}
