/*
 * A walk over a cached domain has read one entry ahead: FETCH-34, INST-41, INST-44, CACHE-35. Callbacks add, hide, cull and replace
 * instances at the first, a middle and the last one, each twice, in fetches, in labels and between steps of __pmdaNextInst; then
 * lists of instances are asked for.
 */
#include "fetch.h"
#include "label_fixture.h"

enum { FETCH, LABELS, NEXT, WALKS };
enum { ADD, ADD_THREE, REPLACE, HIDE_NEXT, HIDE_LAST, CULL_NEXT, SHOW, KEYED, BEFORE, GROW, CHANGES };
enum { FIRST, SECOND, LAST, EACH, PLACES };

static const char *const ways[] = { "fetch", "labels", "next", "walk" };
static const char *const changes[] = {
    "adds one", "adds three", "replaces all", "hides the next", "hides the last", "culls the next", "shows one", "adds one with a key",
    "adds one in front", "adds 70",
};
static const char *const places[] = { "first", "second", "last", "each" };

static pmdaInterface dispatch;
static pmdaExt *ext;
static pmdaMetric metrics[1] = { { NULL, { 0, PM_TYPE_32, 1, PM_SEM_INSTANT, { 0 } } } };
static pmInDom indom;
static int change, place, initial, calls, fresh;

static void
store(int flags, const char *format, int number)
{
    char name[20];

    snprintf(name, sizeof(name), format, number);
    pmdaCacheStore(indom, flags, name, NULL);
}

/* Named by its key, so with an identifier anywhere. */
static void
store_key(int number)
{
    char name[20];

    snprintf(name, sizeof(name), "key%d", number);
    pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, sizeof(number), &number, NULL);
}

static void
disturb(int inst)
{
    int i;

    calls++;
    if ((place == FIRST && calls != 1) || (place == SECOND && calls != 2) || (place == LAST && calls != initial))
	return;
    /* What is culled is not reclaimed here: the C library would go on at freed memory (DEF-4). */
    if (calls > (change == CULL_NEXT ? 5 : 12))
	return;
    switch (change) {
    case ADD:
	store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    case ADD_THREE:
	for (i = 0; i < 3; i++)
	    store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    case REPLACE:
	pmdaCacheOp(indom, PMDA_CACHE_INACTIVE);
	for (i = 0; i < 3; i++)
	    store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    case HIDE_NEXT:
	store(PMDA_CACHE_HIDE, "i%d", inst + 1);
	break;
    case HIDE_LAST:
	store(PMDA_CACHE_HIDE, "i%d", initial - 1);
	break;
    case CULL_NEXT:
	store(PMDA_CACHE_CULL, "i%d", inst + 1);
	store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    case SHOW:
	store(PMDA_CACHE_ADD, "hidden%d", 0);
	store(PMDA_CACHE_ADD, "last%d", 0);
	break;
    case KEYED:
	for (i = 0; i < 4; i++)
	    store_key(fresh++);
	break;
    case BEFORE:
	pmdaCacheOp(indom, PMDA_CACHE_REUSE);
	store(PMDA_CACHE_ADD, "new%d", fresh++);
	store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    case GROW:
	for (i = 0; i < 70; i++)
	    store(PMDA_CACHE_ADD, "new%d", fresh++);
	break;
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = 1000 + (int)inst;
    disturb((int)inst);
    return PMDA_FETCH_STATIC;
}

static int
label(pmInDom domain, unsigned int inst, pmLabelSet **set)
{
    (void)domain;
    disturb((int)inst);
    return pmdaAddLabels(set, "{\"inst\":%u}", inst);
}

static void
walk(int way)
{
    pmID pmid = metrics[0].m_desc.pmid;
    pmLabelSet *sets = NULL;
    int i, inst, sts;

    calls = 0;
    initial = pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE);
    printf("  %s:", ways[way]);
    switch (way) {
    case FETCH:
	fetch(&dispatch, 1, &pmid);
	break;
    case LABELS:
	sts = pmdaLabel(indom, PM_LABEL_INSTANCES, &sets, ext);
	printf(" %d:", sts);
	for (i = 0; i < sts; i++)
	    printf(" %d %s", (int)sets[i].inst, sets[i].json);
	if (sets)
	    pmFreeLabelSets(sets, sts);
	break;
    case NEXT:
	__pmdaStartInst(indom, ext);
	while (__pmdaNextInst(&inst, ext)) {
	    printf(" %d@%d", inst, ext->e_ordinal);
	    disturb(inst);
	}
	printf(" end %d", __pmdaNextInst(&inst, ext));
	store(PMDA_CACHE_ADD, "behind%d", 0);
	printf(" %d", __pmdaNextInst(&inst, ext));
	break;
    case WALKS:
	pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
	while ((inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) >= 0) {
	    printf(" %d", inst);
	    disturb(inst);
	}
	break;
    }
    printf("\n");
}

