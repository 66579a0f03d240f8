/*
 * Eight threads use caches, queues, event arrays, help databases and trees of names at the same time: nothing is lost,
 * nothing wrong is found, nobody waits for ever.
 *
 * threads MILLISECONDS
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include "../c/help_fixture.h"
#include "expect.h"

#define THREADS	8
#define SHARED	500	/* instances of each thread in the cache that all of them use */
#define QUIET	32	/* instances in the cache that they mostly read */
#define BEFORE	77	/* no errno of any call */

extern void __pmFreePMNS(pmdaNameSpace *);

static atomic_int stop;
static atomic_long calls;
static pmInDom shared, quiet;
static int queue, help;
static atomic_long produced;
static pthread_mutex_t fetching = PTHREAD_MUTEX_INITIALIZER;

/* Instances of this thread in the cache of all of them: found by name, id and key as they were stored. */
static void
use_shared_cache(int self, int round)
{
    char name[64], *found;
    void *private;
    int i, id, inst, key = self * SHARED;

    for (i = 0; i < SHARED; i += 1 + round % 7) {
	snprintf(name, sizeof(name), "thread%d-%d", self, i);
	key = self * SHARED + i;
	if (i % 2)
	    id = pmdaCacheStore(shared, PMDA_CACHE_ADD, name, (void *)(intptr_t)(key + 1));
	else
	    id = pmdaCacheStoreKey(shared, PMDA_CACHE_ADD, name, sizeof(key), &key, (void *)(intptr_t)(key + 1));
	expect(id >= 0, "store");
	expect(pmdaCacheLookup(shared, id, &found, &private) == PMDA_CACHE_ACTIVE, "lookup by id");
	expect(strcmp(found, name) == 0 && private == (void *)(intptr_t)(key + 1), "another's instance");
	expect(pmdaCacheLookupName(shared, name, &inst, NULL) == PMDA_CACHE_ACTIVE && inst == id, "lookup by name");
	if (i % 2 == 0)
	    expect(pmdaCacheLookupKey(shared, name, sizeof(key), &key, NULL, &inst, NULL) == PMDA_CACHE_ACTIVE && inst == id,
		"lookup by key");
	if (round % 3 == 0)
	    expect(pmdaCacheStore(shared, PMDA_CACHE_HIDE, name, NULL) == id, "hide");
	if (round % 11 == 0)
	    expect(pmdaCacheStore(shared, PMDA_CACHE_CULL, name, NULL) == id, "cull");
	calls += 4;
    }
    expect(pmdaCacheOp(shared, PMDA_CACHE_SIZE_ACTIVE) <= THREADS * SHARED, "size");
    if (round % 5 == 0)
	pmdaCacheOp(shared, PMDA_CACHE_REORG);
    if (round % 50 == 20 + self)
	pmdaCacheOp(shared, PMDA_CACHE_SAVE);
}

/* A cache of this thread's own: a whole life from the first store to the load. */
static void
use_own_cache(int self, int round)
{
    pmInDom own = pmInDom_build(252, 100 + self);
    char name[64];
    int i, count = 0, last = -1, inst;

    pmdaCacheOp(own, PMDA_CACHE_CULL);
    for (i = 0; i < 50; i++) {
	snprintf(name, sizeof(name), "own%d-%d", round, i);
	expect(pmdaCacheStore(own, PMDA_CACHE_ADD, name, NULL) >= 0, "store");
    }
    pmdaCacheOp(own, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(own, PMDA_CACHE_WALK_NEXT)) != -1) {
	expect(inst > last, "walk in ascending order");
	last = inst;
	count++;
    }
    expect(count == 50 && pmdaCacheOp(own, PMDA_CACHE_SIZE_ACTIVE) == 50, "walk");
    if (round % 20 == 19) {
	expect(pmdaCacheOp(own, PMDA_CACHE_SAVE) == 50, "save");
	expect(pmdaCacheOp(own, PMDA_CACHE_LOAD) >= 0, "load");
    }
    calls += 120;
}

