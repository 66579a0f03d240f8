/*
 * A signal handler on top of a call is left for good: by siglongjmp, after which the thread calls again, from frames further up
 * and further down the stack, on the usual stack and on one of its own; or by pthread_exit, which ends the thread, while the
 * others go on.
 *
 * jumps COUNT
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include "../c/help_fixture.h"
#include "../c/generation.h"

#define DOMAIN	245
#define NAMES	50

static pmInDom indom;
static pmdaInterface table;
static sigjmp_buf back;
static volatile sig_atomic_t armed, busy_on_top;
static atomic_int exited;

static void
expect(int holds, const char *what)
{
    if (!holds) {
	fprintf(stderr, "FAILED: %s\n", what);
	_exit(1);
    }
}

/* No call that allocates is interrupted by these: what malloc holds then is lost with any library. */
static int
one_call(int turn)
{
    return pmdaCacheLookup(indom, turn % NAMES, NULL, NULL);
}

static void
jump(int signal)
{
    (void)signal;
    if (!armed)
	return;
    if (one_call(0) == -EBUSY)
	busy_on_top++;
    armed = 0;
    siglongjmp(back, 1);
}

static void
leave(int signal)
{
    (void)signal;
    exited++;
    pthread_exit(NULL);
}

/* Calls from further down the stack than those that were left. */
__attribute__((noinline)) static int
deeper(int depth, int turn)
{
    volatile char room[1000];

    room[0] = room[999] = (char)depth;
    return depth > 0 ? deeper(depth - 1, turn) + (room[0] != room[999]) : one_call(turn);
}

static void
rounds(int count)
{
    struct itimerval soon = { { 0, 0 }, { 0, 0 } };
    volatile int round, turn = 0;

    for (round = 0; round < count; round++) {
	if (sigsetjmp(back, 1) == 0) {
	    armed = 1;
	    soon.it_value.tv_usec = 50 + round % 100;
	    setitimer(ITIMER_REAL, &soon, NULL);
	    if (round % 3 == 0)
		for (;;)
		    deeper(3, turn++);
	    for (;;)
		one_call(turn++);
	}
	if (round % 2)
	    expect(deeper(9, turn) == PMDA_CACHE_ACTIVE, "a call from further down");
	expect(one_call(turn) == PMDA_CACHE_ACTIVE, "a call");
	expect(pmdaCacheStore(indom, PMDA_CACHE_ADD, "name0", NULL) == 0, "a store");
    }
}

static void *
on_a_thread(void *argument)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    sigset_t alarms;

    /* As in until_left. */
    one_call(0);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    pthread_mutex_lock(&one);
    rounds((int)(intptr_t)argument);
    pthread_mutex_unlock(&one);
    return NULL;
}

static void *
until_left(void *ready)
{
    int turn = 0;

    /* The first call of a thread may allocate: its thread-local variables. */
    one_call(turn++);
    atomic_store((atomic_int *)ready, 1);
    for (;;)
	one_call(turn++);
    return NULL;
}

int
main(int argc, char **argv)
{
    int i, count = argc > 1 ? atoi(argv[1]) : 100;
    struct sigaction action;
    stack_t stack;
    char name[16];
    pthread_t thread;
    sigset_t alarms;
    void *end;

    indom = pmInDom_build(DOMAIN, 1);
    for (i = 0; i < NAMES; i++) {
	snprintf(name, sizeof(name), "name%d", i);
	expect(pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL) == i, "store");
    }
    pmdaDSO(&table, PMDA_INTERFACE_7, "jumps", NULL);
    memset(&action, 0, sizeof(action));
    action.sa_handler = jump;
    sigaction(SIGALRM, &action, NULL);
    rounds(count);
    /* The handler on a stack of its own, above and below the usual one. */
    memset(&stack, 0, sizeof(stack));
    stack.ss_size = 1 << 16;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGALRM, &action, NULL);
    rounds(count);
    printf("%d calls on top of calls were refused\n", (int)busy_on_top);

    /* Threads that end in a handler, one after the other, beside one that goes on. */
    action.sa_handler = leave;
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, NULL);
    for (i = 0; i < count; i++) {
	atomic_int ready = 0;

	expect(pthread_create(&thread, NULL, until_left, &ready) == 0, "a thread");
	while (!ready)
	    ;
	for (int turn = 0; turn < 50 + i % 100; turn++)
	    one_call(turn);
	pthread_kill(thread, SIGUSR1);
	expect(pthread_join(thread, &end) == 0 && end == NULL, "the end of a thread");
	expect(pmdaCacheStore(indom, PMDA_CACHE_ADD, "name0", NULL) == 0, "a store");
    }
    expect(exited == count, "all have ended in the handler");

    /* The jumps on a second thread: the alarms go there, and none to this one, which would jump onto the other's stack. */
    action.sa_handler = jump;
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    expect(pthread_create(&thread, NULL, on_a_thread, (void *)(intptr_t)count) == 0, "a thread");
    pthread_join(thread, NULL);
    printf("%d handlers left\n", 4 * count);
    return 0;
}
