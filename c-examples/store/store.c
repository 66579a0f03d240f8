/*
 * store: a metric that clients may set. The new value is checked before it is taken: the range, the type that pmcd
 * delivers, and that nothing else is touched when one of several values is bad.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	496

enum { LIMIT, CHANGES };

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, LIMIT), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_DISCRETE, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, CHANGES), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_COUNTER, PMDA_PMUNITS(0, 0, 1, 0, 0, 0) } },
};
static unsigned int limit = 100, changes;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    switch (pmID_item(metric->m_desc.pmid)) {
    case LIMIT:
	atom->ul = limit;
	return PMDA_FETCH_STATIC;
    case CHANGES:
	atom->ul = changes;
	return PMDA_FETCH_STATIC;
    }
    return PM_ERR_PMID;
}

/* The new limit in one value set, or why it cannot be taken. */
static int
check(pmValueSet *set, unsigned int *wanted)
{
    pmAtomValue atom;
    int sts;

    if (pmID_cluster(set->pmid) != 0 || pmID_item(set->pmid) != LIMIT)
	return PM_ERR_PERMISSION;
    if (set->numval != 1)
	return PM_ERR_INST;
    if ((sts = pmExtractValue(set->valfmt, &set->vlist[0], PM_TYPE_U32, &atom, PM_TYPE_U32)) < 0)
	return sts;
    if (atom.ul < 1 || atom.ul > 1000)
	return PM_ERR_CONV;
    *wanted = atom.ul;
    return 0;
}

static int
store(pmdaResult *result, pmdaExt *ext)
{
    unsigned int wanted = limit;
    int i, sts;

    (void)ext;
    for (i = 0; i < result->numpmid; i++)
	if ((sts = check(result->vset[i], &wanted)) < 0)
	    return sts;
    limit = wanted;
    changes++;
    return 0;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "store.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.any.store = store;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, NULL, 0, metrics, sizeof(metrics) / sizeof(metrics[0]));
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
