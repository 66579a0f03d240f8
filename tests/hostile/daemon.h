/* A daemon agent in a child process, and pmcd's part: the other end of its two pipes. */
#ifndef HOSTILE_DAEMON_H
#define HOSTILE_DAEMON_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/generation.h"
#include "../c/pmns.h"

#define DOMAIN		250
#define BIG		3	/* item of the metric whose value is long */
#define LONGEST		(1 << 20)	/* no reply to us is longer */
#define PATIENCE	20000	/* milliseconds that an answer may take on a busy machine */

typedef struct {
    pid_t pid;
    int to, from;
} Agent;

static uint64_t random_state = 1;

static inline uint32_t
random_below(uint32_t limit)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * limit >> 32);
}

static inline void
fail(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

/* ---- the agent's side ---- */

static pmdaNameSpace *names;
static int agent_interface;

static inline int
agent_fetch(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    static char text[4000];

    (void)inst;
    switch (metric ? pmID_item(metric->m_desc.pmid) : 0) {
    case 1:
	value->cp = "text";
	return PMDA_FETCH_STATIC;
    case 2:
	if (agent_interface < PMDA_INTERFACE_5) {	/* nobody would free it */
	    value->cp = "static";
	    return PMDA_FETCH_STATIC;
	}
	value->cp = strdup("dynamic");
	return PMDA_FETCH_DYNAMIC;
    case BIG:
	memset(text, 'b', sizeof(text) - 1);
	value->cp = text;
	return PMDA_FETCH_STATIC;
    }
    value->ul = 42;
    return PMDA_FETCH_STATIC;
}

/* Reads each byte of each value: a length that lies is found by the tools that watch. */
static inline int
agent_store(pmdaResult *result, pmdaExt *ext)
{
    volatile unsigned int sum = 0;
    int i, j, k;

    (void)ext;
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];

	for (j = 0; j < set->numval; j++) {
	    if (set->valfmt == PM_VAL_INSITU)
		sum += set->vlist[j].value.lval;
	    else
		for (k = 0; k < (int)set->vlist[j].value.pval->vlen - PM_VAL_HDR_SIZE; k++)
		    sum += (unsigned char)set->vlist[j].value.pval->vbuf[k];
	}
    }
    (void)sum;
    return result->numpmid ? 0 : PM_ERR_VALUE;
}

static inline int
agent_profile(pmProfile *profile, pmdaExt *ext)
{
    volatile int sum = 0;
    int i, j;

    for (i = 0; i < profile->profile_len; i++)
	for (j = 0; j < profile->profile[i].instances_len; j++)
	    sum += profile->profile[i].instances[j];
    (void)sum;
    return pmdaProfile(profile, ext);
}

static inline int
agent_pmid(const char *name, pmID *pmid, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreePMID(names, name, pmid);
}

static inline int
agent_name(pmID pmid, char ***nameset, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreeName(names, pmid, nameset);
}

static inline int
agent_children(const char *name, int traverse, char ***offspring, int **status, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreeChildren(names, name, traverse, offspring, status);
}

static inline int
agent_attribute(int context, int key, const char *value, int length, pmdaExt *ext)
{
    if (value && (int)strlen(value) > length)
	abort();
    return pmdaAttribute(context, key, value, length, ext);
}

static inline int
agent_instance_label(pmInDom indom, unsigned int inst, pmLabelSet **set)
{
    (void)indom;
    return pmdaAddLabels(set, "{\"inst\":%u}", inst);
}

static inline int
agent_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    if (type == PM_LABEL_CLUSTER)
	pmdaAddLabels(sets, "{\"cluster\":%d}", ident & 0x3ff);
    return pmdaLabel(ident, type, sets, ext);
}

static inline int
agent_text(int ident, int type, char **text, pmdaExt *ext)
{
    (void)ext;
    *text = ident == (int)pmID_build(DOMAIN, 0, 0) ? "help" : NULL;
    return *text == NULL ? PM_ERR_TEXT : type & 0;
}

/* Sets up the tables of an agent. */
static inline void
agent_tables(pmdaInterface *table, int interface)
{
    static pmdaInstid colours[] = { { 0, "red" }, { 1, "green" } };
    static pmdaIndom indoms[1];
    static pmdaMetric metrics[4];
    int i;

    agent_interface = interface;
    for (i = 0; i < 4; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(0, i);
	metrics[i].m_desc.type = i == 0 ? PM_TYPE_U32 : PM_TYPE_STRING;
	metrics[i].m_desc.indom = i == 2 ? 1 : PM_INDOM_NULL;
	metrics[i].m_desc.sem = PM_SEM_INSTANT;
    }
    indoms[0].it_indom = 1;
    indoms[0].it_numinst = 2;
    indoms[0].it_set = colours;
    pmdaSetFetchCallBack(table, agent_fetch);
    table->version.any.store = agent_store;
    table->version.any.profile = agent_profile;
    table->version.any.text = agent_text;
    if (interface >= PMDA_INTERFACE_4) {
	table->version.four.pmid = agent_pmid;
	table->version.four.name = agent_name;
	table->version.four.children = agent_children;
    }
    if (interface >= PMDA_INTERFACE_6)
	table->version.six.attribute = agent_attribute;
    if (interface >= PMDA_INTERFACE_7) {
	table->version.seven.label = agent_label;
	pmdaSetLabelCallBack(table, agent_instance_label);
    }
    pmdaInit(table, indoms, 1, metrics, 4);
    pmdaTreeCreate(&names);
    pmdaTreeInsert(names, pmID_build(DOMAIN, 0, 0), "agent.value");
    pmdaTreeInsert(names, pmID_build(DOMAIN, 0, 1), "agent.text");
    pmdaTreeRebuildHash(names, 2);
}

