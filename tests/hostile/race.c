/*
 * A race on purpose: two threads change the flags of one agent, which belongs to one thread at a time. `make -C tests races` runs it to
 * see that the tool sees it. They start each call together: the tool forgets what a thread did long before.
 */

#include <pthread.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define CALLS	100

static pmdaInterface table;
static pthread_barrier_t start;

static void *
work(void *argument)
{
    int i;

    (void)argument;
    for (i = 0; i < CALLS; i++) {
	pthread_barrier_wait(&start);
	pmdaSetFlags(&table, PMDA_EXT_FLAG_DIRECT);
    }
    return NULL;
}

int
main(void)
{
    pthread_t threads[2];
    int i;

    pmdaDSO(&table, PMDA_INTERFACE_7, "race", NULL);
    pthread_barrier_init(&start, NULL, 2);
    for (i = 0; i < 2; i++)
	if (pthread_create(&threads[i], NULL, work, NULL) != 0)
	    return 1;
    for (i = 0; i < 2; i++)
	pthread_join(threads[i], NULL);
    return 0;
}
