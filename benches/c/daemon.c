/*
 * A daemon agent behind a pipe: the parent is the peer, the child runs pmdaMain.
 * Times are the agent's processor time for "… agent time" scenarios, else the wall clock of a round trip.
 */
#include <arpa/inet.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench.h"

static int to_agent, from_agent;
static pid_t agent_pid;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->ull = pmID_item(metric->m_desc.pmid) + inst;
    return PMDA_FETCH_STATIC;
}

static int
label(pmInDom domain, unsigned int inst, pmLabelSet **set)
{
    (void)domain;
    return pmdaAddLabels(set, "{\"device\":\"sd%u\"}", inst);
}

static int
text(int ident, int type, char **buffer, pmdaExt *ext)
{
    (void)ident;
    (void)type;
    (void)ext;
    *buffer = "one line of help";
    return 0;
}

static void
serve(long instances, int in, int out)
{
    pmdaInterface dispatch;
    pmdaMetric *table = metric_table(10, PM_TYPE_U64, instances ? 1 : PM_INDOM_NULL, 1);
    long i;

    dup2(in, 0);
    dup2(out, 1);
    memset(&dispatch, 0, sizeof(dispatch));
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "bench", DOMAIN, NULL, NULL);
    dispatch.version.any.text = text;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaSetLabelCallBack(&dispatch, label);
    for (i = 0; i < instances; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), NULL);
    pmdaInit(&dispatch, NULL, 0, table, 10);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    _exit(0);
}

static void
send_words(int count, const uint32_t *words)
{
    uint32_t pdu[64];
    int i;

    /* The words are type, from and body; the length in front counts itself. */
    pdu[0] = htonl((count + 1) * 4);
    for (i = 0; i < count; i++)
	pdu[i + 1] = htonl(words[i]);
    must(write(to_agent, pdu, (count + 1) * 4) == (count + 1) * 4, "write to the agent");
}

static void
receive(void *buffer, size_t want)
{
    char *p = buffer;

    while (want > 0) {
	ssize_t got = read(from_agent, p, want);

	must(got > 0, "read from the agent");
	p += got;
	want -= got;
    }
}

/* Reads one PDU; its bytes after the header go into the checksum when `out` is given. */
static uint32_t
reply(struct outcome *out)
{
    static unsigned char *body;
    static size_t room;
    uint32_t header[3];
    size_t length;

    receive(header, sizeof(header));
    length = ntohl(header[0]) - sizeof(header);
    if (length > room)
	body = realloc(body, room = length);
    receive(body, length);
    if (out)
	add_bytes(out, body, length);
    return ntohl(header[1]);
}

static void
start(long instances)
{
    int down[2], up[2];
    const uint32_t creds[] = { 0x700c, 1, 1, 0x01020000 };

    must(pipe(down) == 0 && pipe(up) == 0, "pipe");
    agent_pid = fork();
    must(agent_pid >= 0, "fork");
    if (agent_pid == 0) {
	close(down[1]);
	close(up[0]);
	serve(instances, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    to_agent = down[1];
    from_agent = up[0];
    must(reply(NULL) == 0x700c, "creds");
    send_words(4, creds);
}

static double
agent_time(void)
{
    clockid_t clock;
    struct timespec t;

    must(clock_getcpuclockid(agent_pid, &clock) == 0 && clock_gettime(clock, &t) == 0, "clock of the agent");
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void
measure(long instances, struct outcome *out, int count, const uint32_t *request, long often, int cpu)
{
    long i, turns = rounds(often);
    double began;

    start(instances);
    for (i = 0; i < 3; i++) {
	send_words(count, request);
	must(reply(out) != 0x7000, "an answer that is no error");
    }
    began = cpu ? agent_time() : wall();
    for (i = 0; i < turns; i++) {
	send_words(count, request);
	reply(NULL);
    }
    took(out, (cpu ? agent_time() : wall()) - began, turns);
    close(to_agent);
    waitpid(agent_pid, NULL, 0);
}

static void
fetch(long instances, struct outcome *out, int metrics, long often, int cpu)
{
    uint32_t request[16] = { 0x7003, 0, 0, 0, 0, metrics };
    int i;

    for (i = 0; i < metrics; i++)
	request[6 + i] = (DOMAIN << 22) | PMDA_PMID(0, i);
    measure(instances, out, 6 + metrics, request, often, cpu);
}

/* Requests for a domain of n instances: fewer of them where each is long. */
static long often(long n) { return n < 100 ? 20000 : 500; }

static void fetch_values(long n, struct outcome *out) { fetch(0, out, n, 50000, 0); }
static void fetch_values_cpu(long n, struct outcome *out) { fetch(0, out, n, 50000, 1); }
static void fetch_many(long n, struct outcome *out) { fetch(n, out, 10, often(n), 1); }

static void
desc(long n, struct outcome *out)
{
    const uint32_t request[] = { 0x7004, 0, (DOMAIN << 22) | PMDA_PMID(0, 3) };

    (void)n;
    measure(0, out, 3, request, 50000, 0);
}

static void
help(long n, struct outcome *out)
{
    const uint32_t request[] = { 0x7008, 0, (DOMAIN << 22) | PMDA_PMID(0, 3), 5 };

    (void)n;
    measure(0, out, 4, request, 50000, 0);
}

static void
instances(long n, struct outcome *out)
{
    const uint32_t request[] = { 0x7006, 0, (DOMAIN << 22) | 1, 0, 0, 0xffffffff, 0 };

    measure(n, out, 7, request, often(n), 1);
}

static void
labels(long n, struct outcome *out)
{
    const uint32_t request[] = { 0x7012, 0, (DOMAIN << 22) | 1, PM_LABEL_INSTANCES };

    measure(n, out, 4, request, often(n), 1);
}

const struct scenario daemon_scenarios[] = {
    { "daemon, n values, round trip", fetch_values },
    { "daemon, n values, agent time", fetch_values_cpu },
    { "daemon, 10 metrics, agent time", fetch_many },
    { "daemon, desc, round trip", desc },
    { "daemon, text, round trip", help },
    { "daemon, instances, agent time", instances },
    { "daemon, labels, agent time", labels },
    { NULL, NULL },
};
