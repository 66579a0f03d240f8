/*
 * Callbacks that change what is being walked, wrong arguments, and a callback that leaves by longjmp. E-12, E-14
 * c-library: not run, it uses freed memory and crashes
 */
#include <setjmp.h>
#include "../queue_tools.h"

static int queue, action;
static jmp_buf out;

static int
meddle(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    char copy[64];
    pmAtomValue atom;
    int i;

    (void)cookie;
    snprintf(copy, sizeof(copy), "%.*s", (int)size, (char *)data);
    switch (action) {
    case 1:	/* evicts the event in hand */
	action = 0;
	for (i = 0; i < 3; i++)
	    put(queue, "an event of 32 bytes ........../");
	break;
    case 2:	/* moves the table */
	for (i = 0; i < 50; i++) {
	    char name[16];

	    sprintf(name, "q%d-%d", action, i);
	    pmdaEventNewQueue(name, 10);
	}
	action = 0;
	break;
    case 3:	/* ends the client */
	pmdaEventEndClient(1);
	break;
    case 4:	/* ends the queue */
	pmdaEventQueueShutdown(queue);
	pmdaEventEndClient(1);
	pmdaEventNewQueue("another", 10);
	break;
    case 5:
	action = 0;
	longjmp(out, 1);
    case 6:	/* a fetch inside of a fetch */
	action = 0;
	printf("  inner %d\n", pmdaEventQueueRecords(queue, &atom, 1, meddle, NULL));
	break;
    case 7:	/* releases the array */
	pmdaEventReleaseArray(array);
	break;
    case 8:	/* writes to the stored copy */
	memset(data, '#', size);
	((char *)data)[size] = '\0';
	when->tv_sec = 77;
	break;
    }
    printf("  \"%s\" %s\n", copy, memcmp(copy, data, size) == 0 ? "still there" : "changed");
    return pmdaEventAddRecord(array, when, 0) < 0 ? -5 : 1;
}

static void
run(const char *name, int what)
{
    pmAtomValue atom = { .vbp = NULL };
    int sts;

    queue = pmdaEventNewQueue(name, 64);
    client(1, queue);
    pmdaEventQueueRecords(queue, &atom, 1, meddle, NULL);
    put(queue, "first");
    put(queue, "second");
    printf("%s\n", name);
    action = what;
    sts = pmdaEventQueueRecords(queue, &atom, 1, meddle, NULL);
    printf("  %d, %d records\n", sts, atom.vbp ? ((pmEventArray *)atom.vbp)->ea_nrecords : -1);
    action = 0;
    sts = pmdaEventQueueRecords(queue, &atom, 1, meddle, NULL);
    printf("  then %d, %d records\n", sts, atom.vbp ? ((pmEventArray *)atom.vbp)->ea_nrecords : -1);
    pmdaEventEndClient(1);
}

static int
jumping_filter(void *filter, void *data, size_t size)
{
    (void)data;
    (void)size;
    if (strcmp(filter, "jump") == 0)
	longjmp(out, 2);
    pmdaEventEndClient(1);
    return 0;
}

static void
wrong_arguments(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom;
    int q = pmdaEventNewQueue("wrong", 64);

    printf("handle of NULL %d\n", pmdaEventQueueHandle(NULL));
    client(1, q);
    printf("fetch %d\n", pmdaEventQueueRecords(q, &atom, 1, NULL, NULL));
    printf("append %d", pmdaEventQueueAppend(q, NULL, 1, &tv));
    printf(" %d", pmdaEventQueueAppend(q, "x", 1, NULL));
    printf(" %d\n", pmdaEventQueueAppend(q, NULL, 0, &tv));
    counters("unchanged by errors", q);
    printf("no decoder %d", pmdaEventQueueRecords(q, &atom, 1, NULL, NULL));
    printf(", no atom %d\n", pmdaEventQueueRecords(q, NULL, 1, decode, NULL));
    printf("no atoms %d", pmdaEventClients(NULL));
    printf(" %d\n", pmdaEventQueueBytes(q, NULL));
    printf("filter without apply %d\n", pmdaEventSetFilter(1, q, "f", NULL, release));
    printf("filter without release %d", pmdaEventSetFilter(1, q, "f", drop_prefix, NULL));
    printf(" replaced %d\n", pmdaEventSetFilter(1, q, "g", drop_prefix, release));
    pmdaEventEndClient(1);
}

int
main(void)
{
    run("evicts", 1);
    run("grows", 2);
    run("ends the client", 3);
    run("ends the queue", 4);
    run("fetches", 6);
    run("releases the array", 7);
    run("writes", 8);
    if (setjmp(out) == 0)
	run("jumps", 5);
    printf("  jumped\n");
    printf("  again %d\n", fetch(queue, 1));
    pmdaEventSetFilter(1, queue, "jump", jumping_filter, release);
    put(queue, "third");
    if (setjmp(out) == 0)
	fetch(queue, 1);
    pmdaEventSetFilter(1, queue, "end", jumping_filter, release);
    printf("ends in the filter %d\n", fetch(queue, 1));
    wrong_arguments();
    return 0;
}
