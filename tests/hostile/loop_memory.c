/*
 * Memory runs out in the main loop: for a request of each kind, for what is no request, and for a connection that is lost,
 * each allocation in turn fails, alone or with all that follow, without and with debug output.  The call ends with a code,
 * or an error or the usual reply goes out whole; the next request is served.  And a request of 300 MB under a limit of
 * 200 MB ends the loop with -ENOMEM.
 *
 * Each run is a child process.
 *
 * loop_memory
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RTLD_NEXT */
#endif
#include "daemon.h"
#include "requests.h"
#include <stdarg.h>
#include <sys/socket.h>
#include "starve.h"

#define MOST	400

static pmdaInterface table;
static int to_agent[2], from_agent[2];
static int refusing;

static int
check(void)
{
    return refusing ? PM_ERR_PERMISSION : 0;
}

/*
 * libpcp's own log: without memory it says so, for which it has no memory either, until the stack ends.  The line has to
 * arrive here; what libpcp makes of it is not the question.
 */
void
pmNotifyErr(int priority, const char *format, ...)
{
    static void (*real)(int, const char *, ...);
    char text[4096];
    va_list arguments;

    if (pause_failing)
	pause_failing(1);
    if (real == NULL)
	*(void **)&real = dlsym(RTLD_NEXT, "pmNotifyErr");
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    real(priority, "%s", text);
    if (pause_failing)
	pause_failing(0);
}

extern int __pmGetDomainLabels(int, const char *, pmLabelSet **);

/* libpcp's parser of labels does not look at what malloc gave it. */
int
__pmGetDomainLabels(int domain, const char *name, pmLabelSet **set)
{
    static int (*real)(int, const char *, pmLabelSet **);
    int status;

    if (pause_failing)
	pause_failing(1);
    if (real == NULL)
	*(void **)&real = dlsym(RTLD_NEXT, "__pmGetDomainLabels");
    status = real(domain, name, set);
    if (pause_failing)
	pause_failing(0);
    return status;
}

/* Other PDUs and events. */
static const struct {
    const char *name;
    int length;
    uint32_t word[8];
    enum { AS_IS, END, LOST, REFUSED } how;
} others[] = {
    { "an unknown type", 16, { 16, 0x7055, 1, 0 }, AS_IS },
    { "a type that no PDU has", 12, { 12, 0xffffffff, 1 }, END },
    { "a length that no PDU has", 12, { 11, 0x7003, 1 }, END },
    { "the end of the stream", 0, { 0 }, END },
    { "the end in a length", 3, { 0 }, END },
    { "the end in a header", 11, { 36, 0x7003, 1 }, END },
    { "the end in a PDU", 16, { 36, 0x7003, 1, 0 }, END },
    { "a fetch that is cut", 16, { 16, 0x7003, 1, 0 }, AS_IS },
    { "an error that is none of ours", 16, { 16, 0x7000, 1, 0xffffff00 }, AS_IS },
    { "a lost connection", 16, { 16, 0x7004, 1, VALUE }, LOST },
    { "a lost connection and an error", 16, { 16, 0x7004, 1, 7 }, LOST },
    { "a refused request", 16, { 16, 0x7004, 1, VALUE }, REFUSED },
    { "a refused request and a lost connection", 16, { 16, 0x7004, 1, VALUE }, LOST },
};
#define OTHERS ((int)(sizeof(others) / sizeof(others[0])))

/* The reply that is there: its length, 0 for none, -1 for what is no PDU. */
static int
answered(unsigned char *bytes)
{
    uint32_t length;
    ssize_t got = recv(from_agent[0], bytes, LONGEST, MSG_DONTWAIT);

    if (got <= 0)
	return 0;
    memcpy(&length, bytes, 4);
    return got >= 12 && ntohl(length) == (uint32_t)got ? (int)got : -1;
}

static void
set_up(void)
{
    pmdaDaemon(&table, PMDA_INTERFACE_7, "hostile", DOMAIN, "hostile.log", NULL);
    agent_tables(&table, PMDA_INTERFACE_7);
    if (table.status != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, to_agent) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, from_agent) != 0)
	fail("set up");
    table.version.any.ext->e_infd = to_agent[1];
    table.version.any.ext->e_outfd = from_agent[1];
    pmdaSetCheckCallBack(&table, check);
    signal(SIGPIPE, SIG_IGN);
}

