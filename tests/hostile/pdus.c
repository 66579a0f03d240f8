/*
 * Mutated PDUs to live daemon agents.  A PDU whose length agrees with what is sent must be answered or passed over,
 * and the next good request be served; after one whose length lies the stream is lost, and the agent must end by
 * itself when the connection ends.
 *
 * pdus COUNT [SEED [EVERY [OPTIONS [DOMAIN PROGRAM [ARGUMENT ...]]]]]
 *
 * With EVERY only each EVERYth request is any, the others are stores of event arrays; the agents have the debug OPTIONS set.
 * PROGRAM is an agent to be asked instead, whose metrics are of DOMAIN.
 */

#include "daemon.h"
#include "requests.h"

#define BATCH	16	/* what is sent at once fits into a pipe: nobody waits for the other */
#define MOST	1024	/* bytes of one mutated PDU */

static const uint32_t edges[] = {
    0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 16, 24, 255, 256, 1024, 1025, 4095, 4096, 0x7000, 0x7014, 0xffff, 0x10000, 0xffffff, 0x1000000,
    0x7fffffff, 0x7ffffffe, 0x7ffffc00, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0xfffffff0, 0x3fffffff, 0x40000000, 0x20000000,
    0x09000000, 0x0a000010, 0x03000004, 0xffffcf99,
};

static int
mutate(unsigned char *bytes, int length)
{
    int rounds = 1 + random_below(3);

    while (rounds-- > 0) {
	uint32_t word = htonl(edges[random_below(sizeof(edges) / sizeof(edges[0]))]);
	int more, at = random_below(length);

	switch (random_below(6)) {
	case 0:		/* a bit */
	    bytes[at] ^= 1 << random_below(8);
	    break;
	case 1:		/* a byte */
	    bytes[at] = random_below(256);
	    break;
	case 2:		/* a number, more often than not at a field's place */
	case 3:
	    at &= ~3;
	    if (at + 4 <= length)
		memcpy(bytes + at, &word, 4);
	    break;
	case 4:		/* shorter */
	    length = at < 12 ? 12 : at;
	    break;
	case 5:		/* longer */
	    for (more = random_below(64); more > 0 && length < MOST; more--)
		bytes[length++] = random_below(256);
	    break;
	}
    }
    return length;
}

static const char *debug_options;

static void
prepare(void)
{
    if (debug_options != NULL)
	pmSetDebug(debug_options);
}

/* A request to be mutated. */
static const Request *
choose(int every)
{
    int i;

    if (every == 0 || random_below(every) == 0)
	return &requests[random_below(REQUESTS)];
    for (i = 0; (requests[i].word[11] >> 24) != PM_TYPE_EVENT; i++)
	;
    return &requests[i];
}

/* The domain of the agent in place of ours, or 0. */
static uint32_t domain;

/* Has a request ask for the metrics and domains of the agent, for one of the first in place of ours every other time. */
static int
redirect(unsigned char *bytes, int length)
{
    int at;

    for (at = 12; domain != 0 && at + 4 <= length; at += 4) {
	uint32_t word;

	memcpy(&word, bytes + at, 4);
	word = ntohl(word);
	if (word >> 22 == DOMAIN) {
	    word = domain << 22 | (random_below(2) ? (uint32_t)random_below(4) : word & 0x3fffff);
	    word = htonl(word);
	    memcpy(bytes + at, &word, 4);
	}
    }
    return length;
}

int
main(int argc, char **argv)
{
    int every = argc > 3 ? atoi(argv[3]) : 0;
    long count = argc > 1 ? atol(argv[1]) : 1000, sent = 0, replies = 0, agents = 0, lost = 0;
    uint32_t probe = 0;
    Agent agent = { 0 };
    int alive = 0;

    random_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    debug_options = argc > 4 ? argv[4] : NULL;
    domain = argc > 5 ? atoi(argv[5]) : 0;
    agent_program = argc > 6 ? argv + 6 : NULL;
    signal(SIGPIPE, SIG_IGN);
    while (sent < count) {
	unsigned char batch[BATCH * MOST];
	int size = 0, i, lying = 0;

	if (!alive) {
	    agent = agent_start(PMDA_INTERFACE_2 + agents++ % 6, prepare);
	    alive = 1;
	}
	for (i = 0; i < BATCH && !lying; i++) {
	    unsigned char *pdu = batch + size;
	    int length = mutate(pdu, redirect(pdu, encode(choose(every), pdu)));
	    uint32_t announced, type;

	    memcpy(&type, pdu + 4, 4);
	    if ((int32_t)ntohl(type) <= 0)	/* ends the connection, as if it lied */
		lying = 1;
	    memcpy(&announced, pdu, 4);
	    if (ntohl(announced) != (uint32_t)length) {
		lying = random_below(100) == 0;
		announced = lying ? announced : htonl(length);
		memcpy(pdu, &announced, 4);
		memcpy(&type, pdu + 4, 4);
		lying |= (int32_t)ntohl(type) <= 0;
	    }
	    size += length;
	    sent++;
	}
	if (random_below(50) == 0)	/* byte by byte */
	    for (i = 0; i < size; i++)
		put(agent.to, batch + i, 1);
	else
	    put(agent.to, batch, size);
	if (lying) {
	    agent_end(&agent);
	    alive = 0;
	    lost++;
	    continue;
	}
	probe_send(&agent, ++probe);
	if (!probe_wait(&agent, probe, &replies)) {
	    agent_end(&agent);
	    fail("the agent ended the connection although every length was right");
	}
    }
    if (alive)
	agent_end(&agent);
    printf("%ld mutated PDUs to %ld agents, %ld replies, %ld connections ended by lengths or types that lie, %u good requests served\n", sent,
	agents, replies, lost, probe);
    return 0;
}