/*
 * A cache that all threads read, and one changes now and then: each finds what one change has left. Lookups leave errno as it was, also
 * if they have waited for another thread (CACHE-71).
 */
static void
use_quiet_cache(int self, int round)
{
    char name[64], *found;
    void *private;
    int i, inst;

    errno = BEFORE;
    for (i = 0; i < 200; i++) {
	snprintf(name, sizeof(name), "quiet%d rest", i % QUIET);
	expect(pmdaCacheLookupName(quiet, name, &inst, &private) == PMDA_CACHE_ACTIVE, "quiet name");
	expect((intptr_t)private % QUIET == i % QUIET, "another's quiet instance");
	expect(pmdaCacheLookup(quiet, inst, &found, NULL) == PMDA_CACHE_ACTIVE && strcmp(found, name) == 0, "quiet id");
    }
    expect(errno == BEFORE, "errno after calls that succeed");
    i = round % QUIET;
    snprintf(name, sizeof(name), "quiet%d rest", i);
    if (round % 16 == 2 * self)
	expect(pmdaCacheStore(quiet, PMDA_CACHE_ADD, name, (void *)(intptr_t)(i + QUIET * (1 + round % 9))) >= 0, "quiet store");
    if (round % 64 == 2 * self + 1) {
	snprintf(name, sizeof(name), "more%d-%d", self, round);
	expect(pmdaCacheStore(quiet, PMDA_CACHE_ADD, name, NULL) >= 0, "one more");
    }
    calls += 400;
}

typedef struct {
    long last[THREADS];
    int seen;
} Seen;

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    Seen *seen = cookie;
    long event[2];
    pmAtomValue atom;

    expect(size == sizeof(event), "size of an event");
    memcpy(event, data, size);
    expect(event[0] >= 0 && event[0] < THREADS, "an event of nobody");
    expect(event[1] > seen->last[event[0]], "an event twice, or in the wrong order");
    seen->last[event[0]] = event[1];
    seen->seen++;
    atom.ul = 1;
    return pmdaEventAddRecord(array, when, 0) < 0 || pmdaEventAddParam(array, 4, PM_TYPE_U32, &atom) < 0 ? -1 : 1;
}

static void
use_queue(int self, int round, Seen *seen)
{
    struct timeval now = { 1, 2 };
    long event[2] = { self, round + 1 };
    pmAtomValue value = { 0 };

    expect(pmdaEventQueueAppend(queue, event, sizeof(event), &now) == 0, "append");
    produced++;
    if (round % 4 == 0) {
	/* A queue has one event array, which belongs to the fetch that fills it. */
	pthread_mutex_lock(&fetching);
	expect(pmdaEventQueueRecords(queue, &value, self, decode, seen) >= 0, "records");
	pthread_mutex_unlock(&fetching);
    }
    expect(pmdaEventQueueMemory(queue, &value) == PMDA_FETCH_STATIC && value.ull <= 1 << 20, "memory");
    calls += 3;
}

static void
use_event_array(int round)
{
    struct timeval now = { round, 2 };
    int array = pmdaEventNewArray(), i;
    pmAtomValue value = { .cp = "text" };

    for (i = 0; i < 5; i++) {
	expect(pmdaEventAddRecord(array, &now, PM_EVENT_FLAG_POINT) == 0, "record");
	expect(pmdaEventAddParam(array, 9, PM_TYPE_STRING, &value) == 0, "parameter");
    }
    expect(pmdaEventGetAddr(array)->ea_nrecords == 5, "records in an array");
    expect(pmdaEventReleaseArray(array) == 0, "release");
    calls += 13;
}

