/*
 * Debug output of fetches and descriptions: FETCH-81, FETCH-110, FETCH-111, FETCH-112, INST-42.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = (int)inst;
    return 1;
}

static pmdaInstid set[] = { { 4, "a" }, { 2, "b" }, { 9, "c" } };
static pmdaIndom indoms[] = { { 1, 3, set } };
static int listed[] = { 9, 4 };
static pmInDomProfile element = { 0, PM_PROFILE_EXCLUDE, 2, listed };
static pmProfile profile = { PM_PROFILE_INCLUDE, 1, &element };
static pmdaMetric metrics[3];

static void
all(pmdaInterface *dispatch)
{
    pmID pmids[4];
    pmDesc desc;
    int i;

    for (i = 0; i < 4; i++)
	pmids[i] = pmID_build(DOMAIN, 0, i);
    fetch(dispatch, 1, pmids);
    fetch(dispatch, 4, pmids);
    for (i = 0; i < 4; i++)
	pmdaDesc(pmids[i], &desc, CALL(*dispatch).ext);
}

int
main(void)
{
    static const char *options[] = { "libpmda", "desperate", "indom" };
    pmdaInterface dispatch;
    int i, version;

    for (version = 3; version <= 7; version += 4) {
	for (i = 0; i < 3; i++) {
	    metrics[i].m_desc.pmid = pmID_build(DOMAIN, 0, i);
	    metrics[i].m_desc.indom = i == 0 ? PM_INDOM_NULL : (pmInDom)i;
	}
	agent(&dispatch, version, value, indoms, 1, metrics, 2);
	element.indom = indoms[0].it_indom;
	for (i = 0; i < 8; i++) {
	    int j;

	    for (j = 0; j < 3; j++)
		if (i & 1 << j)
		    pmSetDebug(options[j]);
	    fprintf(stderr, "version %d options %d\n", version, i);
	    CALL(dispatch).ext->e_prof = i & 1 ? &profile : NULL;
	    all(&dispatch);
	    for (j = 0; j < 3; j++)
		pmClearDebug(options[j]);
	}
	CALL(dispatch).ext->e_direct = 0;
	pmSetDebug("libpmda");
	pmSetDebug("desperate");
	all(&dispatch);
	pmClearDebug("libpmda");
	pmdaRehash(CALL(dispatch).ext, metrics, 3);
	pmSetDebug("libpmda");
	all(&dispatch);
	pmClearDebug("libpmda");
	pmClearDebug("desperate");
    }
    return 0;
}
