/*
 * Lets memory run out: fail_malloc.c is preloaded, and fails one allocation of a call after the other, each in a child
 * process of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* From fail_malloc.c: which allocation fails from now on (-1: none), how many there were, and whether all later ones fail too. */
static void (*arm)(long, size_t);
static long (*seen)(void);
static void (*onwards)(int);
static void (*pause_failing)(int);

/*
 * How a run ends: the call worked though an allocation failed, or failed as it should; no allocation had that number; an
 * answer or a state was wrong; the process died.
 */
enum end { FINE, FAILED, DONE, WRONG, DIED, ENDS };

static inline int
find_fail_malloc(void)
{
    *(void **)&arm = dlsym(RTLD_DEFAULT, "fail_malloc_arm");
    *(void **)&seen = dlsym(RTLD_DEFAULT, "fail_malloc_seen");
    *(void **)&pause_failing = dlsym(RTLD_DEFAULT, "fail_malloc_pause");
    *(void **)&onwards = dlsym(RTLD_DEFAULT, "fail_malloc_onwards");
    if (arm == NULL || seen == NULL || onwards == NULL) {
	fprintf(stderr, "FAILED: fail_malloc.so is not preloaded\n");
	return -1;
    }
    return 0;
}

/* Starts a child whose messages go nowhere unless LOUD is set: what is logged when memory is short is not the question. */
static inline pid_t
quiet_child(void)
{
    pid_t child = fork();

    if (child == 0 && getenv("LOUD") == NULL)
	dup2(open("/dev/null", O_WRONLY), 2);
    return child;
}

static inline enum end
end_of(pid_t child)
{
    int status;

    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) < DIED ? (enum end)WEXITSTATUS(status) : DIED;
}

/* Tells about all runs of one call, and gives what was wrong with them; `of_libpcp` runs may end badly inside of libpcp. */
static inline int
verdict(const char *call, const char *how, int runs, const int count[ENDS], int allocates, int of_libpcp)
{
    int wrong = (count[WRONG] + count[DIED] > of_libpcp) + (count[DONE] == 0);

    printf("%s%s: %d allocations; %d errors, %d not needed; %d wrong, %d died\n", call, how, runs - 1, count[FAILED],
	count[FINE], count[WRONG], count[DIED]);
    if (allocates != (count[FAILED] > 0)) {
	printf("FAILED: %s\n", allocates ? "there is nothing that can fail" : "it must not need memory");
	wrong++;
    }
    return wrong;
}
