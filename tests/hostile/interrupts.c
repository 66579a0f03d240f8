/*
 * A timer fires into every kind of call, and its handler calls the library: on top of another call it is refused at once
 * (-EBUSY, NULL, nothing), anywhere else it works.  Handlers of the program with one thread also fork: the child can call, and
 * ends.  (With several threads that is beyond any library: glibc's fork() waits for the locks of malloc, and two handlers on
 * top of malloc wait for each other.  hostile/forks forks beside threads.)  Nothing hangs, nothing crashes, and afterwards the
 * caches are whole.
 *
 * interrupts INTERRUPTIONS THREADS
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "../c/help_fixture.h"
#include "../c/generation.h"
#include "expect.h"

#define DOMAIN	248
#define MOST	8
#define NAMES	64
#define FORKS	400	/* interruptions between two forks in a handler */
#define SECONDS	20	/* at most */

static pmInDom of_handler = 0;
static atomic_long interruptions, refused, worked, forked, ended;
static long wanted;
static atomic_int stop;
static int queue, help, alone;
/* The program itself is in malloc or in stdio, where a handler must not call anything that allocates. */
static __thread volatile sig_atomic_t busy;
static __thread unsigned turn;

static int
fetched(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->ul = inst;
    return PMDA_FETCH_STATIC;
}

static pmdaInterface tables[MOST];
static pmdaIndom indoms[MOST][1];
static pmdaMetric metrics[MOST][1];

/* One call, another one each time; its status, or 0. */
static int
one_call(void)
{
    char name[16], *text;
    pmID pmid = pmID_build(DOMAIN, 0, 0);
    int inst, status = 0;
    struct timeval now = { 1, 2 };
    static const char event[] = "event";

    turn++;
    name[0] = 'h';
    name[1] = 'a' + turn % 26;
    name[2] = '\0';
    switch (turn % 12) {
    case 0:
    case 1:
	return pmdaCacheStore(of_handler, PMDA_CACHE_ADD, name, NULL);
    case 2:
	status = pmdaCacheLookupName(of_handler, name, &inst, NULL);
	return status == PM_ERR_INST || status == PM_ERR_INDOM ? 0 : status;
    case 3:
	status = pmdaCacheLookup(of_handler, 0, &text, NULL);
	return status == PM_ERR_INST || status == PM_ERR_INDOM ? 0 : status;
    case 4:
	return pmdaCacheOp(of_handler, PMDA_CACHE_SAVE);
    case 5:
	if ((inst = pmdaEventNewArray()) < 0)
	    return inst;
	return pmdaEventReleaseArray(inst);
    case 6:
	return pmdaEventQueueAppend(queue, (void *)event, sizeof(event), &now);
    case 7:
	return pmdaGetHelp(help, pmid, PM_TEXT_ONELINE) == NULL ? -EBUSY : 0;
    case 8:
	return pmdaCacheStore(of_handler, PMDA_CACHE_HIDE, "ha", NULL) == -EBUSY ? -EBUSY : 0;
    case 9:
	return __pmdaCntInst(of_handler, tables[0].version.any.ext) == 0 ? -EBUSY : 0;
    case 10:
	pmdaEventNewClient(99);
	return pmdaEventEndClient(99);
    default:
	return pmdaCacheOp(of_handler, PMDA_CACHE_REORG);
    }
}

static void
handler(int signal)
{
    int saved = errno, status;
    pid_t child;

    (void)signal;
    if (busy || stop)
	return;
    if (++interruptions >= wanted) {
	stop = 1;
	return;
    }
    status = one_call();
    if (status == -EBUSY)
	refused++;
    else if (status >= 0)
	worked++;
    else
	fail("neither an answer nor -EBUSY");
    if (alone && interruptions % FORKS == 0) {
	child = fork();
	if (child == 0) {
	    alarm(30);	/* blocked in this handler: a child that hangs is found by its parent */
	    status = one_call();
	    _exit(status == -EBUSY || status >= 0 ? 0 : 1);
	}
	if (child > 0)
	    forked++;
    }
    errno = saved;
}

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    (void)data;
    (void)size;
    (void)cookie;
    return pmdaEventAddRecord(array, when, PM_EVENT_FLAG_POINT) == 0;
}

extern void __pmFreeInResult(pmInResult *);	/* not in the installed headers */

