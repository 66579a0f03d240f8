/*
 * Calls every exported function with what it does not expect: NULL, negative and huge numbers, lengths without
 * buffers, objects that are not set up.  Each call is made in a child process of its own.  Expected is that the
 * function returns: no signal, no exit, no call that blocks.
 *
 * calls            prints the names of the functions
 * calls N          tries each function with at most N combinations of values, the same ones each time
 * calls N NAME     tries one function and shows each call that went wrong
 *
 * The last line is "N calls, N failed".
 */

#include "calls.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define RETURNED	77	/* the exit status of a child whose call came back */
#define SECONDS		5	/* no call takes longer */

typedef struct {
    const char *name;
    const char *kinds;	/* letters of calls.h */
} Function;

static const Function functions[] = {
#include "functions.h"
};

/* All are called with the same number of words: the platforms' calling conventions ignore those that are too many. */
typedef long (*Any)(long, long, long, long, long, long, long, long, long, long, long, long, long, long);

static uint64_t seed;

static uint64_t
next(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The arguments of combination `number`: all combinations in order where there are few, else random ones. */
static int
choose(const Function *function, long number, long all, long limit, long *words)
{
    const char *letter;
    int count = 0;

    for (letter = function->kinds; *letter; letter++) {
	const Kind *kind = kind_of(*letter);
	long pick = number == 0 ? 0 : all <= limit ? number % kind->count : (long)(next() % kind->count);

	number = all <= limit ? number / kind->count : number;
	words[count++] = kind->value[pick][0];
	if (kind->words == 2)
	    words[count++] = kind->value[pick][1];
    }
    return count;
}

static int
attempt(Any call, const long *w)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
	int null = open("/dev/null", O_RDWR);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	alarm(SECONDS);
	call(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13]);
	_exit(RETURNED);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
	abort();
    return status;
}

static int
hammer(const Function *function, long limit, int show, long *calls)
{
    Any call = (Any)(uintptr_t)dlsym(RTLD_DEFAULT, function->name);
    long all = 1, number;
    const char *letter;
    int failed = 0;

    if (call == NULL) {
	printf("%s: %s\n", function->name, dlerror());
	return 1;
    }
    for (letter = function->kinds; *letter && all <= limit; letter++)
	all *= kind_of(*letter)->count;
    seed = 1;
    for (number = 0; number < all && number < limit; number++) {
	long words[WORDS] = { 0 };
	int i, status, count = choose(function, number, all, limit, words);

	status = attempt(call, words);
	++*calls;
	if (WIFEXITED(status) && WEXITSTATUS(status) == RETURNED)
	    continue;
	if (failed++ > 0 && !show)
	    continue;
	printf("%s(", function->name);
	for (i = 0; i < count; i++)
	    printf("%s%#lx", i ? ", " : "", words[i]);
	printf("): %s %d\n", WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (failed > 1 && !show)
	printf("%s: %d more\n", function->name, failed - 1);
    return failed;
}

int
main(int argc, char **argv)
{
    struct rlimit none = { 0, 0 };
    long calls = 0, limit = argc > 1 ? atol(argv[1]) : 0;
    int failed = 0;
    size_t i;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (limit > 0) {
	make_world();
	make_kinds();
	setrlimit(RLIMIT_CORE, &none);
    }
    for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
	if (limit == 0)
	    printf("%s\n", functions[i].name);
	else if (argc < 3 || strcmp(argv[2], functions[i].name) == 0)
	    failed += hammer(&functions[i], limit, argc > 2, &calls);
    }
    if (limit > 0)
	printf("%ld calls, %d failed\n", calls, failed);
    return failed != 0;
}
