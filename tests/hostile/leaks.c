/*
 * Requests of every kind, COUNT of each: the agent's memory stays flat.  (The C library loses a buffer with every
 * store.)
 *
 * leaks COUNT
 */

#include "daemon.h"
#include "requests.h"

#define BATCH	16
#define SLACK	128	/* kilobytes that the heap may still move */

/* Resident memory of the agent in kilobytes. */
static long
resident(pid_t pid)
{
    char name[64];
    long size, pages = 0;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/statm", (int)pid);
    file = fopen(name, "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2)
	fail("no statm");
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* `count` requests of one kind, each with its answer. */
static void
ask(const Agent *agent, const Request *request, long count)
{
    static unsigned char batch[BATCH * 4 * MAXWORDS];
    static uint32_t words[LONGEST / 4];
    static uint32_t probe;
    long replies = 0;
    int i, size = 0;

    for (i = 0; i < BATCH; i++)
	size += encode(request, batch + size);
    for (; count > 0; count -= BATCH) {
	put(agent->to, batch, size);
	if (request->answered) {
	    for (i = 0; i < BATCH; i++)
		if (reply(agent, words) == 0)
		    fail("the agent has ended");
	} else {
	    probe_send(agent, ++probe);
	    if (!probe_wait(agent, probe, &replies) || replies != 1)
		fail("an answer to what has none");
	    replies = 0;
	}
    }
}

int
main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000, before, after;
    Agent agent = agent_start(PMDA_INTERFACE_7, NULL);
    int i;

    for (i = 0; i < REQUESTS; i++)
	ask(&agent, &requests[i], 1000);
    before = resident(agent.pid);
    for (i = 0; i < REQUESTS; i++) {
	long start = resident(agent.pid);

	ask(&agent, &requests[i], count);
	if (resident(agent.pid) > start + SLACK) {
	    fprintf(stderr, "FAILED: request %d (type %#x): memory has grown by %ld kB\n", i, requests[i].word[1], resident(agent.pid) - start);
	    exit(1);
	}
    }
    after = resident(agent.pid);
    if (after > before + SLACK)
	fail("memory has grown");
    agent_end(&agent);
    printf("%ld requests of each of %d kinds: memory %ld kB before, %ld kB after\n", count, REQUESTS, before, after);
    return 0;
}
