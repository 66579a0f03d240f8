/*
 * The meaning of a callback's answer, and the outcome for the metric, in every interface version, singular and with instances.
 * FETCH-10, FETCH-33, FETCH-35, FETCH-36, FETCH-40, FETCH-41, FETCH-45, F-11, F-16.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

static int answers[5];

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->l = (int)inst * 10 + (metric->m_user != NULL);
    return answers[inst == PM_IN_NULL ? 0 : inst];
}

int
main(void)
{
    static pmdaInstid set[] = { { 0, "a" }, { 1, "b" }, { 2, "c" }, { 3, "d" }, { 4, "e" } };
    static pmdaIndom indoms[] = { { 9, 5, set } };
    static pmdaMetric metrics[] = {
	{ NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
	{ metrics, { 1, PM_TYPE_32, 9, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    };
    static const int codes[] = {
	0, 1, 2, 3, 99, -1, -2, PM_ERR_INST, PM_ERR_PMID, PM_ERR_VALUE, PM_ERR_APPVERSION, PM_ERR_PERMISSION, PM_ERR_AGAIN,
	PM_ERR_NYI, PM_ERR_GENERIC, PM_ERR_TYPE, PM_ERR_TOOBIG, PM_ERR_PMDAREADY, -99999,
    };
    pmID pmids[2];
    pmdaInterface dispatch;
    int version, debug, i, j;

    for (debug = 0; debug < 2; debug++) {
	for (version = 2; version <= 7; version++) {
	    agent(&dispatch, version, value, indoms, 1, metrics, 2);
	    pmids[0] = metrics[0].m_desc.pmid;
	    pmids[1] = metrics[1].m_desc.pmid;
	    if (debug)
		pmSetDebug("libpmda");
	    for (i = 0; i < LENGTH(codes); i++) {
		for (j = 0; j < 5; j++)
		    answers[j] = codes[(i + j * j) % LENGTH(codes)];
		printf("version %d: %d %d %d %d %d\n", version, answers[0], answers[1], answers[2], answers[3], answers[4]);
		fetch(&dispatch, 2, pmids);
		for (j = 0; j < 5; j++)
		    answers[j] = codes[i];
		fetch(&dispatch, 2, pmids);
	    }
	    pmClearDebug("libpmda");
	}
    }
    /* The last instance decides (FETCH-36). */
    answers[0] = PM_ERR_INST, answers[1] = PM_ERR_VALUE, answers[2] = PM_ERR_INST, answers[3] = PM_ERR_VALUE, answers[4] = 0;
    fetch(&dispatch, 2, pmids);
    answers[2] = 0, answers[3] = PM_ERR_PMID, answers[4] = -2;
    fetch(&dispatch, 2, pmids);
    return 0;
}
