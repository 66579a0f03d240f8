/*
 * A process that uses the library ends by exit() in a signal handler, on top of malloc or of a call: it ends at once, as
 * with the C library.
 *
 * exits COUNT
 */

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	249
#define LIMIT	5	/* seconds for a process */

static void
end(int signal)
{
    (void)signal;
    exit(0);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->ul = inst;
    return PMDA_FETCH_STATIC;
}

/* With a second thread malloc takes its locks. */
static void *
idle(void *unused)
{
    pause();
    return unused;
}

/* Uses the library until it is killed; most of the time is spent in malloc and free, here or there. */
static void
work(void)
{
    static pmdaInterface table;
    static pmdaMetric metric = { NULL, { 0, PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } };
    pmInDom indom = pmInDom_build(DOMAIN, 1);
    void *blocks[64];
    char name[32];
    pthread_t thread;
    unsigned round;
    int i;

    pmdaDSO(&table, PMDA_INTERFACE_7, "exits", NULL);
    table.domain = DOMAIN;
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, NULL, 0, &metric, 1);
    pthread_create(&thread, NULL, idle, NULL);
    signal(SIGTERM, end);
    for (round = 0;; round++) {
	if (write(STDOUT_FILENO, "", round == 0) < 0)
	    _exit(1);
	snprintf(name, sizeof(name), "name%u", round % 1000);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
	/* Of sizes that malloc keeps in its arena, under its lock. */
	for (i = 0; i < 64; i++)
	    blocks[i] = malloc(2000 + 64 * ((i * 7 + round) % 97));
	for (i = 0; i < 64; i++)
	    free(blocks[(i * 5) % 64]);
    }
}

int
main(int argc, char **argv)
{
    int i, count = argc > 1 ? atoi(argv[1]) : 60, status, ready[2], bad = 0;
    char byte;
    pid_t child;

    for (i = 0; i < count; i++) {
	if (pipe(ready) < 0 || (child = fork()) < 0)
	    return 1;
	if (child == 0) {
	    alarm(LIMIT);
	    dup2(ready[1], STDOUT_FILENO);
	    work();
	}
	if (read(ready[0], &byte, 1) != 1)
	    return 1;
	usleep(500 + 37 * (i % 50));
	kill(child, SIGTERM);
	waitpid(child, &status, 0);
	bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	close(ready[0]);
	close(ready[1]);
    }
    if (bad) {
	fprintf(stderr, "FAILED: %d of %d processes did not end by exit\n", bad, count);
	return 1;
    }
    printf("%d processes ended by exit\n", count);
    return 0;
}
