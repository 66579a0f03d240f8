/*
 * A process with threads that use the library forks, again and again, from a thread of its own and from a callback.  Each
 * child uses what no other thread was changing: a cache of its own and one that nobody changes any more, fetches, labels, help
 * and saves; and ends within seconds.
 *
 * forks COUNT
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include "../c/help_fixture.h"
#include "../c/generation.h"
#include "expect.h"

#define DOMAIN	247
#define THREADS	7
#define QUIET	pmInDom_build(DOMAIN, 2)
#define LIMIT	20	/* seconds for a child */

static atomic_int stop, children;
static int queue, help, in_callback;
static __thread int self;
static pmdaInterface table;	/* of the thread that forks */
static pmdaInterface others[THREADS];
static pmdaMetric metric = { NULL, { 0, PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } };
static pmdaMetric copies[THREADS];

extern void __pmFreeInResult(pmInResult *);	/* not in the installed headers */

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    (void)data;
    (void)size;
    (void)cookie;
    return pmdaEventAddRecord(array, when, PM_EVENT_FLAG_POINT) == 0;
}

/* Calls of each family, or those on data that no other thread changes. */
static void
use(pmdaExt *ext, pmInDom indom, int save, int is_child)
{
    struct timeval now = { 1, 2 };
    pmLabelSet *labels = NULL;
    pmAtomValue atom = { .cp = "text" };
    pmID pmid = metric.m_desc.pmid;
    pmdaResult *result;
    pmInResult *answer;
    char name[32];
    int i, id, inst, array;

    for (i = 0; i < 20; i++) {
	snprintf(name, sizeof(name), "name%d", i);
	id = pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
	expect(id >= 0, "store");
	expect(pmdaCacheLookupName(indom, name, &inst, NULL) == PMDA_CACHE_ACTIVE && inst == id, "lookup");
    }
    /* What all threads read. */
    for (i = 0; i < 200; i++)
	expect(pmdaCacheLookup(QUIET, i % 20, NULL, NULL) == PMDA_CACHE_ACTIVE, "lookup beside others");
    expect(pmdaFetch(1, &pmid, &result, ext) == 0 && result->vset[0]->numval == 1, "fetch");
    /* Not by e_resultCallBack, which is libpcp's: another thread may have held its lock when this process was forked. */
    free(result->vset[0]);
    expect(pmdaInstance(indom, PM_IN_NULL, NULL, &answer, ext) == 0 && answer->numinst == 20, "instance");
    __pmFreeInResult(answer);
    if (!is_child) {
	array = pmdaEventNewArray();
	expect(pmdaEventAddRecord(array, &now, 0) == 0 && pmdaEventAddParam(array, 4, PM_TYPE_STRING, &atom) == 0, "record");
	expect(pmdaEventReleaseArray(array) == 0, "release");
	expect(pmdaEventQueueAppend(queue, name, sizeof(name), &now) == 0, "append");
	expect(pmdaEventQueueRecords(queue, &atom, self, decode, NULL) >= 0, "records");
    }
    expect(pmdaGetHelp(help, PMID(9, 0, 0), PM_TEXT_ONELINE) != NULL, "help");
    expect(pmdaAddLabels(&labels, "{\"a\":%d}", 1) == 1, "labels");
    pmFreeLabelSets(labels, 1);
    if (save)
	expect(pmdaCacheOp(indom, PMDA_CACHE_SAVE) >= 0, "save");
}

static void
one_fork(void)
{
    int status, waited;
    pid_t child = fork();

    expect(child >= 0, "fork");
    if (child == 0) {
	alarm(LIMIT);
	in_callback = 0;
	use(table.version.any.ext, pmInDom_build(DOMAIN, 1), 1, 1);
	_exit(0);
    }
    waited = waitpid(child, &status, 0) == child;
    if (!waited || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
	fprintf(stderr, "child %d: %s\n", (int)children, WIFSIGNALED(status) ? "did not end in time" : "failed");
	fail("a child");
    }
    children++;
}

static int
value(pmdaMetric *of, unsigned int inst, pmAtomValue *atom)
{
    (void)of;
    (void)inst;
    atom->ul = 1;
    if (self == THREADS && in_callback) {
	in_callback = 0;
	one_fork();
    }
    return PMDA_FETCH_STATIC;
}

static void
set_up(pmdaInterface *dispatch, pmdaMetric *list)
{
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "forks", NULL);
    dispatch->domain = DOMAIN;
    pmdaSetFetchCallBack(dispatch, value);
    *list = metric;
    pmdaInit(dispatch, NULL, 0, list, 1);
    expect(dispatch->status == 0, "init");
}

static void *
work(void *argument)
{
    int round;

    self = (int)(intptr_t)argument;
    pmdaEventNewClient(self);
    pmdaEventSetAccess(self, queue, 1);
    for (round = 0; !stop; round++)
	use(others[self].version.any.ext, pmInDom_build(DOMAIN, 10 + self), round % 16 == self, 0);
    return NULL;
}

int
main(int argc, char **argv)
{
    static pmdaMetric own;
    int i, count = argc > 1 ? atoi(argv[1]) : 20;
    pthread_t threads[THREADS];
    pmdaResult *result;
    pmID pmid;

    metric.m_desc.pmid = pmid = pmID_build(DOMAIN, 0, 0);
    help_write_good("good");
    help = pmdaOpenHelp("good");
    queue = pmdaEventNewQueue("queue", 1 << 16);
    for (i = 0; i < 20; i++) {
	char name[32];

	snprintf(name, sizeof(name), "name%d", i);
	expect(pmdaCacheStore(QUIET, PMDA_CACHE_ADD, name, NULL) == i, "store");
    }
    set_up(&table, &own);
    /* All caches are there before the first fork. */
    use(table.version.any.ext, pmInDom_build(DOMAIN, 1), 1, 1);
    for (i = 0; i < THREADS; i++)
	pmdaCacheStore(pmInDom_build(DOMAIN, 10 + i), PMDA_CACHE_ADD, "name0", NULL);
    self = THREADS;
    pmdaEventNewClient(self);
    pmdaEventSetAccess(self, queue, 1);
    for (i = 0; i < THREADS; i++) {
	set_up(&others[i], &copies[i]);
	if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
	    return 1;
    }
    for (i = 0; i < count; i++) {
	if (i % 2 == 0)
	    one_fork();
	else {
	    in_callback = 1;
	    expect(pmdaFetch(1, &pmid, &result, table.version.any.ext) == 0, "fetch");
	    table.version.any.ext->e_resultCallBack(result);
	}
    }
    stop = 1;
    for (i = 0; i < THREADS; i++)
	pthread_join(threads[i], NULL);
    help_remove("good");
    printf("%d forks beside %d threads\n", (int)children, THREADS);
    return 0;
}
