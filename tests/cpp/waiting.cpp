/*
 * A thread is cancelled while it waits inside of the library: for a request, for pmcd to take a reply, for a connection, for
 * pmdaroot. The same call can be made again afterwards. And an exception of a callback reaches the main of its agent.
 * MAIN-53 MAIN-54 ROOT-11
 *
 * Each has a process of its own, and a line.
 */
#include <exception>
#include <stdexcept>
#include "agent.h"

static const Scene loop = { "loop", NULL, NULL, []() { pmdaMain(&dispatch); } };
static const Scene desc = { "desc", NULL, post_desc, serve };

/* Starts the call of the scene, cancels it when it has had time to wait, and says how it has ended. */
static const char *
cancel_call(void)
{
    pthread_t thread;
    void *end;

    pthread_create(&thread, NULL, run, NULL);
    usleep(200000);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    return end == PTHREAD_CANCELED ? "cancelled" : "ended";
}

/* In the main loop, for a request. */
static void
waiting(void)
{
    new_agent();
    connect_agent(NULL, 0, NULL, 0);
    scene = &loop;
    for (int i = 0; i < 3; i++) {
	if (i > 0)
	    post_desc();
	printf("%s ", cancel_call());
    }
    scene = &desc;
    printf("then %s\n", call());
}

/* In the main loop, until pmcd takes a reply: the pipe to it is full. */
static void
writing(void)
{
    static char filling[4096];

    new_agent();
    connect_agent(NULL, 0, NULL, 0);
    fcntl(back[1], F_SETFL, O_NONBLOCK);
    while (write(back[1], filling, sizeof(filling)) > 0)
	;
    fcntl(back[1], F_SETFL, 0);
    scene = &loop;
    post_desc();
    printf("%s ", cancel_call());
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    while (read(back[0], filling, sizeof(filling)) > 0)
	;
    scene = &desc;
    printf("then %s\n", call());
}

/* In a call that sends a status, until pmcd takes it. */
static void
sending(void)
{
    static const Scene status = { "status", NULL, NULL, []() { pmdaSendError(&dispatch, PM_ERR_PMID); } };
    static char filling[4096];

    new_agent();
    connect_agent(NULL, 0, NULL, 0);
    fcntl(back[1], F_SETFL, O_NONBLOCK);
    while (write(back[1], filling, sizeof(filling)) > 0)
	;
    fcntl(back[1], F_SETFL, 0);
    scene = &status;
    printf("%s ", cancel_call());
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    while (read(back[0], filling, sizeof(filling)) > 0)
	;
    printf("then %s\n", call());
}

/* An agent as the C++ binding makes them: what its callback throws reaches its main. */
static void
agent_main(void)
{
    static pmdaMetric metric;

    new_agent();
    metric.m_desc.pmid = PMDA_PMID(0, 0);
    metric.m_desc.indom = PM_INDOM_NULL;
    pmdaSetFetchCallBack(&dispatch, [](pmdaMetric *, unsigned int, pmAtomValue *) -> int {
	throw std::runtime_error("no values today");
    });
    connect_agent(NULL, 0, &metric, 1);
    post_fetch();
    try {
	pmdaMain(&dispatch);
	printf("returned\n");
    }
    catch (const std::exception &error) {
	printf("%s\n", error.what());
    }
}

/* Waits for a client that never connects; pmdaroot is asked again when it has ended. */
static int silent[2];
static int told;

static const Scene waits[] = {
    { "pmdaroot's introduction", NULL, NULL, []() { int version, features; told = __pmdaRecvRootPDUInfo(silent[0], &version, &features); } },
    { "pmdaroot's answer", NULL, NULL, []() { int status; told = pmdaRootProcessWait(silent[0], 1, &status); } },
    { "a started agent", NULL, NULL,
	[]() { int pid, in, out; told = pmdaRootProcessStart(silent[0], 1, "agent", 5, "args", 4, &pid, &in, &out); } },
    { "a connection", []() { ext->e_io = pmdaUnix; ext->e_sockname = (char *)"socket"; }, NULL, []() { pmdaConnect(&dispatch); } },
    { "credentials", []() {}, NULL, []() { pmdaConnect(&dispatch); } },
};

static void
nobody_comes(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, silent) < 0)
	_exit(9);
    new_agent();
    if (scene->set)
	scene->set();
    /* The agent talks to pmcd where others have their output. */
    FILE *report = fdopen(dup(1), "w");
    dup2(there[0], 0);
    dup2(back[1], 1);
    fprintf(report, "%s, ", cancel_call());
    fprintf(report, "%s", cancel_call());
    shutdown(silent[1], SHUT_RDWR);
    if (scene->set == NULL) {
	scene->call();
	fprintf(report, "; then %d", told);
    }
    fprintf(report, "\n");
    fclose(report);
}

int
main(void)
{
    for (const Scene &one : waits) {
	scene = &one;
	in_a_child(one.name, "pthread_cancel", nobody_comes);
    }
    in_a_child("waiting", "pthread_cancel", waiting);
    in_a_child("writing", "pthread_cancel", writing);
    in_a_child("sending", "pthread_cancel", sending);
    in_a_child("main", "exception", agent_main);
    return 0;
}
