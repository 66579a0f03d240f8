/*
 * Queues with one client at a time: made, filled, fetched, filtered, overrun, shut down; sizes are size_t (E-20). QUEUE-1, QUEUE-2, QUEUE-3,
 * QUEUE-4, QUEUE-5, QUEUE-6, QUEUE-10, QUEUE-11, QUEUE-12, QUEUE-20, QUEUE-21, QUEUE-22, QUEUE-23, QUEUE-24, QUEUE-25, QUEUE-26, QUEUE-27,
 * QUEUE-30, QUEUE-31, QUEUE-32, QUEUE-33, QUEUE-34, QUEUE-36, QUEUE-40, QUEUE-41, QUEUE-42; E-13, E-18, E-19.
 * memory: nothing is lost on ours
 */
#include <limits.h>
#include "queue_tools.h"

static void
create(void)
{
    /* 3 is that of a queue that has gone */
    static const int bad[] = { -1, 4, 3, INT_MIN, INT_MAX };
    struct timeval tv = { 1, 2 };
    pmAtomValue atom = { .ull = 0x5555555555555555ULL };
    unsigned int i;

    SHOW(pmdaEventNewQueue(NULL, 10));
    SHOW(pmdaEventNewActiveQueue("a", 0, 1));
    SHOW(pmdaEventNewQueue("a", 100));
    SHOW(pmdaEventNewQueue("b", SIZE_MAX));
    SHOW(pmdaEventNewActiveQueue("", 1, 0));
    SHOW(pmdaEventNewQueue("a", 100));
    SHOW(pmdaEventQueueHandle("a"));
    SHOW(pmdaEventQueueHandle("b"));
    SHOW(pmdaEventQueueHandle(""));
    SHOW(pmdaEventQueueHandle("c"));
    SHOW(pmdaEventQueueShutdown(1));
    SHOW(pmdaEventQueueShutdown(1));
    SHOW(pmdaEventQueueHandle("b"));
    SHOW(pmdaEventNewQueue("b2", 50));
    SHOW(pmdaEventNewQueue("d", 50));
    SHOW(pmdaEventQueueShutdown(3));
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
	int h = bad[i];
	printf("bad %d\n", h);
	SHOW(pmdaEventQueueClients(h, &atom));
	SHOW(pmdaEventQueueCounter(h, &atom));
	SHOW(pmdaEventQueueBytes(h, &atom));
	SHOW(pmdaEventQueueMemory(h, &atom));
	SHOW(pmdaEventQueueShutdown(h));
	SHOW(pmdaEventQueueAppend(h, "x", 1, &tv));
	SHOW(pmdaEventSetAccess(1, h, 1));
	SHOW(pmdaEventSetFilter(1, h, NULL, NULL, NULL));
	SHOW(pmdaEventQueueRecords(h, &atom, 1, decode, NULL));
	printf(" atom %llx\n", (unsigned long long)atom.ull);
    }
    /* only the member that is promised is written */
    SHOW(pmdaEventQueueClients(0, &atom));
    printf(" atom %llx\n", (unsigned long long)atom.ull);
}

static void
append(void)
{
    struct timeval tv = { 100, 200 };
    char big[101] = "";

    counters("new", 0);
    SHOW(pmdaEventQueueAppend(0, big, 101, &tv));
    SHOW(pmdaEventQueueAppend(0, big, 100, &tv));
    SHOW(pmdaEventQueueAppend(0, NULL, 5, NULL));
    counters("nobody", 0);
    SHOW(fetch(0, 42));
    client(42, 1);
    SHOW(pmdaEventNewClient(42));
    SHOW(pmdaEventNewClient(-1));
    SHOW(pmdaEventNewClient(INT_MAX));
    SHOW(pmdaEventEndClient(-1));
    SHOW(pmdaEventEndClient(-1));
    SHOW(pmdaEventNewClient(7));
    clients();
    SHOW(pmdaEventSetAccess(42, 0, 7));
    SHOW(pmdaEventSetAccess(1000, 0, 1));
    SHOW(pmdaEventSetAccess(42, 99, 1));
    counters("before first fetch", 0);
    fetch(0, 42);
    counters("after first fetch", 0);
    put(0, "hello");
    put(0, "");
    pmdaEventQueueAppend(0, NULL, 0, &tv);
    put(0, "world");
    counters("queued", 0);
    fetch(0, 42);
    counters("fetched", 0);
    fetch(0, 42);
    memset(big, 'x', sizeof(big));
    SHOW(pmdaEventQueueAppend(0, big, 100, &tv));
    fetch(0, 42);
}

