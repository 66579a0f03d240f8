/*
 * An agent that connects to pmcd and then ends, as one does whose user does not exist.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static int
fetch(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    (void)metric;
    (void)inst;
    (void)value;
    return 0;
}

int
main(void)
{
    pmdaInterface dispatch;

    pmSetProgname("pmdaends");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "pmdaends", 11, "xfs.log", NULL);
    pmdaOpenLog(&dispatch);
    pmdaSetFetchCallBack(&dispatch, fetch);
    pmdaInit(&dispatch, NULL, 0, NULL, 0);
    pmdaConnect(&dispatch);
    pmNotifyErr(LOG_CRIT, "cannot find the user nobody_has_this_name");
    return 1;
}
