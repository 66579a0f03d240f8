/*
 * An event that a decoder or a filter looks at stays as it is until the function returns, whatever it does meanwhile, at random and
 * several levels deep: appends that evict the event, fetches of the same and of another client that use it up, ends of clients
 * and queues, new ones in their places. All events are of nearly the same size, so that memory which is free too early is
 * used again at once. E-14 QUEUE-12 QUEUE-31 QUEUE-36
 * c-library: not run, it uses freed memory and crashes
 */
#include <setjmp.h>
#include "../event_dump.h"

#define CLIENTS	3
#define DEPTH	4

static unsigned int seed = 20261121, number;
static int queue, depth, shown, changed, inside, left;
static jmp_buf out;

static void
append(void)
{
    struct timeval when;
    char text[32];

    /* the number three times: in the time, at the start, and at the end of the data */
    when.tv_sec = ++number;
    when.tv_usec = number % 1000;
    snprintf(text, sizeof(text), "%08u %0*u", number, 1 + (int)(lcg(&seed) % 20), number);
    if (pmdaEventQueueAppend(queue, text, strlen(text), &when) != 0)
	printf("append %u failed\n", number);
}

static void
new_queue(void)
{
    queue = pmdaEventNewQueue("shown", 150);
}

static void meddle(void);

static int
whole(const char *data, size_t size, unsigned int id)
{
    unsigned int first = 0, second = 0;

    return data[size] == '\0' && strlen(data) == size && sscanf(data, "%u %u", &first, &second) == 2 && first == id && second == id;
}

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    unsigned int id = when->tv_sec;

    (void)cookie;
    shown++;
    changed += !whole(data, size, id);
    meddle();
    changed += !whole(data, size, id) || when->tv_sec != (time_t)id || when->tv_usec != (suseconds_t)(id % 1000);
    pmdaEventAddRecord(array, when, 0);
    return lcg(&seed) % 9 ? 1 : -1;
}

static int
drops(void *filter, void *data, size_t size)
{
    unsigned int id = 0;

    (void)filter;
    sscanf(data, "%u", &id);
    meddle();
    changed += !whole(data, size, id);
    return id % 5 == 0;
}

static void
fetch(int client)
{
    pmAtomValue records;

    pmdaEventQueueRecords(queue, &records, client, decode, NULL);
}

static void
join(int client)
{
    pmdaEventNewClient(client);
    if (lcg(&seed) % 2)
	pmdaEventSetAccess(client, queue, 1);
    else
	pmdaEventSetFilter(client, queue, "filter", drops, NULL);
}

static void
meddle(void)
{
    int steps = lcg(&seed) % 6, client;

    if (++depth <= DEPTH) {
	while (steps-- > 0) {
	    client = lcg(&seed) % CLIENTS;
	    switch (lcg(&seed) % 40) {
	    case 0:
		pmdaEventEndClient(client);
		join(client);
		break;
	    case 1:
		pmdaEventQueueShutdown(queue);
		for (client = 0; client < CLIENTS; client++)
		    pmdaEventEndClient(client);
		new_queue();
		for (client = 0; client < CLIENTS; client++)
		    join(client);
		break;
	    case 2:
		if (lcg(&seed) % 8 == 0) {
		    left++;
		    longjmp(out, 1);
		}
		break;
	    case 3: case 4: case 5: case 6: case 7:
		fetch(client);
		break;
	    default:
		append();
		inside++;
		break;
	    }
	}
    }
    depth--;
}

int
main(void)
{
    int client;

    new_queue();
    for (client = 0; client < CLIENTS; client++) {
	join(client);
	fetch(client);
    }
    while (number < 20000) {
	setjmp(out);
	depth = 0;
	append();
	append();
	fetch(lcg(&seed) % CLIENTS);
    }
    printf("%u events, %d of them from inside; shown %d, left %d, changed %d\n", number, inside, shown, left, changed);
    return 0;
}
