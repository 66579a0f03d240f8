/*
 * hello: the smallest agent that is worth running. One metric, hello.count, counts how often it was fetched.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define HELLO_DOMAIN 490		/* any domain that no other agent of the host has */

static pmdaMetric metrics[] = {
    /* hello.count: cluster 0, item 0; pmdaInit puts the domain in */
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_COUNTER,
	      PMDA_PMUNITS(0, 0, 1, 0, 0, PM_COUNT_ONE) } },
};

/* Called by pmdaFetch for each value that a client asked for. */
static int
fetch(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    static unsigned int count;

    (void)inst;
    if (pmID_item(metric->m_desc.pmid) != 0)
	return PM_ERR_PMID;
    value->ul = ++count;
    return PMDA_FETCH_STATIC;
}

int
main(int argc, char **argv)
{
    static pmLongOptions long_options[] = { PMDA_OPTIONS_HEADER("Options"), PMDAOPT_DOMAIN, PMDAOPT_LOGFILE, PMDA_OPTIONS_END };
    pmdaOptions options = { .short_options = "d:l:", .long_options = long_options };
    pmdaInterface dispatch;

    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), HELLO_DOMAIN, "hello.log", NULL);
    pmdaGetOptions(argc, argv, &options, &dispatch);
    if (options.errors) {
	pmdaUsageMessage(&options);
	return 1;
    }
    pmdaOpenLog(&dispatch);
    pmdaSetFetchCallBack(&dispatch, fetch);
    pmdaInit(&dispatch, NULL, 0, metrics, sizeof(metrics) / sizeof(metrics[0]));
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
