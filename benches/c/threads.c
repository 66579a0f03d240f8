/* What a call costs in a process that has a second thread, as pmcd's clients and multi-threaded agents have. */
#include <pthread.h>
#include <unistd.h>
#include "bench.h"

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
    out->ns = (now() - start) / count;
}

const struct scenario thread_scenarios[] = {
    { "lookup by id beside a second thread", beside },
    { NULL, NULL },
};
