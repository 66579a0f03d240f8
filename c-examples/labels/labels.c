/*
 * labels: metadata for the whole agent, for a metric and for each instance. Labels are part of a metric's identity;
 * notes are optional remarks.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	493
#define ROOMS	0

static pmdaInstid rooms[] = { { 0, "kitchen" }, { 1, "cellar" } };
static pmdaIndom indoms[] = { { ROOMS, 2, rooms } };

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, ROOMS, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    if (inst > 1)
	return PM_ERR_INST;
    atom->ul = 20 - 8 * inst;
    return PMDA_FETCH_STATIC;
}

/* For everything but instances: add what we have, then let the library do the rest. */
static int
label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    int sts = 0;

    if (type == PM_LABEL_DOMAIN)
	sts = pmdaAddLabels(sets, "{\"building\":\"main\",\"floors\":3}");
    else if (type == PM_LABEL_ITEM && pmID_item(ident) == 0) {
	if ((sts = pmdaAddLabels(sets, "{\"sensor\":\"analog\"}")) >= 0)
	    sts = pmdaAddNotes(sets, "{\"calibrated\":\"2026-11-01\"}");
    }
    if (sts < 0)
	pmNotifyErr(LOG_ERR, "labels: %s", pmErrStr(sts));
    return pmdaLabel(ident, type, sets, ext);
}

/* Called by pmdaLabel for each instance that the client asked for. */
static int
instance_label(pmInDom domain, unsigned int inst, pmLabelSet **set)
{
    (void)domain;
    return pmdaAddLabels(set, "{\"level\":%d,\"heated\":%s}", inst == 0 ? 0 : -1, inst == 0 ? "true" : "false");
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "labels.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.seven.label = label;
    pmdaSetLabelCallBack(&dispatch, instance_label);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, indoms, 1, metrics, sizeof(metrics) / sizeof(metrics[0]));
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
