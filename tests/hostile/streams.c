/*
 * Attacks on the two pipes of an agent: bytes one by one, signals all the time, an end in the middle, a pipe without a
 * reader, a full pipe.
 *
 * streams ROUNDS
 */

#include "daemon.h"
#include "requests.h"

#define MANY	2000	/* metrics of a long request: its reply is longer than a pipe holds */

static uint32_t words[LONGEST / 4];

/* A fetch of MANY long values; the number of bytes. */
static int
long_fetch(unsigned char *bytes, int metrics)
{
    uint32_t head[7] = { 28 + 4 * metrics, 0x7003, 1, 0, 0, 0, metrics };
    int i;

    for (i = 0; i < 7 + metrics; i++) {
	uint32_t word = htonl(i < 7 ? head[i] : (uint32_t)VALUE + BIG);

	memcpy(bytes + 4 * i, &word, 4);
    }
    return 28 + 4 * metrics;
}

static void
expect_long_reply(const Agent *agent, int metrics)
{
    if (reply(agent, words) != 0x7001 || ntohl(words[5]) != (uint32_t)metrics || words[0] != 24 + (uint32_t)metrics * (20 + 4004))
	fail("the long reply is not whole");
}

static void
expect_service(Agent *agent)
{
    static uint32_t probe;
    long replies = 0;

    probe_send(agent, ++probe);
    if (!probe_wait(agent, probe, &replies) || replies != 1)
	fail("no service");
}

/* Every request, a byte at a time. */
static void
byte_by_byte(int rounds)
{
    Agent agent = agent_start(PMDA_INTERFACE_7, NULL);
    unsigned char bytes[4 * MAXWORDS];
    int i, j, size;

    while (rounds-- > 0)
	for (i = 0; i < REQUESTS; i++) {
	    size = encode(&requests[i], bytes);
	    for (j = 0; j < size; j++)
		put(agent.to, bytes + j, 1);
	    if (requests[i].answered && reply(&agent, words) == 0)
		fail("no reply to single bytes");
	}
    expect_service(&agent);
    agent_end(&agent);
}

/* The connection ends after each number of bytes that a request can have. */
static void
ends_in_the_middle(int rounds)
{
    unsigned char bytes[4 * MAXWORDS];
    int i, end;

    for (i = 0; i < REQUESTS && i < rounds; i++)
	for (end = 0; end < encode(&requests[i], bytes); end += rounds < REQUESTS ? 5 : 1) {
	    Agent agent = agent_start(PMDA_INTERFACE_7, NULL);

	    put(agent.to, bytes, end);
	    agent_end(&agent);
	}
}

static void
ignore_alarm(int number)
{
    (void)number;
}

/* A timer whose handler lets system calls be interrupted, from before the handshake on. */
static void
storm(void)
{
    int pause = getenv("HOSTILE_TOOL") ? 20000 : 100;	/* a tool that watches needs longer for each signal */
    struct itimerval often = { { 0, pause }, { 0, pause } };
    struct sigaction action = { 0 };

    action.sa_handler = ignore_alarm;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void
signals(int rounds)
{
    static unsigned char bytes[28 + 4 * MANY];
    Agent agent = agent_start(PMDA_INTERFACE_7, storm);
    int i, size;

    while (rounds-- > 0) {
	size = long_fetch(bytes, 200);
	for (i = 0; i < size; i += 97) {	/* the agent waits in the middle of the request */
	    put(agent.to, bytes + i, size - i < 97 ? size - i : 97);
	    usleep(50);
	}
	usleep(500);			/* and in the middle of the reply */
	expect_long_reply(&agent, 200);
	for (i = 0; i < REQUESTS; i++) {
	    put(agent.to, bytes, encode(&requests[i], bytes));
	    if (requests[i].answered && reply(&agent, words) == 0)
		fail("no reply under signals");
	}
    }
    expect_service(&agent);
    agent_end(&agent);
}

/* Nobody reads the replies any more: the agent goes on until its requests end. */
static void
reader_gone(int rounds)
{
    unsigned char bytes[4 * MAXWORDS];
    int i;

    while (rounds-- > 0) {
	Agent agent = agent_start(PMDA_INTERFACE_7, NULL);

	close(agent.from);
	agent.from = -1;
	for (i = 0; i < REQUESTS; i++)
	    put(agent.to, bytes, encode(&requests[i], bytes));
	agent_end(&agent);
    }
}

/* Requests without end from one process while this one does not read: the agent waits, and loses nothing. */
static void
full_pipe(int rounds)
{
    static unsigned char bytes[28 + 4 * MANY];
    Agent agent = agent_start(PMDA_INTERFACE_7, NULL);
    int i, size = long_fetch(bytes, 200);
    pid_t writer = fork();

    if (writer == 0) {
	for (i = 0; i < rounds; i++)
	    put(agent.to, bytes, size);
	_exit(0);
    }
    usleep(100000);
    for (i = 0; i < rounds; i++)
	expect_long_reply(&agent, 200);
    waitpid(writer, NULL, 0);
    expect_service(&agent);
    agent_end(&agent);
}

int
main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;

    signal(SIGPIPE, SIG_IGN);
    byte_by_byte(rounds);
    ends_in_the_middle(rounds);
    signals(rounds);
    reader_gone(rounds);
    full_pipe(rounds);
    printf("%d rounds: single bytes, early ends, signals, readers that are gone, full pipes\n", rounds);
    return 0;
}
