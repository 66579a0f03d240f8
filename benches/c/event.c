/* Event arrays and event queues. */
#include "bench.h"

static void
arrays(long n, struct outcome *out)
{
    int handle = pmdaEventNewArray();
    struct timeval when = { 1795229386, 42 };
    pmAtomValue atom = { .ul = 7 };
    long i, turn, turns = rounds(1000000) / n + 1;
    pmEventArray *array = pmdaEventGetAddr(handle);
    double start = now();

    for (turn = 0; turn < turns; turn++) {
	pmdaEventResetArray(handle);
	for (i = 0; i < n; i++) {
	    pmdaEventAddRecord(handle, &when, PM_EVENT_FLAG_POINT);
	    pmdaEventAddParam(handle, PMDA_PMID(0, 1), PM_TYPE_U32, &atom);
	}
	array = pmdaEventGetAddr(handle);
	add(out, array->ea_nrecords);
    }
    took(out, now() - start, turns * n * 2);
    add_bytes(out, array, array->ea_len);
}

static int
decode(int handle, void *data, size_t size, struct timeval *when, void *cookie)
{
    pmAtomValue atom = { .ul = *(uint32_t *)data };

    (void)size;
    (void)cookie;
    pmdaEventAddRecord(handle, when, PM_EVENT_FLAG_POINT);
    pmdaEventAddParam(handle, PMDA_PMID(0, 1), PM_TYPE_U32, &atom);
    return 1;
}

/* A record of one parameter, as most decoders make it: a text. */
static int
decode_text(int handle, void *data, size_t size, struct timeval *when, void *cookie)
{
    pmAtomValue atom = { .cp = data };

    (void)size;
    (void)cookie;
    pmdaEventAddRecord(handle, when, PM_EVENT_FLAG_POINT);
    pmdaEventAddParam(handle, PMDA_PMID(0, 1), PM_TYPE_STRING, &atom);
    return 1;
}

static pmdaEventDecodeCallBack decoder = decode;

static int
clients(int queue, long n, struct outcome *out)
{
    pmAtomValue atom;
    long i;

    for (i = 0; i < n; i++) {
	pmdaEventNewClient(i);
	pmdaEventSetAccess(i, queue, 1);
	add(out, pmdaEventQueueRecords(queue, &atom, i, decode, NULL));
    }
    return queue;
}

/* An event: its number, or a text and its NUL. */
static union {
    uint32_t number;
    char text[1024];
} event;
static size_t event_size = 16;

static void
append_fetch_by(long n, struct outcome *out, int readers)
{
    int client, queue = clients(pmdaEventNewQueue("bench", 1 << 24), readers, out);
    struct timeval when = { 1795229386, 42 };
    long turn, turns = rounds(1000000) / n / readers + 1;
    uint32_t i;
    pmAtomValue atom;
    double start = now();

    for (turn = 0; turn < turns; turn++) {
	for (i = 0; i < n; i++) {
	    if (event_size == 16)
		event.number = i;
	    add(out, pmdaEventQueueAppend(queue, &event, event_size, &when));
	}
	for (client = 0; client < readers; client++) {
	    add(out, pmdaEventQueueRecords(queue, &atom, client, decoder, NULL));
	    add(out, ((pmEventArray *)atom.vbp)->ea_nrecords);
	}
    }
    took(out, now() - start, turns * n * readers);
}

static void texts(long n, struct outcome *out) { decoder = decode_text; append_fetch_by(100, out, n); }
/* 100 events for ten clients, a text of n bytes each. */
static void
long_texts(long n, struct outcome *out)
{
    memset(event.text, 'x', n);
    event_size = n + 1;
    decoder = decode_text;
    append_fetch_by(100, out, 10);
}

static void append_fetch(long n, struct outcome *out) { append_fetch_by(n, out, 1); }
static void one_event(long n, struct outcome *out) { append_fetch_by(1, out, n); }
static void ten_events(long n, struct outcome *out) { append_fetch_by(10, out, n); }
static void hundred_events(long n, struct outcome *out) { append_fetch_by(100, out, n); }

/* Every append evicts one event that no client has seen. */
static void
append_full(long n, struct outcome *out)
{
    uint32_t event[16] = { 0 };
    int queue = clients(pmdaEventNewQueue("bench", 1000 * sizeof(event)), n, out);
    struct timeval when = { 1795229386, 42 };
    long i, count = rounds(20000);
    double start;

    for (i = 0; i < 1000; i++)
	pmdaEventQueueAppend(queue, event, sizeof(event), &when);
    start = now();
    for (i = 0; i < count; i++)
	add(out, pmdaEventQueueAppend(queue, event, sizeof(event), &when));
    took(out, now() - start, count);
}

const struct scenario event_scenarios[] = {
    { "event array, record or parameter", arrays },
    { "queue, append and fetch", append_fetch },
    { "queue, one event for n clients", one_event },
    { "queue, 10 events for n clients", ten_events },
    { "queue, 100 events for n clients", hundred_events },
    { "queue, 100 events for n clients, a text each", texts },
    { "queue, a text of n bytes for 10 clients", long_texts },
    { "append to a full queue, many clients", append_full },
    { NULL, NULL },
};
