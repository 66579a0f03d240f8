/*
 * A table that the agent has put into e_metrics itself is not freed; one that the library has made is (N-7, N-17).
 */
#include <malloc.h>
#include "dynamic.h"

static pmdaMetric metrics[] = {
    { NULL, { ID(60, 1, 1), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static pmdaMetric own[] = {
    { NULL, { ID(60, 9, 1), 9, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

int
main(void)
{
    static pmdaInterface	dispatch;
    pmdaExt			*ext;
    size_t			before;
    int				i;

    agent(&dispatch);
    ext = dispatch.version.any.ext;
    tree_of(0, "a.x", ID(60, 1, 1), NULL, 0);
    add(0, "a", metrics, 1, ext);
    pmdaRehash(ext, own, 1);
    rebuild(ext);
    set[0].metrics = set[0].trees = 1;
    pmdaRehash(ext, own, 1);
    rebuild(ext);
    rebuild(ext);
    fclose(stdout);	/* the callbacks have been seen */

    set[0].metrics = 10000;
    pmdaDynamicMetricTable(ext);
    before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (i = 0; i < 50; i++)
	pmdaDynamicMetricTable(ext);
    fprintf(stderr, "grown by a table: %s\n",
	    mallinfo2().uordblks + mallinfo2().hblkhd > before + 10000 * sizeof(pmdaMetric) ? "yes" : "no");
    return 0;
}