/* One run of a request, or of one of the others. */
static enum end
run(int which, int n, int all, int debug)
{
    pid_t child = quiet_child();

    if (child == 0) {
	static unsigned char first[LONGEST], second[LONGEST];
	unsigned char request[4 * MAXWORDS];
	int i, size, status, one, two, how = AS_IS;
	uint32_t code;
	long count;

	set_up();
	if (debug)
	    pmSetDebug("libpmda,pdu,desperate,labels,attr,auth,context,indom,appl0");
	if (which < REQUESTS)
	    size = encode(&requests[which], request);
	else {
	    how = others[which - REQUESTS].how;
	    size = others[which - REQUESTS].length;
	    for (i = 0; i < 8; i++) {
		uint32_t word = htonl(others[which - REQUESTS].word[i]);

		memcpy(request + 4 * i, &word, 4);
	    }
	}
	refusing = how == REFUSED || which == REQUESTS + OTHERS - 1;
	put(to_agent[0], request, size);
	if (how == END)
	    shutdown(to_agent[0], SHUT_WR);
	if (how == LOST)
	    close(from_agent[0]);
	onwards(all);
	arm(n, 0);
	status = __pmdaMainPDU(&table);
	count = seen();
	arm(-1, 0);
	if (count <= n && status < 0 && how != END)
	    _exit(WRONG);
	if (status < 0)
	    _exit(how == END ? (count > n ? FINE : DONE) : status == -ENOMEM ? FAILED : WRONG);
	if (how == LOST)
	    _exit(count > n ? FINE : DONE);
	one = answered(first);
	if (one < 0)
	    _exit(WRONG);
	put(to_agent[0], request, size);
	if (__pmdaMainPDU(&table) < 0)
	    _exit(WRONG);
	two = answered(second);
	if (two < 0 || (one == 0) != (two == 0))
	    _exit(WRONG);
	if (one == two && memcmp(first, second, one) == 0)
	    _exit(count > n ? FINE : DONE);
	/* Another answer than without the failure: an error that says so, or labels and values that have one. */
	if (count <= n)
	    _exit(WRONG);
	memcpy(&code, first + 4, 4);
	_exit(FAILED);
    }
    return end_of(child);
}

/* A request that is announced, and comes, and for which there is no memory. */
static int
large(void)
{
    struct rlimit memory = { 200u << 20, 200u << 20 };
    static unsigned char zeros[1 << 16];
    uint32_t head[] = { htonl(300u << 20), htonl(0x7003), 0 };
    pid_t child = quiet_child(), writer;
    int status, i;

    if (child == 0) {
	set_up();
	writer = fork();
	if (writer == 0) {
	    put(to_agent[0], head, sizeof(head));
	    for (i = 0; i < (300 << 20) / (int)sizeof(zeros); i++)
		put(to_agent[0], zeros, sizeof(zeros));
	    _exit(0);
	}
	setrlimit(RLIMIT_AS, &memory);
	status = __pmdaMainPDU(&table);
	kill(writer, SIGKILL);
	_exit(status == -ENOMEM ? 0 : 1);
    }
    waitpid(child, &status, 0);
    printf("300 MB under a limit of 200 MB: %s\n", status == 0 ? "-ENOMEM" : WIFSIGNALED(status) ? "died" : "another end");
    return status != 0;
}

int
main(void)
{
    int which, all, debug, n, wrong = 0;
    long runs = 0, errors = 0;

    if (find_fail_malloc() < 0)
	return 1;
    /* The first line of a log loads the time zone, with some 170 allocations of the C library. */
    pmNotifyErr(LOG_INFO, "each allocation fails in turn");
    for (which = 0; which < REQUESTS + OTHERS; which++)
	for (all = 0; all < 2; all++)
	    for (debug = 0; debug < 2; debug++) {
		int count[ENDS] = { 0 };

		for (n = 0; n < MOST && count[DONE] == 0; n++) {
		    enum end end = run(which, n, all, debug);

		    count[end]++;
		    runs++;
		    errors += end == FAILED;
		    if (end == WRONG || end == DIED) {
			printf("FAILED: %s %d%s%s: allocation %d: %s\n", which < REQUESTS ? "request" : others[which - REQUESTS].name,
			    which, all ? ", all from one on" : "", debug ? ", debug output" : "", n, end == DIED ? "died" : "wrong");
			wrong++;
		    }
		}
		if (count[DONE] == 0)
		    wrong++;
	    }
    wrong += large();
    printf("%d kinds: %ld allocations failed, %ld times the answer was an error; %d wrong\n", REQUESTS + OTHERS, runs, errors, wrong);
    return wrong != 0;
}
