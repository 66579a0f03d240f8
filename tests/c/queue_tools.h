/* Helpers of the programs about event queues: a decoder and a filter that print the events that they get. */
#ifndef QUEUE_TOOLS_H
#define QUEUE_TOOLS_H

#include <stddef.h>
#include <stdint.h>
#include "event_dump.h"

/* The decoder fails at an event that begins with this text. */
static const char *decoder_fails_at;
static int decoder_returns = 1;
/* The number of events that the decoder appends. */
static int decoder_appends;
static int decoder_queue;

static inline int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    pmAtomValue atom;
    int sts;

    printf("    event \"%.*s\" size %zu aligned %d NUL-able %d time %ld.%06ld cookie %s\n", (int)size, (char *)data, size,
	(uintptr_t)data % _Alignof(max_align_t) == 0, data != NULL, (long)when->tv_sec, (long)when->tv_usec, cookie ? (char *)cookie : "none");
    if (decoder_fails_at != NULL && strncmp(data, decoder_fails_at, strlen(decoder_fails_at)) == 0)
	return -77;
    if (decoder_appends > 0) {
	struct timeval tv = { 9, decoder_appends };

	decoder_appends--;
	printf("    append inside %d\n", pmdaEventQueueAppend(decoder_queue, "inner", 5, &tv));
    }
    if ((sts = pmdaEventAddRecord(array, when, PM_EVENT_FLAG_POINT)) < 0)
	return sts;
    atom.ul = (uint32_t)size;
    if ((sts = pmdaEventAddParam(array, PMDA_PMID(3, 4), PM_TYPE_U32, &atom)) < 0)
	return sts;
    return decoder_returns;
}

/* The filter is a string; events that begin with it are dropped. */
static inline int
drop_prefix(void *filter, void *data, size_t size)
{
    size_t length = strlen(filter);
    int drop = size >= length && memcmp(data, filter, length) == 0;

    printf("    filter \"%s\": %s\n", (char *)filter, drop ? "dropped" : "passes");
    return drop;
}

static inline void
release(void *filter)
{
    printf("    release %s\n", filter ? (char *)filter : "NULL");
}

static inline void
put(int queue, const char *text)
{
    static struct timeval tv = { 1000, 0 };
    int sts;

    tv.tv_usec++;
    if ((sts = pmdaEventQueueAppend(queue, (void *)text, strlen(text), &tv)) != 0)
	printf("append %s: %d\n", text, sts);
}

static inline int
fetch(int queue, int context)
{
    pmAtomValue atom = { .ull = 0x1111 };
    int sts;

    printf("fetch of queue %d by %d\n", queue, context);
    decoder_queue = queue;
    sts = pmdaEventQueueRecords(queue, &atom, context, decode, "cookie");
    printf("  %d, ", sts);
    if (atom.ull == 0x1111)
	printf("atom untouched\n");
    else
	dump("array", (const pmEventArray *)atom.vbp);
    return sts;
}

static inline void
client(int context, int queue)
{
    pmdaEventNewClient(context);
    pmdaEventSetAccess(context, queue, 1);
}

static inline void
clients(void)
{
    pmAtomValue atom = { .ull = 0 };
    int sts = pmdaEventClients(&atom);

    printf("%u clients (%d)\n", atom.ul, sts);
}

static inline void
counters(const char *name, int queue)
{
    pmAtomValue clients = { .ull = 0 }, count = { .ull = 0 }, bytes = { .ull = 0 }, memory = { .ull = 0 };

    printf("%s: %d", name, pmdaEventQueueClients(queue, &clients));
    printf(" %d", pmdaEventQueueCounter(queue, &count));
    printf(" %d", pmdaEventQueueBytes(queue, &bytes));
    printf(" %d", pmdaEventQueueMemory(queue, &memory));
    printf(": %u clients, %u events, %llu bytes, %llu in memory\n", clients.ul, count.ul, (unsigned long long)bytes.ull,
	(unsigned long long)memory.ull);
}

#endif
