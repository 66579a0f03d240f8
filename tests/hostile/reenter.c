/*
 * Callbacks that use every family of functions themselves, that leave by longjmp, and that fork: afterwards everything
 * works as before.
 */

#include <setjmp.h>
#include <sys/wait.h>
#include "../c/help_fixture.h"
#include "../c/generation.h"
#include "../c/pmns.h"
#include "expect.h"

#define DOMAIN	254
#define ANY	-1	/* a walk inside of a walk of the same agent shortens the outer one (F-10) */

static pmdaInterface table;
static pmdaIndom indoms[1];
static pmdaMetric metrics[1] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static pmInDom indom, other;
static pmdaNameSpace *names;
static int queue, help, depth, mode;
static long visits;
static jmp_buf away;

extern void __pmFreeInResult(pmInResult *);	/* not in the installed headers */
static void fetch(int expected);

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie);

static int
instance_label(pmInDom domain, unsigned int inst, pmLabelSet **set);

static void
purged(void *private);

/* Uses every family, from wherever it is called. */
static void
everything(void)
{
    char **list = NULL, *text, name[32];
    int *status = NULL, inst, array, number;
    pmInResult *answer;
    pmLabelSet *labels = NULL;
    pmAtomValue value;
    pmDesc desc;
    pmID pmid;
    struct timeval now = { 1, 2 };
    pmdaExt *ext = table.version.any.ext;

    visits++;
    if (++depth <= 2) {
	/* Caches, this one and another. */
	snprintf(name, sizeof(name), "visit%ld", visits % 5);
	number = pmdaCacheStore(other, PMDA_CACHE_ADD, name, name);
	if (number < 0 || pmdaCacheLookup(other, number, &text, NULL) != PMDA_CACHE_ACTIVE || strcmp(text, name) != 0)
	    fail("cache");
	pmdaCacheOp(other, PMDA_CACHE_REORG);
	pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
	pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT);
	pmdaCacheOp(other, PMDA_CACHE_SAVE);
	pmdaCachePurgeCallback(other, -10, purged);
	/* Fetch, instances, profiles, descriptions, help. */
	fetch(ANY);
	if (pmdaInstance(indom, PM_IN_NULL, NULL, &answer, ext) != 0 || answer->numinst != 3)
	    fail("instance");
	__pmFreeInResult(answer);
	__pmdaStartInst(indom, ext);
	for (number = 0; __pmdaNextInst(&inst, ext); number++)
	    ;
	if (number != 3 || pmdaDesc(metrics[0].m_desc.pmid, &desc, ext) != 0)
	    fail("walk");
	if (pmdaGetHelp(help, PMID(9, 0, 0), PM_TEXT_ONELINE) == NULL)
	    fail("help");
	/* Trees. */
	if (pmdaTreePMID(names, "a.b", &pmid) != 0 || pmdaTreeName(names, pmid, &list) != 1)
	    fail("tree");
	free(list);
	if (pmdaTreeChildren(names, "a", 0, &list, &status) != 1)
	    fail("children");
	free(list);
	free(status);
	/* Labels. */
	if (pmdaAddLabels(&labels, "{\"depth\":%d}", depth) != 1)
	    fail("labels");
	pmFreeLabelSets(labels, 1);
	labels = NULL;
	if ((number = pmdaLabel(indom, PM_LABEL_INSTANCES, &labels, ext)) < 0)
	    fail("instance labels");
	pmFreeLabelSets(labels, number);
	/* Events and queues. */
	array = pmdaEventNewArray();
	if (pmdaEventAddRecord(array, &now, PM_EVENT_FLAG_POINT) != 0 || pmdaEventReleaseArray(array) != 0)
	    fail("event array");
	if (pmdaEventQueueAppend(queue, "event", 5, &now) != 0 || pmdaEventQueueRecords(queue, &value, 1, decode, NULL) < 0)
	    fail("queue");
	/* Settings. */
	pmdaSetFlags(&table, PMDA_EXT_LABEL_CHANGE);
	pmdaRehash(ext, metrics, 1);
    }
    depth--;
}