/* All instances, as pmdaInstance lists them. */
static void
list(void)
{
    pmInResult *all;
    int i;

    printf("  list:");
    if (pmdaInstance(indom, PM_IN_NULL, NULL, &all, ext) < 0)
	return;
    for (i = 0; i < all->numinst; i++) {
	printf(" %d %s", all->instlist[i], all->namelist[i]);
	free(all->namelist[i]);
    }
    printf("\n");
    free(all->instlist);
    free(all->namelist);
    free(all);
}

/* A new domain, with some instances and hidden ones between and behind them. */
static void
fill(int count)
{
    static int serial = 10;
    int i;

    indom = metrics[0].m_desc.indom = pmInDom_build(DOMAIN, serial++);
    fresh = 0;
    for (i = 0; i < count; i++) {
	store(PMDA_CACHE_ADD, "i%d", i);
	if (change == SHOW && i == 0) {
	    store(PMDA_CACHE_ADD, "hidden%d", 0);
	    store(PMDA_CACHE_HIDE, "hidden%d", 0);
	}
    }
    if (change == SHOW) {
	store(PMDA_CACHE_ADD, "last%d", 0);
	store(PMDA_CACHE_HIDE, "last%d", 0);
    }
    if (change == BEFORE) {
	store(PMDA_CACHE_CULL, "i%d", 1);
	store(PMDA_CACHE_CULL, "i%d", 2);
	pmdaCacheOp(indom, PMDA_CACHE_REORG);
    }
}

int
main(void)
{
    static const int counts[] = { 1, 2, 5, 40 };
    static int listed[] = { 0, 2, 4, 5, 6, 7, 8, 41, 43, 1771, 100000 };
    static pmInDomProfile element;
    static pmProfile profile = { PM_PROFILE_EXCLUDE, 1, &element };
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    int n, way, kind;

    agent(&dispatch, 7, value, indoms, 1, metrics, 1);
    pmdaSetLabelCallBack(&dispatch, label);
    ext = CALL(dispatch).ext;
    for (kind = 0; kind < 3; kind++) {
	for (change = 0; change < CHANGES; change++) {
	    for (place = 0; place < PLACES; place++) {
		for (n = 0; n < LENGTH(counts); n++) {
		    if (change == BEFORE && counts[n] < 5)
			continue;
		    for (way = 0; way <= WALKS; way++) {
			if (kind > 0 && way == WALKS)
			    continue;
			/* Labels of no instance at all are another matter (L-2). */
			if (kind > 0 && way == LABELS && (counts[n] < 5 || change == REPLACE))
			    continue;
			printf("%s at the %s of %d, profile %d\n", changes[change], places[place], counts[n], kind);
			fill(counts[n]);
			element.indom = indom;
			element.state = kind == 1 ? PM_PROFILE_EXCLUDE : PM_PROFILE_INCLUDE;
			element.instances = listed;
			element.instances_len = LENGTH(listed);
			ext->e_prof = kind == 0 ? NULL : &profile;
			walk(way);
			walk(way);
			list();
		    }
		}
	    }
	}
    }
    return 0;
}