/* The calls that the program makes all the time. */
static void
round_of(int self, int round)
{
    pmInDom own = pmInDom_build(DOMAIN, 10 + self);
    pmID pmid = pmID_build(DOMAIN, 0, self);
    pmdaExt *ext = tables[self].version.any.ext;
    struct timeval now = { 1, 2 };
    pmLabelSet *labels = NULL;
    pmdaResult *result;
    pmInResult *answer;
    pmAtomValue atom;
    char names[NAMES][24], text[2000];
    int i, id, inst, array, status;

    busy = 1;
    for (i = 0; i < NAMES; i++)
	sprintf(names[i], "name-%d-%d", round % 7, i);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    busy = 0;
    for (i = 0; i < NAMES; i++) {
	id = pmdaCacheStore(own, PMDA_CACHE_ADD, names[i], (void *)(intptr_t)(i + 1));
	expect(id >= 0, "store");
	expect(pmdaCacheLookupName(own, names[i], &inst, NULL) == PMDA_CACHE_ACTIVE && inst == id, "lookup");
    }
    /* What the handlers change now and then is read by all. */
    for (i = 0; i < 2 * NAMES; i++) {
	status = pmdaCacheLookup(of_handler, 0, NULL, NULL);
	expect(status == PMDA_CACHE_ACTIVE || status == PMDA_CACHE_INACTIVE, "the first instance");
    }
    pmdaCacheStoreKey(own, PMDA_CACHE_ADD, "key", sizeof(round), &round, NULL);
    expect(pmdaFetch(1, &pmid, &result, ext) == 0, "fetch");
    expect(result->vset[0]->numval > 0, "values");
    busy = 1;
    ext->e_resultCallBack(result);
    busy = 0;
    expect(pmdaInstance(own, PM_IN_NULL, NULL, &answer, ext) == 0, "instance");
    busy = 1;
    __pmFreeInResult(answer);
    busy = 0;
    array = pmdaEventNewArray();
    atom.cp = text;
    expect(pmdaEventAddRecord(array, &now, 0) == 0 && pmdaEventAddParam(array, 4, PM_TYPE_STRING, &atom) == 0, "record");
    expect(pmdaEventReleaseArray(array) == 0, "release");
    for (i = 0; i < 5; i++)
	expect(pmdaEventQueueAppend(queue, text, 400 * i, &now) == 0, "append");
    expect(pmdaEventQueueRecords(queue, &atom, self, decode, NULL) >= 0, "records");
    expect(pmdaAddLabels(&labels, "{\"a\":{\"b\":[%d]},\"c\":\"%.600s\"}", round, text) > 0, "labels");
    busy = 1;
    pmFreeLabelSets(labels, 1);
    busy = 0;
    if (round % 8 == self % 8)
	expect(pmdaCacheOp(own, PMDA_CACHE_SAVE) >= 0, "save");
    if (round % 32 == 31) {
	expect(pmdaCacheOp(own, PMDA_CACHE_CULL) >= 0, "cull");
	expect(pmdaCacheOp(own, PMDA_CACHE_LOAD) >= 0, "load");
    }
}

static void *
work(void *argument)
{
    int self = (int)(intptr_t)argument, round, status;

    pmdaEventNewClient(self);
    pmdaEventSetAccess(self, queue, 1);
    for (round = 0; !stop; round++) {
	round_of(self, round);
	while (self == 0 && waitpid(-1, &status, WNOHANG) > 0) {
	    ended++;
	    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of a handler");
	}
    }
    return NULL;
}

/* Every name has one id, and every id one name; as many as the cache says. */
static void
check(pmInDom indom)
{
    int inst, other, count = 0;
    char *name;

    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) != -1) {
	expect(inst >= 0, "walk");
	expect(pmdaCacheLookup(indom, inst, &name, NULL) == PMDA_CACHE_ACTIVE, "an active instance");
	expect(pmdaCacheLookupName(indom, name, &other, NULL) == PMDA_CACHE_ACTIVE && other == inst, "its name");
	count++;
    }
    expect(count == pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE), "how many there are");
}

int
main(int argc, char **argv)
{
    struct itimerval often = { { 0, 40 }, { 0, 40 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction action;
    pthread_t threads[MOST];
    int i, count = argc > 2 ? atoi(argv[2]) : 1, status;
    time_t end;

    wanted = argc > 1 ? atol(argv[1]) : 1000;
    alone = count == 1;
    of_handler = pmInDom_build(DOMAIN, 1);
    help_write_good("good");
    help = pmdaOpenHelp("good");
    queue = pmdaEventNewQueue("queue", 1 << 16);
    pmdaCacheStore(of_handler, PMDA_CACHE_ADD, "first", NULL);
    for (i = 0; i < count; i++) {
	pmdaDSO(&tables[i], PMDA_INTERFACE_7, "interrupts", NULL);
	tables[i].domain = DOMAIN;
	indoms[i][0].it_indom = pmInDom_build(DOMAIN, 10 + i);
	metrics[i][0].m_desc = (pmDesc){ pmID_build(DOMAIN, 0, i), PM_TYPE_U32, pmInDom_build(DOMAIN, 10 + i), PM_SEM_INSTANT,
	    PMDA_PMUNITS(0, 0, 0, 0, 0, 0) };
	pmdaSetFetchCallBack(&tables[i], fetched);
	pmdaCacheStore(indoms[i][0].it_indom, PMDA_CACHE_ADD, "first", NULL);
	pmdaInit(&tables[i], NULL, 0, metrics[i], 1);
	expect(tables[i].status == 0, "init");
    }
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    end = time(NULL) + SECONDS;
    if (count == 1) {
	/* Without another thread, the process has to look at the time itself. */
	pmdaEventNewClient(0);
	pmdaEventSetAccess(0, queue, 1);
	for (i = 0; !stop && time(NULL) < end; i++) {
	    round_of(0, i);
	    while (waitpid(-1, &status, WNOHANG) > 0) {
		ended++;
		expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of a handler");
	    }
	}
    } else {
	/* It allocates: a handler on top of that must not. */
	busy = 1;
	for (i = 0; i < count; i++)
	    if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
		return 1;
	busy = 0;
	while (!stop && time(NULL) < end)
	    ;
	stop = 1;
	for (i = 0; i < count; i++)
	    pthread_join(threads[i], NULL);
    }
    stop = 1;
    setitimer(ITIMER_REAL, &never, NULL);
    for (end = time(NULL) + SECONDS; ended < forked && time(NULL) < end; )
	if (waitpid(-1, &status, WNOHANG) > 0) {
	    ended++;
	    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of a handler");
	}
    expect(ended == forked, "a child hangs");
    check(of_handler);
    for (i = 0; i < count; i++)
	check(indoms[i][0].it_indom);
    help_remove("good");
    expect(refused > 0 && worked > 0, "calls on top of others, and calls anywhere else");
    printf("%ld interruptions with %d threads: %ld calls were refused, %ld worked; %ld forks\n", (long)interruptions, count,
	(long)refused, (long)worked, (long)forked);
    return 0;
}
