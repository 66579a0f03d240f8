/* What a call costs in a process that has a second thread, as pmcd's clients and multi-threaded agents have. */
#include <pthread.h>
#include <unistd.h>
#include "bench.h"

/*
 * A library that takes one thread at a time, as the C library, must not be called by two: an agent puts a mutex around each call.
 * So do the threads here when BENCH_MUTEX is set.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int needs_mutex;

static void
enter(void)
{
    if (needs_mutex)
	pthread_mutex_lock(&mutex);
}

static void
leave(void)
{
    if (needs_mutex)
	pthread_mutex_unlock(&mutex);
}

static void *
sleeper(void *unused)
{
    (void)unused;
    for (;;)
	pause();
    return NULL;
}

static void
beside(long n, struct outcome *out)
{
    pthread_t thread;
    long i, count = rounds(4000000);
    uint32_t state = 1;
    double start;

    for (i = 0; i < n; i++)
	must(pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), NULL) >= 0, "store");
    must(pthread_create(&thread, NULL, sleeper, NULL) == 0, "a thread");
    start = now();
    for (i = 0; i < count; i++)
	add(out, pmdaCacheLookup(indom(1), next_random(&state) % n, NULL, NULL));
    took(out, now() - start, count);
}

struct worker {
    pthread_t	thread;
    pmInDom	indom;
    long	n;
    long	count;
    uint64_t	sum;
};

static void *
work(void *argument)
{
    struct worker *mine = argument;
    struct outcome out = { 0, 0, 0 };
    uint32_t state = 1;
    long i;
    int answer;

    for (i = 0; i < mine->count; i++) {
	enter();
	answer = pmdaCacheLookup(mine->indom, next_random(&state) % mine->n, NULL, NULL);
	leave();
	add(&out, answer);
    }
    mine->sum = out.sum;
    return NULL;
}

/* Refreshes: all instances inactive, and then stored one by one. */
static void *
refresh(void *argument)
{
    struct worker *mine = argument;
    struct outcome out = { 0, 0, 0 };
    char (*names)[32] = malloc(mine->n * sizeof(*names));
    long i;
    int answer;

    for (i = 0; i < mine->n; i++)
	snprintf(names[i], sizeof(names[i]), "instance%ld", i);
    for (i = 0; i < mine->count; i++) {
	if (i % mine->n == 0) {
	    enter();
	    pmdaCacheOp(mine->indom, PMDA_CACHE_INACTIVE);
	    leave();
	}
	enter();
	answer = pmdaCacheStore(mine->indom, PMDA_CACHE_ADD, names[i % mine->n], NULL);
	leave();
	add(&out, answer);
    }
    mine->sum = out.sum;
    free(names);
    return NULL;
}

/* Two threads at the same time: the time in which each of them has done one call. */
static void
two(long n, struct outcome *out, int domains, void *(*work)(void *))
{
    struct worker workers[2];
    double start;
    long i;
    int w;

    for (w = 0; w < 2; w++) {
	workers[w].indom = indom(1 + w % domains);
	workers[w].n = n;
	workers[w].count = rounds(2000000);
	for (i = 0; i < n; i++)
	    must(pmdaCacheStore(workers[w].indom, PMDA_CACHE_ADD, name_of(i), NULL) >= 0, "store");
    }
    needs_mutex = getenv("BENCH_MUTEX") != NULL;
    start = wall();
    for (w = 0; w < 2; w++)
	must(pthread_create(&workers[w].thread, NULL, work, &workers[w]) == 0, "a thread");
    for (w = 0; w < 2; w++) {
	pthread_join(workers[w].thread, NULL);
	add(out, workers[w].sum);
    }
    took(out, wall() - start, workers[0].count);
}

static void two_domains(long n, struct outcome *out) { two(n, out, 2, work); }
static void one_domain(long n, struct outcome *out) { two(n, out, 1, work); }
static void two_refresh(long n, struct outcome *out) { two(n, out, 2, refresh); }

const struct scenario thread_scenarios[] = {
    { "lookup by id beside a second thread", beside },
    { "two threads look up, two domains", two_domains },
    { "two threads look up, one domain", one_domain },
    { "two threads refresh, two domains", two_refresh },
    { NULL, NULL },
};
