/*
 * pmdaLabel with callbacks that return more labels than there are, store sets of their own, or fill the slot and fail; with a
 * profile that selects nothing; and with arguments that the C library follows into nowhere. L-1 L-2 L-3 L-4 L-12
 */
/* c-library: not run, it reads and writes beyond arrays and frees them twice */
#include "label_fixture.h"

static pmdaInstid	table[] = { { 3, "three" }, { 1, "one" } };
static pmdaIndom	indoms[] = { { 0, 2, table } };
static pmdaMetric	metrics[] = { { NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } };
static int		mode;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = inst;
    return 1;
}

static int
labels(pmInDom indom, unsigned int inst, pmLabelSet **set)
{
    pmLabelSet *own = NULL;

    (void)indom;
    switch (mode) {
    case 0:	/* no labels, yet some are announced */
	return 2;
    case 1:	/* one label, five announced */
	pmdaAddLabels(set, "{\"a\":%u}", inst);
	return 5;
    case 2:	/* a set of its own */
	pmdaAddLabels(&own, "{\"b\":1,\"a\":%u}", inst);
	*set = own;
	return 2;
    case 3:	/* a set of its own, nested, after filling the slot */
	pmdaAddLabels(set, "{\"lost\":%u}", inst);
	pmdaAddLabels(&own, "{\"n\":{\"x\":1},\"a\":%u}", inst);
	*set = own;
	return 2;
    case 4:	/* fills the slot and fails, or says 0 */
	pmdaAddLabels(set, "{\"a\":1}");
	return inst == 3 ? PM_ERR_AGAIN : 0;
    case 5:	/* fewer announced than there are */
	pmdaAddLabels(set, "{\"a\":1,\"b\":2,\"c\":3}");
	return 2;
    case 6:	/* nothing at all */
	*set = NULL;
	return 0;
    }
    return 0;
}

static void
instances(pmInDom indom, pmdaExt *ext)
{
    pmLabelSet *sets = NULL;
    int i, status = pmdaLabel((int)indom, PM_LABEL_INSTANCES, &sets, ext);

    printf("mode %d indom %s: %d, %s\n", mode, pmInDomStr(indom), status, sets ? "sets" : "no sets");
    for (i = 0; i < status; i++)
	label_dump(sets + i);
    if (sets != NULL)
	pmFreeLabelSets(sets, status);
    fflush(stdout);
}

int
main(void)
{
    pmdaInterface dispatch;
    pmInDomProfile none;
    pmProfile profile = { PM_PROFILE_INCLUDE, 1, &none };
    pmLabelSet *set = NULL;
    pmdaExt *ext;

    pmSetProgname("label_slots");
    memset(&dispatch, 0, sizeof(dispatch));
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", 250, "log", NULL);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetLabelCallBack(&dispatch, labels);
    pmdaInit(&dispatch, indoms, 1, metrics, 1);
    ext = dispatch.version.any.ext;

    for (mode = 0; mode < 7; mode++) {
	instances(indoms[0].it_indom, ext);
	if (mode != 4)
	    instances(PM_INDOM_NULL, ext);
    }

    mode = 5;
    memset(&none, 0, sizeof(none));
    none.indom = indoms[0].it_indom;
    none.state = PM_PROFILE_EXCLUDE;
    pmdaProfile(&profile, ext);
    instances(indoms[0].it_indom, ext);

    printf("NULL arguments: %d", pmdaLabel(0, PM_LABEL_DOMAIN, NULL, ext));
    printf(" %d", pmdaLabel(0, PM_LABEL_DOMAIN, &set, NULL));
    printf(" %d\n", pmdaLabel(0, PM_LABEL_INSTANCES, NULL, ext));
    ext->e_name = NULL;
    printf("no name: %d\n", pmdaLabel(0, PM_LABEL_DOMAIN, &set, ext));
    pmSetDebug("labels");
    printf("cluster of PM_ID_NULL: %d\n", pmdaLabel((int)PM_ID_NULL, PM_LABEL_CLUSTER, &set, ext));
    return 0;
}
