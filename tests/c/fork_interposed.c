/*
 * Forks beside a thread that uses the library, where a function stands in front of the C library's syscall, as uid_wrapper's does:
 * it takes a lock, which its handlers hold around forks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define FORKS	300
#define INDOM	0x3ec00001

static atomic_int stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

long
syscall(long number, ...)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    (void)number;
    return -1;
}

static void
take(void)
{
    pthread_mutex_lock(&lock);
}

static void
give(void)
{
    pthread_mutex_unlock(&lock);
}

static void *
use(void *unused)
{
    while (!atomic_load(&stop))
	pmdaCacheStore(INDOM, PMDA_CACHE_ADD, "a", NULL);
    return unused;
}

int
main(void)
{
    pthread_t	thread;
    int		i, status, ended = 0;

    /* Behind the library's: before a fork they run first, behind it last. */
    pthread_atfork(take, give, give);
    if (pthread_create(&thread, NULL, use, NULL) != 0)
	return 1;
    for (i = 0; i < FORKS; i++) {
	pid_t child = fork();

	if (child == 0)
	    _exit(0);
	if (waitpid(child, &status, 0) == child && status == 0)
	    ended++;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    printf("forks: %d\n", ended);
    return 0;
}
