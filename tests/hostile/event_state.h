/*
 * The visible state of an event array and of queues, as text.
 */
#include <stdarg.h>
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define QUEUES	8

static int array = -1;
static char names[QUEUES][16];

/* What the program knows, as text; long enough for all of it. */
static char picture[200000];
static size_t length;

static void
tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    length += vsnprintf(picture + length, sizeof(picture) - length, format, args);
    va_end(args);
}

static void
tell_array(const pmEventArray *events)
{
    size_t i;

    tell("%u bytes, %d records:", events->ea_len, events->ea_nrecords);
    for (i = 0; i < events->ea_len; i += 4)
	tell(" %x", *(const unsigned int *)((const char *)events + i));
    tell("\n");
}

/* Everything that can be seen without changing it. */
static void
state(void)
{
    pmAtomValue clients, count, bytes, memory;
    int i;

    length = 0;
    if (array >= 0)
	tell_array(pmdaEventGetAddr(array));
    for (i = 0; i < QUEUES; i++) {
	int handle = pmdaEventQueueHandle(names[i]);

	tell("%s %d", names[i], handle);
	if (pmdaEventQueueClients(handle, &clients) < 0)
	    continue;
	pmdaEventQueueCounter(handle, &count);
	pmdaEventQueueBytes(handle, &bytes);
	pmdaEventQueueMemory(handle, &memory);
	tell(": %u %u %llu %llu\n", clients.ul, count.ul, (unsigned long long)bytes.ull, (unsigned long long)memory.ull);
    }
    pmdaEventClients(&clients);
    tell("%u clients\n", clients.ul);
}
