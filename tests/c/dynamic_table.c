/*
 * pmdaDynamicMetricTable: the order of calls and of entries, what is counted but not filled, and what is freed.
 *
 * DYN-20, DYN-21, DYN-22, DYN-23, DYN-24, N-8
 * memory: nothing is lost on ours
 */
#include "dynamic.h"

#define METRIC(cluster, item) \
    { NULL, { ID(60, cluster, item), 100 + item, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } }

static pmdaMetric fixed[] = { METRIC(0, 0), METRIC(1, 1), METRIC(1, 2) };
static pmdaMetric other[] = { METRIC(2, 1), METRIC(2, 2), METRIC(2, 3) };

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->ul = metric->m_desc.pmid + inst;
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    static pmdaInterface	dispatch;
    pmdaExt			*ext;
    static pmdaIndom		indoms[1];
    static pmdaInstid		instances[1] = { { 0, "one" } };

    indoms[0].it_numinst = 1;
    indoms[0].it_set = instances;
    agent(&dispatch);
    ext = dispatch.version.any.ext;
    pmdaSetFetchCallBack(&dispatch, value);

    /* before pmdaInit; nothing to add */
    tree_of(0, "a.x", ID(60, 1, 1), "a.y", ID(60, 1, 2));
    add(0, "a", fixed, 3, ext);
    rebuild(ext);
    printf("fixed: %d\n", ext->e_metrics == fixed);
    pmdaInit(&dispatch, indoms, 1, fixed, 3);
    show_table(ext);
    printf("fixed: %d\n", ext->e_metrics == fixed);

    /* two metrics, three copies */
    set[0].metrics = 2;
    set[0].trees = 3;
    rebuild(ext);
    printf("fixed: %d\n", ext->e_metrics == fixed);
    rebuild(ext);

    /* more counted than there are */
    set[0].metrics = 4;
    rebuild(ext);

    /* a second registration with a table of its own: only the metrics that its tree names */
    set[0].metrics = 2;
    set[0].trees = 1;
    tree_of(1, "b.x", ID(60, 2, 1), "b.z", ID(60, 2, 3));
    add(1, "b", other, 3, ext);
    set[1].metrics = 2;
    set[1].trees = 2;
    rebuild(ext);
    set[0].metrics = 0;
    set[0].trees = 0;
    rebuild(ext);

    /* back to the fixed part */
    set[0].trees = set[1].trees = 0;
    rebuild(ext);
    printf("fixed: %d\n", ext->e_metrics == fixed);
    set[1].trees = 1;
    rebuild(ext);
    pmdaInit(&dispatch, indoms, 1, fixed, 3);
    show_table(ext);
    return 0;
}
