/*
 * How much of a thread's stack a save and a load of a cache take, the first and the later ones: the stack is painted before each call.
 * One line for each: "load first 4321".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define PAINT 0xa5
#define STACK (256 * 1024)
#define DOMAIN 250

static unsigned char *stack;
static int operation, result;

/* Paints the stack below this frame, then makes the call. */
static void *
call(void *deepest)
{
    volatile unsigned char *here = (unsigned char *)__builtin_frame_address(0) - 256;
    volatile unsigned char *at;

    for (at = stack; at < here; at++)
	*at = PAINT;
    result = pmdaCacheOp(pmInDom_build(DOMAIN, 1), operation);
    for (at = stack; at < here && *at == PAINT; at++)
	;
    *(size_t *)deepest = here - at;
    return NULL;
}

static void
measure(const char *name, int op, const char *when)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t used = 0;

    operation = op;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    if (pthread_create(&thread, &attributes, call, &used) != 0)
	exit(9);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (result < 0)
	printf("%s fails: %s\n", name, pmErrStr(result));
    printf("%s %s %zu\n", name, when, used);
}

static void
fill(int first)
{
    char name[32];
    int i;

    for (i = first; i < first + 100; i++) {
	snprintf(name, sizeof name, "instance-%d", i);
	pmdaCacheStore(pmInDom_build(DOMAIN, 1), PMDA_CACHE_ADD, name, NULL);
    }
}

static void
twice(const char *name, int op)
{
    measure(name, op, "first");
    fill(100);
    measure(name, op, "again");
    fflush(stdout);
}

/* Each has a process of its own, as libpcp and the loader need more for the first call of all. */
int
main(void)
{
    pid_t child = fork();
    int status;

    stack = aligned_alloc(4096, STACK);
    if (child == 0) {
	fill(0);
	twice("save", PMDA_CACHE_SAVE);
	return 0;
    }
    waitpid(child, &status, 0);
    twice("load", PMDA_CACHE_LOAD);
    return status != 0;
}
