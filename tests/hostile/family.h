/*
 * Lets memory run out in a family of calls: each allocation of a call in turn fails, alone or with all that follow
 * (fail_malloc.c is preloaded).  Then the call fails with -ENOMEM, NULL or its own value for no memory, and has changed
 * nothing; or it did not need that memory, and its answer is the usual one.  Afterwards the same call works.  No run ends
 * in another way, not by Rust's allocator either.
 *
 * Each run is a child process.
 */
#include "starve.h"
#include <errno.h>
#include <syslog.h>
#include "../c/help_fixture.h"

#define DOMAIN	249
#define MOST	300
#define MANY	40	/* more than what is searched without an index */

/* An agent with tables of its own. */
static pmdaInterface table;
static pmdaIndom indoms[MANY];
static pmdaMetric metrics[MANY];

static void
nothing(void)
{
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->ul = 1;
    return PMDA_FETCH_STATIC;
}

static int
load(void)
{
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "memory", "good");
    return table.status;
}

static void
tables(void)
{
    int i;

    load();
    pmdaSetFetchCallBack(&table, value);
    for (i = 0; i < MANY; i++) {
	indoms[i].it_indom = MANY - i;
	metrics[i].m_desc = (pmDesc){ PMDA_PMID(0, 2 * i), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT,
	    PMDA_PMUNITS(0, 0, 0, 0, 0, 0) };
	metrics[i].m_desc.indom = i + 1;
    }
}

/* Neither an index nor help texts are worth a failure: without memory for them the agent works. */
static int
init(void)
{
    pmdaInit(&table, indoms, MANY, metrics, MANY);
    return table.status;
}

/* A call of the family. */
struct call {
    const char *name;
    void (*prepare)(void);
    int (*body)(void);
    int allocates;	/* there is something that can fail, and is told */
    int of_libpcp;	/* so many runs fail in libpcp: its log and its parser of labels use memory that they did not get, and
			   the parser takes a nested label for a plain one when an allocation fails */
    int changes;	/* a failure leaves something else than before */
};

/* One run: the allocation with this number fails, or all from that one on. */
static enum end
run(const struct call *call, void (*state)(char *, size_t), int n, int all)
{
    pid_t child = quiet_child();

    if (child == 0) {
	static char before[8192], after[8192];
	int result;
	long count;

	call->prepare();
	state(before, sizeof(before));
	onwards(all);
	arm(n, 0);
	result = call->body();
	count = seen();
	arm(-1, 0);
	state(after, sizeof(after));
	if (result < 0 && (count <= n || !call->allocates))
	    _exit(WRONG);
	if (result < 0 && result != -ENOMEM && result != PM_ERR_GENERIC)
	    _exit(WRONG);
	if (result < 0 && !call->changes && strcmp(before, after) != 0)
	    _exit(WRONG);
	if (call->body() < 0)
	    _exit(WRONG);
	_exit(result < 0 ? FAILED : count > n ? FINE : DONE);
    }
    return end_of(child);
}

/* Runs all calls; `state` writes what a call must not have changed when it fails.  Gives how many were wrong. */
static int
run_family(const struct call *calls, size_t many, void (*state)(char *, size_t))
{
    size_t i;
    int n, all, wrong = 0;

    if (find_fail_malloc() < 0)
	return 1;
    /* The first line of a log loads the time zone, with some 170 allocations of the C library. */
    pmNotifyErr(LOG_INFO, "each allocation fails in turn");
    help_write_good("good");
    for (i = 0; i < 2 * many; i++) {
	const struct call *call = &calls[i / 2];
	int count[ENDS] = { 0 };

	all = i % 2;
	for (n = 0; n < MOST && count[DONE] == 0; n++)
	    count[run(call, state, n, all)]++;
	wrong += verdict(call->name, all ? ", all from one on" : "", n, count, call->allocates, call->of_libpcp);
    }
    help_remove("good");
    return wrong;
}
