/* The agent of the scenario in benches/c/process.c: a DSO with one metric, as small as agents get. */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaMetric metrics[1] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U64, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->ull = 42;
    return PMDA_FETCH_STATIC;
}

void bench_init(pmdaInterface *dispatch);

void
bench_init(pmdaInterface *dispatch)
{
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "bench", NULL);
    if (dispatch->status != 0)
	return;
    pmdaSetFetchCallBack(dispatch, value);
    pmdaInit(dispatch, NULL, 0, metrics, 1);
}