static void
use_help(void)
{
    int own = pmdaOpenHelp("good");
    const char *text = pmdaGetHelp(help, PMID(9, 0, 0), PM_TEXT_ONELINE);

    expect(text != NULL && strcmp(text, "first") == 0, "help");
    expect(own >= 0, "open");
    text = pmdaGetHelp(own, PMID(9, 0, 0), PM_TEXT_ONELINE);
    expect(text != NULL && strcmp(text, "first") == 0, "own help");
    pmdaCloseHelp(own);
    calls += 4;
}

/* A tree of this thread's own, with one wide node; libpcp frees it now and then. */
static void
use_tree(int self, int round, pmdaNameSpace **tree)
{
    static const int grown = 12;
    char name[64];
    pmID pmid;
    int i, at = round % grown * 40;

    if (at == 0) {
	if (round % (2 * grown) == 0)
	    pmdaTreeRelease(*tree);
	else
	    __pmFreePMNS(*tree);
	expect(pmdaTreeCreate(tree) == 0, "tree");
    }
    for (i = at; i < at + 40; i++) {
	snprintf(name, sizeof(name), "thread%d.m%d", self, i);
	expect(pmdaTreeInsert(*tree, pmID_build(250, self, i), name) == 0, "name");
    }
    for (i = 0; i < 600; i += 1 + round % 7) {
	snprintf(name, sizeof(name), "thread%d.m%d", self, i);
	if (i < at + 40)
	    expect(pmdaTreePMID(*tree, name, &pmid) == 0 && pmid == pmID_build(250, self, i), "another's name");
	else
	    expect(pmdaTreePMID(*tree, name, &pmid) == PM_ERR_NAME, "name of an earlier tree");
    }
    calls += 200;
}

static void *
work(void *argument)
{
    int self = (int)(intptr_t)argument, round;
    pmdaNameSpace *tree = NULL;
    Seen seen;

    memset(&seen, 0, sizeof(seen));
    pmdaEventNewClient(self);
    expect(pmdaEventSetAccess(self, queue, 1) == 0, "access");
    for (round = 0; !stop; round++) {
	use_shared_cache(self, round);
	use_own_cache(self, round);
	use_quiet_cache(self, round);
	use_queue(self, round, &seen);
	use_event_array(round);
	use_help();
	use_tree(self, round, &tree);
    }
    pmdaTreeRelease(tree);
    pmdaEventEndClient(self);
    expect(seen.seen > 0 || round < 9, "no events");
    return NULL;
}

int
main(int argc, char **argv)
{
    long milliseconds = argc > 1 ? atol(argv[1]) : 100;
    struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    pthread_t threads[THREADS];
    int i, last = -1, inst;
    char names[64];

    shared = pmInDom_build(252, 1);
    quiet = pmInDom_build(252, 2);
    for (i = 0; i < QUIET; i++) {
	snprintf(names, sizeof(names), "quiet%d rest", i);
	pmdaCacheStore(quiet, PMDA_CACHE_ADD, names, (void *)(intptr_t)(i + QUIET));
    }
    queue = pmdaEventNewQueue("queue", 1 << 20);
    help_write_good("good");
    help = pmdaOpenHelp("good");
    for (i = 0; i < THREADS; i++)
	if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
	    return 1;
    nanosleep(&time, NULL);
    stop = 1;
    alarm(60);	/* a deadlock ends here */
    for (i = 0; i < THREADS; i++)
	pthread_join(threads[i], NULL);
    /* Every name has one id, every id one name. */
    pmdaCacheOp(shared, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(shared, PMDA_CACHE_WALK_NEXT)) != -1) {
	char *name;

	expect(inst > last, "ids in order");
	last = inst;
	expect(pmdaCacheLookup(shared, inst, &name, NULL) == PMDA_CACHE_ACTIVE, "an active instance");
	snprintf(names, sizeof(names), "%s", name);
	expect(pmdaCacheLookupName(shared, names, &i, NULL) == PMDA_CACHE_ACTIVE && i == inst, "one id for one name");
    }
    help_remove("good");
    printf("%ld calls and more from %d threads, %ld events\n", (long)calls, THREADS, (long)produced);
    return 0;
}