static void
decoders(void)
{
    put(0, "one");
    put(0, "two");
    put(0, "three");
    decoder_fails_at = "two";
    fetch(0, 42);
    counters("failed", 0);
    decoder_fails_at = "one";
    fetch(0, 42);
    decoder_fails_at = NULL;
    decoder_returns = 0;
    fetch(0, 42);
    decoder_returns = 1;
    counters("nothing left", 0);
    put(0, "first");
    decoder_fails_at = "first";
    fetch(0, 42);
    decoder_fails_at = NULL;
    decoder_returns = 17;
    fetch(0, 42);
    decoder_returns = 1;
    /* an event that arrives during a fetch takes part in it */
    decoder_appends = 3;
    put(0, "seed");
    fetch(0, 42);
    counters("grown", 0);
}

static void
access_and_filters(void)
{
    pmdaEventSetAccess(42, 0, 0);
    put(0, "denied");
    fetch(0, 42);
    counters("denied", 0);
    pmdaEventSetAccess(42, 0, 1);
    fetch(0, 42);
    SHOW(pmdaEventSetFilter(42, 0, "t", drop_prefix, release));
    SHOW(pmdaEventSetFilter(43, 0, "t", drop_prefix, release));
    SHOW(pmdaEventSetFilter(42, 17, "t", drop_prefix, release));
    put(0, "this");
    put(0, "other");
    put(0, "that");
    fetch(0, 42);
    pmdaEventSetAccess(42, 0, 0);
    put(0, "this");
    put(0, "filter decides");
    fetch(0, 42);
    SHOW(pmdaEventSetFilter(42, 0, "o", drop_prefix, release));
    put(0, "this");
    put(0, "other");
    fetch(0, 42);
    SHOW(pmdaEventSetFilter(42, 0, NULL, drop_prefix, release));
    put(0, "other");
    fetch(0, 42);
    SHOW(pmdaEventSetFilter(42, 0, "x", drop_prefix, release));
    SHOW(pmdaEventSetFilter(42, 0, NULL, NULL, release));
    pmdaEventSetFilter(42, 1, "y", drop_prefix, release);
    SHOW(pmdaEventEndClient(42));
    counters("ended", 0);
    SHOW(fetch(0, 42));
}

static void
leftovers(void)
{
    client(50, 0);
    fetch(0, 50);
    put(0, "left one");
    put(0, "left two");
    SHOW(pmdaEventEndClient(50));
    counters("left", 0);
    put(0, "nobody listens");
    client(51, 0);
    fetch(0, 51);
    counters("taken over", 0);
    SHOW(pmdaEventEndClient(51));
    /* what nobody took is evicted when room is needed, even if nobody listens */
    client(52, 0);
    fetch(0, 52);
    put(0, "an event of thirty-two bytes....");
    put(0, "an event of thirty-two bytes,,,,");
    put(0, "an event of thirty-two bytes----");
    pmdaEventEndClient(52);
    counters("kept", 0);
    put(0, "an event of thirty-two bytes++++");
    counters("evicted", 0);
    client(53, 0);
    fetch(0, 53);
    counters("fetched", 0);
}

static void
shutdown_queue(void)
{
    SHOW(pmdaEventQueueShutdown(0));
    SHOW(pmdaEventQueueShutdown(0));
    SHOW(pmdaEventQueueHandle("a"));
    SHOW(pmdaEventNewQueue("a", 10));
    put(0, "still works");
    counters("pending", 0);
    fetch(0, 53);
    client(54, 0);
    fetch(0, 54);
    pmdaEventEndClient(53);
    SHOW(pmdaEventQueueHandle("a"));
    pmdaEventEndClient(54);
    SHOW(pmdaEventQueueHandle("a"));
    SHOW(pmdaEventNewQueue("a", 10));
    SHOW(pmdaEventNewArray());
    counters("new", 0);
}

int
main(void)
{
    create();
    append();
    decoders();
    access_and_filters();
    leftovers();
    shutdown_queue();
    return 0;
}
