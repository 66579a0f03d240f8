/*
 * Memory runs out in event arrays and queues: each allocation of a call in turn fails (fail_malloc.c is preloaded).  The
 * call fails with -ENOMEM, and arrays, queues and clients are as they were; or the call did not need that memory, and its
 * answer is the usual one.  Then the same call works, and in the end everybody has seen the same as without a failure.
 * No run ends in another way, not by Rust's allocator either (E-17).
 *
 * Each run is a child process.
 *
 * event_memory
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "event_state.h"
#include "starve.h"

#define MOST	2000

static struct timeval when = { 1, 2 };
static struct timespec precisely = { 1, 2 };
static pmAtomValue atom;
static int queue = -1;
static char text[8000];

static int appends, released;

/* Without memory for a record the fetch fails; the next one shows the event again, in an empty array. */
static int
decode(int handle, void *data, size_t size, struct timeval *tv, void *cookie)
{
    pmAtomValue value = { .ul = size };
    int sts;

    (void)data;
    (void)cookie;
    for (; appends > 0; appends--) {
	if ((sts = pmdaEventQueueAppend(queue, text, 100, &when)) < 0)
	    return sts;
    }
    if ((sts = pmdaEventAddRecord(handle, tv, 0)) < 0)
	return sts;
    return (sts = pmdaEventAddParam(handle, 7, PM_TYPE_U32, &value)) < 0 ? sts : 1;
}

static int
drops(void *filter, void *data, size_t size)
{
    (void)filter;
    (void)data;
    return size == 3;
}

static void
release(void *filter)
{
    (void)filter;
    released++;
}

static int
fetch_by(int client)
{
    pmAtomValue records;

    return pmdaEventQueueRecords(queue, &records, client, decode, NULL);
}

/* Prints the events that all clients get from now on. */
static void
what_remains(void)
{
    pmAtomValue records;
    int client;

    appends = 0;
    state();
    for (client = 0; client < 6; client++) {
	int sts = pmdaEventQueueRecords(queue, &records, client, decode, NULL);

	tell("client %d: %d\n", client, sts);
	if (sts > 0)
	    tell_array((pmEventArray *)records.vbp);
    }
    tell("released %d\n", released);
    state();
}

static void nothing(void) { }

static void
with_array(void)
{
    array = pmdaEventNewArray();
    pmdaEventAddRecord(array, &when, 0);
}

/* The next word makes the array grow. */
static void
with_full_array(void)
{
    int i;

    with_array();
    for (i = 0; i < 26; i++)
	pmdaEventAddRecord(array, &when, 0);
    for (i = 0; i < 6; i++)
	pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom);
}

static void
with_arrays(void)
{
    with_array();
    while (pmdaEventNewArray() < 3)
	;
}

static int new_array(void) { int sts = pmdaEventNewArray(); return sts < 0 ? sts : 0; }
static int add_record(void) { return pmdaEventAddRecord(array, &when, 0); }
static int add_missed(void) { return pmdaEventAddMissedRecord(array, &when, 5); }
static int add_precise(void) { return pmdaEventAddHighResRecord(array, &precisely, 0); }
static int add_word(void) { return pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom); }
static int add_text(void) { pmAtomValue value = { .cp = text }; return pmdaEventAddParam(array, 1, PM_TYPE_STRING, &value); }
static int reset(void) { return pmdaEventResetArray(array); }

static int
new_queue_of(int n)
{
    int sts = pmdaEventNewActiveQueue(names[n], 1000, 0);

    return sts == -EEXIST ? 0 : sts;
}

static int first_queue(void) { return queue = new_queue_of(0); }
static int fifth_queue(void) { return new_queue_of(4); }

static void
with_queue(void)
{
    queue = pmdaEventNewActiveQueue(names[0], 1000, 0);
}

static void
with_queues(void)
{
    int i;

    with_queue();
    for (i = 1; i < 4; i++)
	pmdaEventNewQueue(names[i], 1000);
}

static void
with_client(void)
{
    with_queue();
    pmdaEventNewClient(0);
    pmdaEventSetAccess(0, queue, 1);
}

/* The client has fetched, so events are kept for it. */
static void
with_active_client(void)
{
    with_client();
    fetch_by(0);
}

static int append_of(size_t size) { return pmdaEventQueueAppend(queue, text, size, &when); }
static int append(void) { return append_of(20); }
static int append_of_100(void) { return append_of(100); }
static int append_large(void) { return append_of(1000); }
static int append_too_large(void) { return append_of(1001); }

/* The next event makes the list of events grow. */
static void
with_events(void)
{
    int i;

    with_active_client();
    for (i = 0; i < 4; i++)
	append();
}

/* The next event makes the oldest one go. */
static void
with_full_queue(void)
{
    int i;

    with_active_client();
    for (i = 0; i < 10; i++)
	append_of(100);
}

static void
with_clients(void)
{
    with_events();
    pmdaEventNewClient(1);
    pmdaEventNewClient(2);
    pmdaEventNewClient(3);
}

static int new_client(void) { int sts = pmdaEventNewClient(4); return sts < 0 ? sts : 0; }
static int fetch(void) { int sts = fetch_by(0); return sts < 0 ? sts : 0; }

