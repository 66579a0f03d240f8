/*
 * Walks end whatever a callback stores: each is bounded by the highest id at its start, and gives each instance at most once
 * (INST-41, INST-43, INST-44). The C library follows what is stored behind its cursor for as long as something is.
 */
#include "../label_fixture.h"
#include "../generation.h"

#define D pmInDom_build(250, 1)

static pmdaInterface dispatch;
static pmdaExt *ext;
static int how, calls, fresh;

/* What replace_indom of the bindings does: all inactive, then what there is now. */
static void
refresh(int keep)
{
    char name[20];
    int i;

    if (calls > 3000)
	return;		/* so that this ends on the C library as well */
    pmdaCacheOp(D, PMDA_CACHE_INACTIVE);
    for (i = 0; i < keep; i++) {
	snprintf(name, sizeof(name), "i%d", i);
	pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
    }
    for (i = 0; i < 3; i++) {
	snprintf(name, sizeof(name), "fresh%d", fresh++);
	pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
    }
}

static void
disturb(void)
{
    char name[20];
    int i;

    calls++;
    switch (how) {
    case 0:	/* one more each time */
	if (calls < 3000) {
	    snprintf(name, sizeof(name), "more%d", fresh++);
	    pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
	}
	break;
    case 1:	/* all new */
	refresh(0);
	break;
    case 2:	/* the old ones stay */
	refresh(4);
	break;
    case 3:	/* gone, and made again with the ids that their keys give */
	if (calls > 3000)
	    break;
	pmdaCacheOp(D, PMDA_CACHE_CULL);
	for (i = 0; i < 5; i++) {
	    snprintf(name, sizeof(name), "k%d", i);
	    pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 0, NULL, NULL);
	}
	break;
    case 4:	/* between ids that are far apart: no more than were listed, or 1,024 */
	refresh(0);
	pmdaCacheStoreKey(D, PMDA_CACHE_ADD, "k0", 0, NULL, NULL);
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

    calls = 0;
    pmdaCacheOp(D, PMDA_CACHE_CULL);
    for (i = 0; i < 5; i++) {
	snprintf(name, sizeof(name), "%c%d", how == 3 ? 'k' : 'i', i);
	if (how == 3)
	    pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 0, NULL, NULL);
	else
	    pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
    }
    if (how == 4)
	pmdaCacheStoreKey(D, PMDA_CACHE_ADD, "k0", 0, NULL, NULL);
}

static void
show(const char *what, int number, const int *insts)
{
    int i;

    printf("  %s: %d\n   ", what, number);
    for (i = 0; i < number && i < 6; i++)
	printf(" %d", insts[i]);
    printf("\n");
}

static void
fetch(void)
{
    static int insts[8192];
    pmID pmid = pmID_build(250, 0, 0);
    pmdaResult *result;
    int i, sts;

    sts = dispatch.version.any.fetch(1, &pmid, &result, ext);
    for (i = 0; sts >= 0 && i < result->vset[0]->numval && i < 8192; i++)
	insts[i] = result->vset[0]->vlist[i].inst;
    show("fetch", sts < 0 ? sts : result->vset[0]->numval, insts);
}

int
main(void)
{
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    static pmdaMetric metrics[] = { { NULL, { 0, PM_TYPE_32, 1, PM_SEM_INSTANT, { 0 } } } };
    static int insts[8192];
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
    for (how = 0; how < 5; how++) {
	printf("case %d\n", how);
	fill();
	fetch();
	fill();
	sets = NULL;
	sts = pmdaLabel(D, PM_LABEL_INSTANCES, &sets, ext);
	for (i = 0; i < sts && i < 8192; i++)
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