static int
value_of(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    pid_t child;
    int status;

    (void)metric;
    switch (mode) {
    case 0:
	everything();
	break;
    case 1:
	if (inst == 1)
	    longjmp(away, 1);
	break;
    case 2:	/* a helper that ends by exit() */
	child = fork();
	if (child == 0)
	    exit(17);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 17)
	    fail("the child");
	break;
    case 3:	/* a child that goes on with the library */
	child = fork();
	if (child == 0) {
	    mode = 4;
	    fetch(3);
	    exit(18);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 18)
	    fail("the child's fetch");
	break;
    }
    value->ul = inst;
    return PMDA_FETCH_STATIC;
}

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    (void)cookie;
    if (size != 5 || memcmp(data, "event", 5) != 0)
	fail("event");
    if (mode == 5)
	longjmp(away, 1);
    everything();
    return pmdaEventAddRecord(array, when, 0) < 0 ? -1 : 1;
}

static int
instance_label(pmInDom domain, unsigned int inst, pmLabelSet **set)
{
    (void)domain;
    if (mode == 6)
	longjmp(away, 1);
    everything();
    return pmdaAddLabels(set, "{\"inst\":%u}", inst);
}

static void
purged(void *private)
{
    (void)private;
    if (mode == 7)
	longjmp(away, 1);
    everything();
}

static void
fetch(int expected)
{
    pmID pmid = metrics[0].m_desc.pmid;
    pmdaResult *result;

    if (table.version.any.fetch(1, &pmid, &result, table.version.any.ext) != 0)
	fail("fetch");
    if (result->vset[0]->numval != expected && expected != ANY)
	fail("values");
    table.version.any.ext->e_resultCallBack(result);
}

/* Leaves the library by longjmp out of what `mode` says; then everything must still work. */
static void
leave(int from)
{
    pmLabelSet *labels = NULL;
    pmAtomValue value;
    pmID pmid = metrics[0].m_desc.pmid;
    pmdaResult *result;
    struct timeval now = { 1, 2 };

    mode = from;
    if (setjmp(away) == 0) {
	switch (from) {
	case 1:
	    table.version.any.fetch(1, &pmid, &result, table.version.any.ext);
	    break;
	case 5:
	    pmdaEventQueueAppend(queue, "event", 5, &now);
	    pmdaEventQueueRecords(queue, &value, 1, decode, NULL);
	    break;
	case 6:
	    pmdaLabel(indom, PM_LABEL_INSTANCES, &labels, table.version.any.ext);
	    break;
	case 7:
	    pmdaCacheStore(other, PMDA_CACHE_ADD, "purged", "private");
	    pmdaCacheOp(other, PMDA_CACHE_SAVE);	/* gives it a time */
	    pmdaCachePurgeCallback(other, -10, purged);
	    break;
	}
	fail("no longjmp");
    }
    mode = 0;
    depth = 0;
    everything();
}

int
main(void)
{
    static const int exits[] = { 1, 5, 6, 7 };
    int i, round;

    alarm(60);	/* a deadlock ends here */
    pmdaDSO(&table, PMDA_INTERFACE_7, "reenter", NULL);
    table.domain = DOMAIN;
    indoms[0].it_indom = 1;
    pmdaSetFetchCallBack(&table, value_of);
    pmdaSetLabelCallBack(&table, instance_label);
    pmdaInit(&table, indoms, 1, metrics, 1);
    indom = metrics[0].m_desc.indom;
    other = pmInDom_build(DOMAIN, 2);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, "zero", NULL);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, "two", NULL);
    pmdaTreeCreate(&names);
    pmdaTreeInsert(names, ID(DOMAIN, 0, 0), "a.b");
    pmdaTreeRebuildHash(names, 1);
    queue = pmdaEventNewQueue("queue", 10000);
    pmdaEventNewClient(1);
    pmdaEventSetAccess(1, queue, 1);
    help_write_good("good");
    help = pmdaOpenHelp("good");

    everything();
    fetch(ANY);
    for (mode = 2; mode <= 3; mode++)
	fetch(3);
    mode = 0;
    for (round = 0; round < 10; round++)
	for (i = 0; i < 4; i++)
	    leave(exits[i]);
    mode = 0;
    everything();
    help_remove("good");
    printf("%ld visits\n", visits);
    return 0;
}
