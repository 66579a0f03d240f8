/*
 * A hashed table with the same metrics twice, as two MMV files with one cluster make it: three metrics of the agent, then those of
 * each file. Of a few metrics the last entry is found; of many see fixed/fetch_duplicates_many.c. F-15, INIT-46
 *
 * differs with PCP 7: its hash grows at other numbers of entries
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define OWN 3
#define MOST 10
static pmdaMetric metrics[OWN + 2 * MOST];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->l = (int)(metric - metrics);
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    pmdaInterface dispatch;
    pmID pmid;
    pmDesc desc;
    int i, n;

    for (n = 1; n <= MOST; n++) {
	for (i = 0; i < OWN + 2 * n; i++) {
	    metrics[i].m_desc.type = PM_TYPE_32;
	    metrics[i].m_desc.sem = i < OWN + n ? PM_SEM_INSTANT : PM_SEM_COUNTER;
	    metrics[i].m_desc.indom = PM_INDOM_NULL;
	    metrics[i].m_desc.pmid = i < OWN ? pmID_build(DOMAIN, 0, i) : pmID_build(DOMAIN, 1, (i - OWN) % n);
	}
	agent(&dispatch, 7, value, NULL, 0, metrics, OWN);
	pmdaSetFlags(&dispatch, PMDA_EXT_FLAG_HASHED);
	pmdaRehash(CALL(dispatch).ext, metrics, OWN);
	pmdaRehash(CALL(dispatch).ext, metrics, OWN + 2 * n);
	printf("two files of %d\n", n);
	for (i = 0; i < n; i++) {
	    pmid = pmID_build(DOMAIN, 1, i);
	    printf("desc %d\n", pmdaDesc(pmid, &desc, CALL(dispatch).ext));
	    printf("semantics %d\n", desc.sem);
	    fetch(&dispatch, 1, &pmid);
	}
    }
    return 0;
}