/* The agent's process, from the start to the end. */
static inline void
agent_run(int interface, void (*prepare)(void))
{
    static pmdaInterface table;

    pmdaDaemon(&table, interface, "hostile", DOMAIN, "hostile.log", NULL);
    agent_tables(&table, interface);
    if (prepare)
	prepare();
    pmdaConnect(&table);
    pmdaMain(&table);
    exit(0);
}

/* ---- pmcd's side ---- */

static inline void
put(int fd, const void *bytes, size_t count)
{
    while (count > 0) {
	ssize_t done = write(fd, bytes, count);

	if (done < 0 && errno == EINTR)
	    continue;
	if (done <= 0)
	    return;	/* the agent has ended the connection, as it may */
	bytes = (const char *)bytes + done;
	count -= done;
    }
}

/* Reads `count` bytes; 0 at the end of the stream. */
static inline int
get(int fd, void *bytes, size_t count)
{
    while (count > 0) {
	struct pollfd ready = { fd, POLLIN, 0 };
	ssize_t done;

	if (poll(&ready, 1, PATIENCE) == 0)
	    fail("the agent says nothing any more");
	done = read(fd, bytes, count);
	if (done < 0 && errno == EINTR)
	    continue;
	if (done <= 0)
	    return 0;
	bytes = (char *)bytes + done;
	count -= done;
    }
    return 1;
}

/* The next PDU of the agent, in host order up to the header's end: its type, or 0 at the end of the stream. */
static inline int
reply(const Agent *agent, uint32_t *words)
{
    if (!get(agent->from, words, 12))
	return 0;
    words[0] = ntohl(words[0]);
    words[1] = ntohl(words[1]);
    if (words[0] < 12 || words[0] > LONGEST || (words[1] & ~0x1fu) != 0x7000)
	fail("the agent sent what is no PDU");
    if (!get(agent->from, words + 3, words[0] - 12))
	fail("the agent ended in the middle of a PDU");
    return words[1];
}

/* The program and the arguments of another agent, to be started in place of the one above. */
static char **agent_program;

/* Starts an agent and shakes hands with it. */
static inline Agent
agent_start(int interface, void (*prepare)(void))
{
    static const uint32_t credentials[] = { 0x14, 0x700c, 1, 1, 0x01020000 };
    static uint32_t answer[LONGEST / 4];
    struct rlimit memory = { 512u << 20, 512u << 20 };
    uint32_t hello[5];
    int to[2], from[2], i, null;
    Agent agent;

    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
	abort();
    agent.pid = fork();
    if (agent.pid == 0) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(to[0], 0);
	dup2(from[1], 1);
	for (i = 0; i < 2; i++) {
	    close(to[i]);
	    close(from[i]);
	}
	null = open("/dev/null", O_WRONLY);
	if (getenv("HOSTILE_LOG") == NULL)
	    dup2(null, 2);
	close(null);
	if (getenv("HOSTILE_TOOL") == NULL)	/* a tool that watches needs memory of its own */
	    setrlimit(RLIMIT_AS, &memory);
	signal(SIGPIPE, SIG_DFL);
	if (agent_program != NULL) {
	    execv(agent_program[0], agent_program);
	    _exit(127);
	}
	agent_run(interface, prepare);
    }
    close(to[0]);
    close(from[1]);
    agent.to = to[1];
    agent.from = from[0];
    for (i = 0; i < 5; i++)
	hello[i] = htonl(credentials[i]);
    put(agent.to, hello, sizeof(hello));
    if (reply(&agent, answer) != 0x700c)
	fail("the agent does not shake hands");
    return agent;
}

/* Ends the connection; the agent must end by itself. */
static inline void
agent_end(Agent *agent)
{
    static uint32_t words[LONGEST / 4];
    int status;

    close(agent->to);
    if (agent->from >= 0) {
	while (reply(agent, words) != 0)
	    ;
	close(agent->from);
    }
    if (waitpid(agent->pid, &status, 0) != agent->pid)
	abort();
    if (WIFSIGNALED(status)) {
	fprintf(stderr, "FAILED: the agent died of signal %d\n", WTERMSIG(status));
	exit(1);
    }
    /* Some agents say by a 1 that the stream was lost. */
    if (WEXITSTATUS(status) > (agent_program != NULL)) {
	fprintf(stderr, "FAILED: the agent ended with %d\n", WEXITSTATUS(status));
	exit(1);
    }
}

/* A request that only one reply can answer: for a metric of another agent, whose number comes back. */
static inline void
probe_send(const Agent *agent, uint32_t number)
{
    uint32_t request[8] = { 32, 0x7003, 1, 0, 0, 0, 1, 0 };
    int i;

    request[7] = 0x3fffffff & (number | 0x20000000);
    for (i = 0; i < 8; i++)
	request[i] = htonl(request[i]);
    put(agent->to, request, sizeof(request));
}

/* Reads replies until the probe's has come; 0 when the stream ends before. */
static inline int
probe_wait(const Agent *agent, uint32_t number, long *replies)
{
    static uint32_t words[LONGEST / 4];

    for (;;) {
	int type = reply(agent, words);

	if (type == 0)
	    return 0;
	++*replies;
	if (type == 0x7001 && words[0] >= 32 && ntohl(words[6]) == (0x3fffffff & (number | 0x20000000)))
	    return 1;
    }
}

#endif
