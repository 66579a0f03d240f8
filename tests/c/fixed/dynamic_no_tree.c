/*
 * An update callback that leaves its tree NULL is no match, and no registration at all makes no table (N-4, N-5).
 */
#include "dynamic.h"

static pmdaMetric metrics[] = {
    { NULL, { ID(60, 1, 1), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

int
main(void)
{
    static pmdaInterface	dispatch;
    pmdaExt			*ext;

    agent(&dispatch);
    ext = dispatch.version.any.ext;
    rebuild(ext);
    add(0, "a", metrics, 1, ext);
    look(ext, "a.b", ID(60, 1, 1));
    set[0].metrics = set[0].trees = 1;
    rebuild(ext);
    return 0;
}
