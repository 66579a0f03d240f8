/*
 * More copies than were counted are all in the table; negative counts are none; counts that are left alone are 0 (N-6).
 */
#include "dynamic.h"

#define METRIC(cluster, item) \
    { NULL, { ID(60, cluster, item), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } }

static pmdaMetric metrics[] = { METRIC(1, 1), METRIC(1, 2) };

static void
silent(int *nmetrics, int *trees)
{
    (void)nmetrics;
    (void)trees;
}

int
main(void)
{
    static pmdaInterface	dispatch;
    pmdaExt			*ext;

    agent(&dispatch);
    ext = dispatch.version.any.ext;
    tree_of(0, "a.x", ID(60, 1, 1), "a.y", ID(60, 1, 2));
    add(0, "a", metrics, 2, ext);
    set[0].metrics = 1;
    set[0].trees = 6;
    rebuild(ext);
    set[0].metrics = -2;
    rebuild(ext);
    set[0].trees = -3;
    rebuild(ext);
    tree_of(1, "b.x", ID(60, 1, 1), NULL, 0);
    pmdaExtDynamicPMNS("b", NULL, 0, update1, text1, metric1, silent, metrics, 1, ext);
    set[0].metrics = 2;
    set[0].trees = 1;
    rebuild(ext);
    return 0;
}
