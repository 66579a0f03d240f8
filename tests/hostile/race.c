/*
 * A race on purpose: a thread lets the library change the flags of an agent, while another one writes them by hand. `make -C tests races`
 * runs it to see that the tool sees it: calls alone do not race, since each has the library's lock. The tool knows memcpy(3), and not the
 * stores of this program. Both threads begin each round together: the tool forgets what a thread did long before.
 */

#include <pthread.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define ROUNDS	100

static pmdaInterface table;
static pthread_barrier_t start;
/* A call, whatever the compiler knows of it. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void *
by_call(void *argument)
{
    int i;

    (void)argument;
    for (i = 0; i < ROUNDS; i++) {
	pthread_barrier_wait(&start);
	pmdaSetFlags(&table, PMDA_EXT_FLAG_DIRECT);
    }
    return NULL;
}

static void *
by_hand(void *argument)
{
    unsigned int flags = PMDA_EXT_FLAG_DIRECT;
    int i;

    (void)argument;
    for (i = 0; i < ROUNDS; i++) {
	pthread_barrier_wait(&start);
	copy(&table.version.any.ext->e_flags, &flags, sizeof flags);
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
    if (pthread_create(&threads[0], NULL, by_call, NULL) != 0 || pthread_create(&threads[1], NULL, by_hand, NULL) != 0)
	return 1;
    for (i = 0; i < 2; i++)
	pthread_join(threads[i], NULL);
    return 0;
}
