/*
 * Label callbacks that keep what they store: a set that they store instead of filling the slot, with labels and without; arrays
 * that they put into the slot and return 0 for. All of it is theirs afterwards, and the same the next time. L-4 LABEL-15
 */
#include "label_fixture.h"

static pmdaInstid table[] = { { 3, "three" }, { 1, "one" } };
static pmdaIndom indoms[] = { { 0, 2, table } };
static pmdaMetric metrics[] = { { NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } };
static pmLabelSet *kept;
static int mode;

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
    (void)indom;
    (void)inst;
    switch (mode) {
    case 0:	/* a set of its own, with its labels */
	*set = kept;
	return kept->nlabels;
    case 1:	/* the same, and no labels */
	*set = kept;
	return 0;
    case 2:	/* the same, and an error */
	*set = kept;
	return PM_ERR_AGAIN;
    default:	/* its own array in the slot, and no labels */
	(*set)->nlabels = kept->nlabels;
	(*set)->labels = kept->labels;
	return 0;
    }
}

int
main(void)
{
    pmdaInterface dispatch;
    pmLabelSet *sets;
    int i, round, status;

    pmSetProgname("label_kept");
    memset(&dispatch, 0, sizeof(dispatch));
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", 250, "log", NULL);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetLabelCallBack(&dispatch, labels);
    pmdaInit(&dispatch, indoms, 1, metrics, 1);
    pmdaAddLabels(&kept, "{\"a\":1,\"n\":{\"x\":2}}");

    for (round = 0; round < 2; round++) {
	for (mode = 0; mode < 4; mode++) {
	    sets = NULL;
	    status = pmdaLabel((int)indoms[0].it_indom, PM_LABEL_INSTANCES, &sets, dispatch.version.any.ext);
	    printf("mode %d: %d, %s\n", mode, status, sets ? "sets" : "no sets");
	    for (i = 0; i < status; i++)
		printf("  %u: %d labels, %s\n", sets[i].inst, sets[i].nlabels, sets[i].json ? sets[i].json : "no text");
	    pmFreeLabelSets(sets, status);
	    printf("  kept: %u: %d labels, %s, flags of the first 0x%x\n", kept->inst, kept->nlabels, kept->json,
		kept->labels[0].flags);
	    fflush(stdout);
	}
    }
    pmFreeLabelSets(kept, 1);
    return 0;
}
