/*
 * An agent whose names and labels change when a client stores into changing.how: 1 announces new names, 2 new labels,
 * 3 both. changing.count tells how often.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/generation.h"

static int how, count;

static pmdaMetric metrics[] = {
    { &how, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { &count, { PMDA_PMID(0, 1), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_COUNTER, PMDA_PMUNITS(0, 0, 1, 0, 0, PM_COUNT_ONE) } },
};

static int
fetched(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->l = *(int *)metric->m_user;
    return PMDA_FETCH_STATIC;
}

static int
store(pmdaResult *result, pmdaExt *pmda)
{
    how = result->vset[0]->vlist[0].value.lval;
    count++;
    if (how & 1)
	pmdaExtSetFlags(pmda, PMDA_EXT_NAMES_CHANGE);
    if (how & 2)
	pmdaExtSetFlags(pmda, PMDA_EXT_LABEL_CHANGE);
    return 0;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "changing", 497, "changing.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.any.store = store;
    pmdaSetFetchCallBack(&dispatch, fetched);
    pmdaInit(&dispatch, NULL, 0, metrics, 2);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
