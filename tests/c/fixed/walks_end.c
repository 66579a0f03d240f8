/*
 * Walks end whatever a callback stores: the domain may grow at 1,024 steps, and at one more for each entry that was listed at the
 * start (INST-43, INST-44). No instance is returned twice.
 * c-library: not run, it goes on for as long as an entry is stored after the one that it has noted
 */
#include "../label_fixture.h"
#include "../generation.h"

#define D pmInDom_build(250, 1)

static pmdaInterface dispatch;
static pmdaExt *ext;
static int how, fresh;

static void
disturb(void)
{
    char name[20];
    int i;

    switch (how) {
    case 0:	/* one more each time */
	snprintf(name, sizeof(name), "more%d", fresh++);
	pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
	break;
    case 1:	/* two more each time, the first of which is hidden at once */
	for (i = 0; i < 2; i++) {
	    snprintf(name, sizeof(name), "more%d", fresh++);
	    pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
	    if (i == 0)
		pmdaCacheStore(D, PMDA_CACHE_HIDE, name, NULL);
	}
	break;
    case 3:	/* one more each time, and a walk over all of them */
	snprintf(name, sizeof(name), "more%d", fresh++);
	pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
	pmdaCacheOp(D, PMDA_CACHE_WALK_REWIND);
	while (pmdaCacheOp(D, PMDA_CACHE_WALK_NEXT) >= 0)
	    ;
	break;
    case 2:	/* gone, and made again with the ids that their keys give */
	pmdaCacheOp(D, PMDA_CACHE_CULL);
	for (i = 0; i < 5; i++) {
	    snprintf(name, sizeof(name), "k%d", i);
	    pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 0, NULL, NULL);
	}
	break;
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = (int)inst;
    disturb();
    return PMDA_FETCH_STATIC;
}

static int
labels(pmInDom indom, unsigned int inst, pmLabelSet **set)
{
    (void)indom;
    disturb();
    return pmdaAddLabels(set, "{\"inst\":%u}", inst);
}

static void
fill(void)
{
    char name[20];
    int i;

    pmdaCacheOp(D, PMDA_CACHE_CULL);
    for (i = 0; i < 5; i++) {
	snprintf(name, sizeof(name), "%c%d", how == 2 ? 'k' : 'i', i);
	if (how == 2)
	    pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 0, NULL, NULL);
	else
	    pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
    }
}

static void
show(const char *what, int number, const int *insts)
{
    int i;

    printf("  %s: %d\n   ", what, number);
    for (i = 0; i < number && i < 6; i++)
	printf(" %d", insts[i]);
    printf("\n");
    for (i = 1; i < number; i++) {
	if (insts[i] <= insts[i - 1])
	    printf("    %d behind %d\n", insts[i], insts[i - 1]);
    }
}

static void
fetch(void)
{
    static int insts[200000];
    pmID pmid = pmID_build(250, 0, 0);
    pmdaResult *result;
    int i, sts;

    sts = dispatch.version.any.fetch(1, &pmid, &result, ext);
    for (i = 0; sts >= 0 && i < result->vset[0]->numval && i < 200000; i++)
	insts[i] = result->vset[0]->vlist[i].inst;
    show("fetch", sts < 0 ? sts : result->vset[0]->numval, insts);
}

int
main(void)
{
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    static pmdaMetric metrics[] = { { NULL, { 0, PM_TYPE_32, 1, PM_SEM_INSTANT, { 0 } } } };
    static int insts[200000];
    pmLabelSet *sets;
    int inst, i, sts;

    pmSetProgname("walks");
    dispatch.domain = 250;
    pmdaDSO(&dispatch, PMDA_INTERFACE_7, "agent", NULL);
    dispatch.version.any.text = pmdaText;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetLabelCallBack(&dispatch, labels);
    pmdaInit(&dispatch, indoms, 1, metrics, 1);
    ext = dispatch.version.any.ext;
    for (how = 0; how < 4; how++) {
	printf("case %d\n", how);
	fill();
	fetch();
	fill();
	sets = NULL;
	sts = pmdaLabel(D, PM_LABEL_INSTANCES, &sets, ext);
	for (i = 0; i < sts && i < 200000; i++)
	    insts[i] = sets[i].inst;
	show("labels", sts, insts);
	if (sts > 0)
	    pmFreeLabelSets(sets, sts);
	fill();
	__pmdaStartInst(D, ext);
	for (i = 0; __pmdaNextInst(&inst, ext); i++) {
	    insts[i] = inst;
	    disturb();
	}
	show("next", i, insts);
	printf("    again %d\n", __pmdaNextInst(&inst, ext));
    }
    return 0;
}
