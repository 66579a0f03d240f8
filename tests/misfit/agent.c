/*
 * What an agent sees of the library: the status of each step of its setup, and some calls that need none.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN 500

static int fetch_one(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric, (void)inst;
    atom->l = 1;
    return PMDA_FETCH_STATIC;
}

int main(int argc, char **argv)
{
    pmdaMetric metric = { NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } };
    pmdaInterface dispatch = { .domain = DOMAIN }, dso = { .domain = DOMAIN };
    pmInDom indom = pmInDom_build(DOMAIN, 1);
    pmLabelSet *labels = NULL;
    pmID pmid = pmID_build(DOMAIN, 0, 1);
    struct timeval now = { 1, 0 };
    pmAtomValue atom = { .l = 1 };
    int errors = 0, event;

    pmSetProgname("agent");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", DOMAIN, "agent.log", NULL);
    printf("pmdaDaemon: status %d, extension %s\n", dispatch.status, dispatch.version.any.ext == NULL ? "none" : "made");
    pmdaDSO(&dso, PMDA_INTERFACE_7, "agent DSO", NULL);
    printf("pmdaDSO: status %d, extension %s\n", dso.status, dso.version.any.ext == NULL ? "none" : "made");
    printf("pmdaGetOpt: %d\n", pmdaGetOpt(argc, argv, "D:", &dispatch, &errors));
    pmdaSetFetchCallBack(&dispatch, fetch_one);
    pmdaInit(&dispatch, NULL, 0, &metric, 1);
    printf("pmdaInit: status %d, domain of the metric %d\n", dispatch.status, pmID_domain(metric.m_desc.pmid));
    printf("pmdaCacheStore: %d\n", pmdaCacheStore(indom, PMDA_CACHE_ADD, "one", NULL));
    printf("pmdaCachePurge: %d\n", pmdaCachePurge(indom, 0));
    event = pmdaEventNewArray();
    printf("pmdaEventNewArray: %d\n", event);
    printf("pmdaEventAddRecord: %d\n", pmdaEventAddRecord(event, &now, 0));
    printf("pmdaEventAddParam: %d\n", pmdaEventAddParam(event, pmid, PM_TYPE_32, &atom));
    printf("pmdaEventQueueAppend: %d\n", pmdaEventQueueAppend(0, "x", 1, &now));
    printf("pmdaAddLabels: %d\n", pmdaAddLabels(&labels, "{\"a\":1}"));
    if (dispatch.status < 0) {
	pmdaConnect(&dispatch);
	printf("pmdaConnect: status %d\n", dispatch.status);
	pmdaMain(&dispatch);
	printf("pmdaMain has returned\n");
    }
    return 0;
}
