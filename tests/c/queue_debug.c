/*
 * The lines of -Dlibpmda about queues, their clients and each event: appended, dropped, fetched, filtered, left over and shut
 * down. QUEUE-10 QUEUE-20 QUEUE-26 QUEUE-31 QUEUE-40
 */
#include <limits.h>
#include <unistd.h>
#include "queue_tools.h"

static void
handles(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom;

    printf("-- handles\n");
    pmdaEventNewQueue("gone", 10);
    pmdaEventNewActiveQueue("active", 20, 2);
    pmdaEventQueueShutdown(0);
    printf("-- append\n");
    pmdaEventQueueAppend(-1, "x", 1, &tv);
    pmdaEventQueueAppend(17, "x", 1, &tv);
    printf("-- access\n");
    pmdaEventNewClient(1);
    pmdaEventSetAccess(2, 1, 1);
    printf("-- records\n");
    pmdaEventQueueRecords(1, &atom, 9, decode, NULL);
    printf("-- name\n");
    pmdaEventQueueHandle("gone");
    pmdaEventNewQueue("active", 10);
    printf("-- pending\n");
    pmdaEventQueueShutdown(1);
    pmdaEventQueueHandle("active");
    pmdaEventEndClient(1);
    pmdaEventEndClient(1);
}

static void
sizes(void)
{
    char text[200];
    static const int length[] = { 1, 2, 3, 62, 63, 64, 65, 66, 100 };
    struct timeval tv = { 1, 2 };
    unsigned int i;
    int queue = pmdaEventNewQueue("sizes", 150);

    printf("-- sizes\n");
    client(5, queue);
    fetch(queue, 5);
    for (i = 0; i < sizeof(text); i++)
	text[i] = "ab\tc\377\0d\x1f~ \"%s\\"[i % 14];
    for (i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
	pmdaEventSetAccess(5, queue, i % 2);
	pmdaEventQueueAppend(queue, text, length[i], &tv);
	fetch(queue, 5);
    }
    pmdaEventQueueAppend(queue, text, 151, &tv);
    pmdaEventEndClient(5);
    pmdaEventQueueShutdown(queue);
}

/* In the order in which both libraries give each event to each client: E-7 is not what this is about. */
static void
several(void)
{
    int queue = pmdaEventNewQueue("several", 30);

    printf("-- several clients\n");
    client(10, queue);
    client(11, queue);
    pmdaEventNewClient(12);
    put(queue, "nobody");
    fetch(queue, 10);
    fetch(queue, 11);
    put(queue, "first");
    fetch(queue, 10);
    fetch(queue, 11);
    printf("-- denied\n");
    fetch(queue, 12);
    put(queue, "denied");
    fetch(queue, 12);
    fetch(queue, 11);
    fetch(queue, 10);
    put(queue, "denied at last");
    fetch(queue, 11);
    fetch(queue, 10);
    fetch(queue, 12);
    printf("-- filters\n");
    pmdaEventSetFilter(10, queue, "t", drop_prefix, release);
    pmdaEventSetFilter(12, queue, "o", drop_prefix, release);
    put(queue, "this");
    put(queue, "other");
    fetch(queue, 10);
    fetch(queue, 12);
    fetch(queue, 11);
    printf("-- evicted\n");
    put(queue, "ten bytes 1");
    put(queue, "ten bytes 2");
    put(queue, "ten bytes 3");
    put(queue, "a large one of 30 bytes here.");
    printf("-- ends\n");
    pmdaEventEndClient(11);
    pmdaEventQueueShutdown(queue);
    pmdaEventEndClient(10);
    put(queue, "last");
    pmdaEventEndClient(12);
    pmdaEventQueueHandle("several");
    printf("-- a decoder that fails\n");
    queue = pmdaEventNewQueue("fails", 30);
    client(13, queue);
    fetch(queue, 13);
    put(queue, "one");
    put(queue, "two");
    decoder_fails_at = "two";
    fetch(queue, 13);
    decoder_fails_at = NULL;
    fetch(queue, 13);
    printf("-- several queues\n");
    client(13, pmdaEventNewQueue("more", 30));
    pmdaEventSetFilter(13, pmdaEventQueueHandle("more"), "m", drop_prefix, release);
    pmdaEventSetFilter(13, queue, "f", drop_prefix, release);
    fetch(pmdaEventQueueHandle("more"), 13);
    pmdaEventQueueShutdown(queue);
    pmdaEventQueueShutdown(pmdaEventQueueHandle("more"));
    pmdaEventEndClient(13);
}

static void
leftovers(void)
{
    int queue = pmdaEventNewQueue("leftovers", 30);

    printf("-- left over\n");
    client(20, queue);
    fetch(queue, 20);
    put(queue, "left one");
    put(queue, "left two");
    pmdaEventEndClient(20);
    put(queue, "nobody is here");
    put(queue, "nobody is here, and more");
    printf("-- shut down with events\n");
    pmdaEventQueueShutdown(queue);
    queue = pmdaEventNewQueue("leftovers", 30);
    client(23, queue);
    fetch(queue, 23);
    put(queue, "one");
    put(queue, "two");
    pmdaEventEndClient(23);
    pmdaEventQueueShutdown(queue);
}

int
main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    pmSetDebug("libpmda");
    handles();
    sizes();
    several();
    leftovers();
    return 0;
}
