#ifndef AGENT_H
#define AGENT_H
/*
 * Helpers of the C++ programs: an agent at two pipes, requests to it, calls in threads of their own, and a process for each
 * part of a test.
 */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pcp/pmdaroot.h>

#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
typedef pmResult Result;
#else
typedef pmdaResult Result;
#endif

static const int domain = 253;
static const uint32_t pmid0 = domain << 22;
static pmdaInterface dispatch;
static pmdaExt *ext;
static int to_agent;
static jmp_buf out;

/* How often functions of the agent are left from now on. */
static int leaves;

/* What takes pmcd's place: pipes to the agent, and back. */
static int there[2], back[2];

/* Makes the agent; the caller says what it serves, and then connect_agent() leads it to the pipes. */
static void
new_agent(void)
{
    if (pipe(there) < 0 || pipe(back) < 0)
	_exit(9);
    to_agent = there[1];
    pmSetProgname("leaving");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = [](int, int, char **text, pmdaExt *) { *text = (char *)"text"; return 0; };
    pmdaSetFetchCallBack(&dispatch, [](pmdaMetric *, unsigned int, pmAtomValue *) { return 0; });
}

static void
connect_agent(pmdaIndom *indoms, int nindoms, pmdaMetric *metrics, int nmetrics)
{
    pmdaInit(&dispatch, indoms, nindoms, metrics, nmetrics);
    ext->e_infd = there[0];
    ext->e_outfd = back[1];
}

/* Requests. */
static void
request(std::initializer_list<uint32_t> words)
{
    uint32_t bytes[32], n = 0;

    for (uint32_t word : words)
	bytes[n++] = __builtin_bswap32(word);
    if (write(to_agent, bytes, n * 4) != (ssize_t)(n * 4))
	_exit(9);
}

static void post_fetch(void) { request({ 32, 0x7003, 1, 1, 0, 0, 1, pmid0 }); }
static void post_desc(void) { request({ 16, 0x7004, 1, pmid0 }); }

static void serve(void) { __pmdaMainPDU(&dispatch); }

/* A function of the agent, how it gets to the library, the request, and the call that leads to it. */
struct Scene {
    const char *name;
    void (*set)(void);
    void (*post)(void);
    void (*call)(void);
};

/* One call, in a thread of its own, which gives one of these places; how it has ended. */
static const Scene *scene;
static int returned, jumped, caught;

static void *
run(void *)
{
    if (setjmp(out) != 0)
	return &jumped;
    try {
	scene->call();
    }
    catch (int thrown) {
	caught = thrown;
	return &caught;
    }
    return &returned;
}

[[maybe_unused]] static const char *
call(void)
{
    pthread_t thread;
    void *end;

    if (scene->post) {
	int kept = leaves;
	leaves = 0;
	scene->post();
	leaves = kept;
    }
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, &end);
    return end == &returned ? "returned" : end == PTHREAD_CANCELED ? "cancelled" : end == &out ? "exited" :
	end == &caught && caught == 42 ? "caught" : "jumped";
}

static void
in_a_child(const char *name, const char *how, void (*body)(void))
{
    const struct rlimit no_core = { 0, 0 };
    int status;

    setrlimit(RLIMIT_CORE, &no_core);
    printf("%s, %s: ", name, how);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
	alarm(20);
	body();
	fflush(stdout);
	_exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
	printf("signal %d\n", WTERMSIG(status));
    fflush(stdout);
}

#endif
