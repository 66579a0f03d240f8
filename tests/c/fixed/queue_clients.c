/*
 * Several clients on a queue: each sees each event once, an overflow is reported with its exact count (QUEUE-35),
 * announced clients are places that first fetches fill; E-7, E-8, E-9, E-10, E-11, E-17. Empty events take no memory (QUEUE-13), and debug
 * lines are optional: there are none (QUEUE-60).
 */
#include "../queue_tools.h"

/* The time of a missed record is the time of the fetch: it is not shown. */
static void
seen(int queue, int context)
{
    pmAtomValue atom = { .vbp = NULL };
    const pmEventArray *array;
    const pmEventRecord *record;
    int sts = pmdaEventQueueRecords(queue, &atom, context, decode, NULL), i;

    printf("client %d: %d\n", context, sts);
    if ((array = (const pmEventArray *)atom.vbp) == NULL)
	return;
    record = &array->ea_record[0];
    for (i = 0; i < array->ea_nrecords; i++) {
	if (record->er_flags & PM_EVENT_FLAG_MISSED) {
	    struct timeval now;

	    gettimeofday(&now, NULL);
	    printf("  missed %d, now %d\n", record->er_nparams, abs((int)now.tv_sec - record->er_timestamp.tv_sec) < 60);
	    record = (const pmEventRecord *)((const char *)record + 16);
	}
	else {
	    printf("  record of %u bytes\n", record->er_param[0].ep_len == 8 ? *(const unsigned int *)&record->er_param[1] : 0);
	    record = (const pmEventRecord *)((const char *)record + 16 + 12);
	}
    }
}

static void
two_clients(void)
{
    int q = pmdaEventNewQueue("two", 1000);

    printf("E-7 two clients\n");
    client(1, q);
    client(2, q);
    seen(q, 1);
    seen(q, 2);
    put(q, "a");
    put(q, "bb");
    seen(q, 1);
    seen(q, 1);
    counters("one has seen them", q);
    put(q, "ccc");
    seen(q, 2);
    counters("the other too", q);
    seen(q, 1);
    seen(q, 2);
    counters("all seen", q);
    put(q, "dddd");
    client(3, q);
    seen(q, 3);
    counters("a late one saw it first", q);
    seen(q, 1);
    seen(q, 2);
    counters("all seen", q);
    put(q, "eeeee");
    seen(q, 1);
    pmdaEventEndClient(2);
    pmdaEventEndClient(3);
    counters("two have ended", q);
    client(4, q);
    client(5, q);
    seen(q, 4);
    seen(q, 5);
    counters("two successors", q);
    pmdaEventEndClient(1);
    pmdaEventEndClient(4);
    pmdaEventEndClient(5);
    printf("shutdown %d", pmdaEventQueueShutdown(q));
    printf(", handle %d\n", pmdaEventQueueHandle("two"));
}

static void
overflow(void)
{
    int q = pmdaEventNewQueue("small", 10);

    printf("E-7 overflow\n");
    client(1, q);
    client(2, q);
    seen(q, 1);
    seen(q, 2);
    put(q, "1234");
    put(q, "12345");
    seen(q, 1);
    put(q, "123456789");
    put(q, "0123456789");
    put(q, "too large for it");
    counters("overflown", q);
    seen(q, 1);
    seen(q, 2);
    seen(q, 2);
    printf("a decoder that fails keeps the count\n");
    put(q, "12345678");
    put(q, "1234567");
    decoder_fails_at = "1";
    seen(q, 1);
    decoder_fails_at = NULL;
    seen(q, 1);
    printf("a client without access misses nothing\n");
    seen(q, 2);
    pmdaEventSetAccess(2, q, 0);
    put(q, "abcdefgh");
    put(q, "abcdefghi");
    seen(q, 2);
    pmdaEventSetAccess(2, q, 1);
    put(q, "xyz");
    seen(q, 2);
    seen(q, 1);
    pmdaEventEndClient(1);
    pmdaEventEndClient(2);
    pmdaEventQueueShutdown(q);
}

static void
places(void)
{
    int q = pmdaEventNewActiveQueue("places", 10, 2);

    printf("E-8 places\n");
    counters("announced", q);
    put(q, "aa");
    put(q, "bbb");
    client(1, q);
    seen(q, 1);
    counters("one place filled", q);
    put(q, "cccc");
    put(q, "ddddd");
    client(2, q);
    seen(q, 2);
    counters("both filled", q);
    seen(q, 1);
    seen(q, 2);
    counters("all seen", q);
    client(3, q);
    seen(q, 3);
    counters("one more", q);
    printf("shutdown %d\n", pmdaEventQueueShutdown(q));
    pmdaEventEndClient(1);
    pmdaEventEndClient(2);
    printf("pending %d\n", pmdaEventQueueHandle("places") == q);
    pmdaEventEndClient(3);
    printf("gone %d\n", pmdaEventQueueHandle("places"));
}

static void
growth(void)
{
    int q = pmdaEventNewQueue("first", 1000);
    char name[16];
    int i;

    printf("E-9 growth\n");
    client(1, q);
    seen(q, 1);
    put(q, "kept");
    for (i = 0; i < 20; i++) {
	sprintf(name, "more%d", i);
	pmdaEventNewQueue(name, 100);
    }
    counters("grown", q);
    seen(q, 1);
    printf("E-10 filters do not outlive their queue\n");
    q = pmdaEventQueueHandle("more3");
    pmdaEventSetFilter(1, q, "a", drop_prefix, release);
    printf("shutdown %d\n", pmdaEventQueueShutdown(q));
    printf("same slot %d\n", pmdaEventNewQueue("next", 100) == q);
    seen(q, 1);
    put(q, "abc");
    seen(q, 1);
    pmdaEventSetAccess(1, q, 1);
    put(q, "abc");
    seen(q, 1);
    pmdaEventEndClient(1);
}

static void
empty_events(void)
{
    int q = pmdaEventNewQueue("empty", 1), i;
    pmAtomValue atom;

    client(1, q);
    seen(q, 1);
    for (i = 0; i < 5000; i++)
	put(q, "");
    printf("QUEUE-13 %d", pmdaEventQueueMemory(q, &atom));
    printf(" %llu\n", (unsigned long long)atom.ull);
    pmdaEventEndClient(1);
    printf("E-11 %d", pmdaEventQueueShutdown(q));
    printf(" %d\n", pmdaEventQueueHandle("empty"));
}

int
main(void)
{
    two_clients();
    empty_events();
    overflow();
    places();
    growth();
    return 0;
}
