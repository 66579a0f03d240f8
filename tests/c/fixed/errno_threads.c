/*
 * errno stays as it was after a call that succeeds, also if the call has waited for another thread's. CACHE-7 CACHE-71
 */
/* c-library: not run, its caches are not protected */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define BEFORE	77	/* no errno of any call */
#define ROUNDS	2000000
#define THREADS	3
#define INDOM	pmInDom_build(251, 1)

static volatile int looking = 1;
static pthread_barrier_t start;

static void *
others(void *arg)
{
    pthread_barrier_wait(&start);
    while (looking)
	pmdaCacheOp(INDOM, PMDA_CACHE_SIZE);
    return arg;
}

int
main(void)
{
    pthread_t threads[THREADS];
    int i, kept = 0;

    pthread_barrier_init(&start, NULL, THREADS + 1);
    pmdaCacheStore(INDOM, PMDA_CACHE_ADD, "red", NULL);
    for (i = 0; i < THREADS; i++)
	pthread_create(&threads[i], NULL, others, NULL);
    pthread_barrier_wait(&start);
    for (i = 0; i < ROUNDS; i++) {
	errno = BEFORE;
	pmdaCacheLookup(INDOM, 0, NULL, NULL);
	kept += errno == BEFORE;
    }
    looking = 0;
    for (i = 0; i < THREADS; i++)
	pthread_join(threads[i], NULL);
    printf("errno is kept by %d of %d lookups\n", kept, ROUNDS);
    return 0;
}