/* An event that a client left behind when it ended stands in front of a gap: what came then was seen by all. */
static void
with_gap(void)
{
    with_active_client();
    pmdaEventNewClient(1);
    fetch_by(1);
    append();
    fetch_by(0);
    pmdaEventEndClient(1);
    append();
    fetch_by(0);
    append();
    pmdaEventNewClient(2);
    pmdaEventSetAccess(2, queue, 1);
}

static int fetch_first(void) { int sts = fetch_by(2); return sts < 0 ? sts : 0; }

/* Events that are shown are evicted at the same time, and missed ones are reported. */
static void
with_events_to_come(void)
{
    with_full_queue();
    append_of(100);
    appends = 20;
}

/* Nobody has had to do with this queue yet. */
static void
with_another_queue(void)
{
    with_clients();
    queue = pmdaEventNewQueue("another", 1000);
}

static int access_(void) { return pmdaEventSetAccess(1, queue, 1); }
static int filter(void) { return pmdaEventSetFilter(1, queue, text, drops, release); }

static void
with_filter(void)
{
    with_clients();
    filter();
    pmdaEventSetFilter(2, queue, text, drops, release);
}

static int end_client(void) { return pmdaEventEndClient(0); }
static int shut_down(void) { int sts = pmdaEventQueueShutdown(queue); return sts == -EINVAL ? 0 : sts; }

static int
end_last_client(void)
{
    shut_down();
    return pmdaEventEndClient(0);
}

static int
counters(void)
{
    pmAtomValue value;

    return pmdaEventQueueMemory(queue, &value) < 0 ? -1 : pmdaEventQueueHandle(names[0]);
}

static const struct {
    const char *name;
    void (*prepare)(void);
    int (*body)(void);
    int allocates;
    int partial;	/* what callbacks had done until then stays */
} calls[] = {
    { "first array", nothing, new_array, 1, 0 },
    { "fifth array", with_arrays, new_array, 1, 0 },
    { "record", with_array, add_record, 0, 0 },
    { "record, the array grows", with_full_array, add_record, 1, 0 },
    { "missed record, the array grows", with_full_array, add_missed, 1, 0 },
    { "precise record, the array grows", with_full_array, add_precise, 1, 0 },
    { "parameter, the array grows", with_full_array, add_word, 1, 0 },
    { "text, the array grows", with_array, add_text, 1, 0 },
    { "reset", with_full_array, reset, 0, 0 },
    { "first queue", nothing, first_queue, 1, 0 },
    { "fifth queue", with_queues, fifth_queue, 1, 0 },
    { "first client", with_queue, new_client, 1, 0 },
    { "fifth client", with_clients, new_client, 1, 0 },
    { "access", with_another_queue, access_, 1, 0 },
    { "filter", with_another_queue, filter, 1, 0 },
    { "append for nobody", with_client, append, 0, 0 },
    { "append the first one", with_active_client, append, 1, 0 },
    { "append, the list grows", with_events, append, 1, 0 },
    { "append a large one", with_events, append_large, 1, 0 },
    { "append to a full queue", with_full_queue, append_of_100, 1, 0 },
    { "append one that is too large", with_active_client, append_too_large, 0, 0 },
    { "fetch", with_events, fetch, 0, 0 },
    { "first fetch", with_gap, fetch_first, 0, 0 },
    { "fetch while events come", with_events_to_come, fetch, 1, 1 },
    { "counters", with_events, counters, 0, 0 },
    { "end of a client", with_filter, end_client, 0, 0 },
    { "end of the last client", with_filter, end_last_client, 0, 0 },
    { "shutdown", with_filter, shut_down, 0, 0 },
};

/* The state after a run without a failure, which the child stores here. */
static char *usual;

/* One run: the allocation with this number fails. */
static enum end
run(int which, int n)
{
    pid_t child = quiet_child();

    if (child == 0) {
	static char before[sizeof(picture)];
	int result;
	long count;

	calls[which].prepare();
	state();
	strcpy(before, picture);
	arm(n, 0);
	result = calls[which].body();
	count = seen();
	arm(-1, 0);
	if (result < 0 && (result != -ENOMEM || count <= n))
	    _exit(WRONG);
	if (result < 0 && !calls[which].partial) {
	    state();
	    if (strcmp(before, picture) != 0)
		_exit(WRONG);
	}
	if (result < 0 && calls[which].body() < 0)
	    _exit(WRONG);
	what_remains();
	if (n == MOST)
	    strcpy(usual, picture);
	else if (strcmp(usual, picture) != 0 && !calls[which].partial)
	    _exit(WRONG);
	_exit(result < 0 ? FAILED : count > n ? FINE : DONE);
    }
    return end_of(child);
}

int
main(void)
{
    size_t i;
    int n, wrong = 0;

    if (find_fail_malloc() < 0)
	return 1;
    usual = mmap(NULL, sizeof(picture), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(text, 'x', sizeof(text) - 1);
    for (n = 0; n < QUEUES; n++)
	snprintf(names[n], sizeof(names[n]), "queue%d", n);
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
	int count[ENDS] = { 0 };

	/* No call comes to an allocation of this number: the usual course. */
	if (run(i, MOST) != DONE)
	    count[WRONG]++;
	for (n = 0; n < MOST && count[DONE] == 0; n++)
	    count[run(i, n)]++;
	wrong += verdict(calls[i].name, "", n, count, calls[i].allocates, 0);
    }
    return wrong != 0;
}
