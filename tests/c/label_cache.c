/*
 * Labels of the instances of a cache: active ones in ascending order, instances that appear and vanish during the walk,
 * a profile, a walk of the agent's own afterwards. LABEL-14 LABEL-15 LABEL-16 LABEL-19 L-15
 */
#include "label_fixture.h"

static pmdaInstid	table[] = { { 3, "three" } };
static pmdaIndom	indoms[] = { { 0, 1, table } };
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
    char *name = NULL;
    int status = pmdaCacheLookup(indom, (int)inst, &name, NULL);

    printf("callback inst %d state %d name %s\n", (int)inst, status, name);
    if (mode == 1 && inst == 1)
	pmdaCacheStore(indom, PMDA_CACHE_ADD, "late", NULL);
    if (mode == 2 && inst == 0)
	pmdaCacheStore(indom, PMDA_CACHE_HIDE, "two", NULL);
    if (mode == 3) {
	char more[16];

	if (inst < 20) {
	    snprintf(more, sizeof(more), "more%u", inst);
	    pmdaCacheStore(indom, PMDA_CACHE_ADD, more, NULL);
	}
    }
    return pmdaAddLabels(set, "{\"name\":\"%s\"}", name);
}

static void
instances(pmInDom indom, pmdaExt *ext)
{
    pmLabelSet *sets = NULL;
    int i, status = pmdaLabel((int)indom, PM_LABEL_INSTANCES, &sets, ext);

    printf("mode %d: %d\n", mode, status);
    for (i = 0; i < status; i++)
	label_dump(sets + i);
    if (sets != NULL)
	pmFreeLabelSets(sets, status);
    fflush(stdout);
}

int
main(void)
{
    pmInDomProfile chosen;
    pmProfile profile = { PM_PROFILE_INCLUDE, 1, &chosen };
    pmInDom cached = pmInDom_build(250, 9);
    int selected[] = { 1, 2, 77 };
    pmdaInterface dispatch;
    pmdaExt *ext;
    int inst;

    pmSetProgname("label_cache");
    memset(&dispatch, 0, sizeof(dispatch));
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", 250, "log", NULL);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetLabelCallBack(&dispatch, labels);
    pmdaInit(&dispatch, indoms, 1, metrics, 1);
    ext = dispatch.version.any.ext;

    pmdaCacheStore(cached, PMDA_CACHE_ADD, "zero", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "two", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "three", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_HIDE, "three", NULL);
    for (mode = 0; mode < 4; mode++)
	instances(cached, ext);

    chosen.indom = cached;
    chosen.state = PM_PROFILE_EXCLUDE;
    chosen.instances_len = 3;
    chosen.instances = selected;
    pmdaProfile(&profile, ext);
    mode = 0;
    instances(cached, ext);
    instances(indoms[0].it_indom, ext);

    __pmdaStartInst(indoms[0].it_indom, ext);
    while (__pmdaNextInst(&inst, ext))
	printf("next %d\n", inst);
    pmdaCacheOp(cached, PMDA_CACHE_INACTIVE);
    instances(cached, ext);
    return 0;
}
