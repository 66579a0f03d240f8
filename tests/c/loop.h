/*
 * For the programs about the main loop and the connection: an agent with methods of its own in a child process, and its peer in
 * the parent. The agent writes each request to stderr, the peer prints every reply in hex.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "loop_methods.h"

static pmdaExt extension;
static pmdaInterface dispatch;

/* An agent by hand, as pmdaDaemon and pmdaInit leave it. */
static inline void
agent(int version)
{
    pmSetProgname("agent");
    memset(&extension, 0, sizeof extension);
    memset(&dispatch, 0, sizeof dispatch);
    extension.e_flags = 4;
    extension.e_name = "tester";
    extension.e_domain = 253;
    extension.e_io = pmdaUnknown;
    extension.e_infd = extension.e_outfd = -1;
    extension.e_help = -1;
    extension.e_resultCallBack = own_result;
    extension.e_endCallBack = own_end;
    dispatch.domain = 253;
    dispatch.comm.pmda_interface = version;
    dispatch.comm.flags = 0x44;
    dispatch.version.any.ext = &extension;
    dispatch.version.seven.profile = own_profile;
    dispatch.version.seven.fetch = own_fetch;
    dispatch.version.seven.desc = own_desc;
    dispatch.version.seven.instance = own_instance;
    dispatch.version.seven.text = own_text;
    dispatch.version.seven.store = own_store;
    dispatch.version.seven.pmid = own_pmid;
    dispatch.version.seven.name = own_name;
    dispatch.version.seven.children = own_children;
    dispatch.version.seven.attribute = own_attribute;
    dispatch.version.seven.label = own_label;
}

/* The peer. */
static int to_agent, from_agent;
static pid_t child;

/* Starts an agent on a pipe, which runs `body` and exits. */
static inline void
start(void (*body)(void))
{
    int there[2], back[2];

    fflush(stdout);
    if (pipe(there) < 0 || pipe(back) < 0)
	exit(9);
    signal(SIGPIPE, SIG_IGN);
    child = fork();
    if (child == 0) {
	signal(SIGPIPE, SIG_DFL);
	/* Below the limits of the tests; a loaded machine needs as much. */
	alarm(getenv("HOSTILE_TOOL") ? 250 : 50);
	dup2(there[0], 0);
	dup2(back[1], 1);
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	body();
	_exit(0);
    }
    close(there[0]);
    close(back[1]);
    to_agent = there[1];
    from_agent = back[0];
}

/* The ordinary life of an agent whose methods succeed. */
static inline void
run_loop(void)
{
    extension.e_infd = 0;
    extension.e_outfd = 1;
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

/* An agent of the newest interface that does nothing else. */
static inline void
plain_agent(void)
{
    agent(7);
    run_loop();
}

/* Waits for the end of the agent and tells how it ended. */
static inline void
finish(void)
{
    int status;

    close(to_agent);
    waitpid(child, &status, 0);
    close(from_agent);
    if (WIFEXITED(status))
	printf("agent: exit %d\n", WEXITSTATUS(status));
    else
	printf("agent: signal %d\n", WTERMSIG(status));
}

static inline int
hex_bytes(const char *hex, unsigned char *bytes)
{
    int n = 0, byte;

    while (*hex) {
	if (*hex == ' ') {
	    hex++;
	    continue;
	}
	sscanf(hex, "%2x", &byte);
	bytes[n++] = byte;
	hex += 2;
    }
    return n;
}

static inline void
put(const void *bytes, size_t n)
{
    while (n > 0) {
	ssize_t done = write(to_agent, bytes, n);
	if (done < 0) {
	    printf("peer: write: %s\n", strerror(errno));
	    return;
	}
	bytes = (const char *)bytes + done;
	n -= done;
    }
}

/* Sends bytes given in hex. */
static inline void
post(const char *hex)
{
    unsigned char bytes[4096];
    int n = hex_bytes(hex, bytes);

    printf("> %s\n", hex);
    put(bytes, n);
}

static inline int
get(unsigned char *bytes, int n)
{
    int have = 0;

    while (have < n) {
	struct pollfd wait = { .fd = from_agent, .events = POLLIN };
	ssize_t got;
	if (poll(&wait, 1, 15000) <= 0)
	    return have;
	got = read(from_agent, bytes + have, n - have);
	if (got <= 0)
	    return have;
	have += got;
    }
    return have;
}

/* Prints the next reply; whether there was one. */
static inline int
reply(void)
{
    static unsigned char bytes[1 << 20];
    int n = get(bytes, 12), i, length;

    if (n == 12) {
	length = bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
	if (length > 12 && length <= (int)sizeof bytes)
	    n += get(bytes + 12, length - 12);
    }
    printf("<");
    for (i = 0; i < n && i < 400; i++)
	printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
    printf("%s\n", n == 0 ? " nothing" : n > 400 ? " ..." : "");
    fflush(stdout);
    return n > 0;
}

/* A request and its reply. */
static inline void
ask(const char *hex)
{
    post(hex);
    reply();
}

/* A request without a reply: the description that follows shows that there was none. */
static inline void
tell(const char *hex)
{
    post(hex);
    ask("00000010 00007004 00000000 3f4003ff");
}
