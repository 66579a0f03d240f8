/* What a whole process costs that opens a DSO agent, sets it up and fetches one value. */
#include <spawn.h>
#include <sys/wait.h>
#include "bench.h"

/* The harness says where it has put the program and the agent of benches/dso. */
static void
open_agent(long n, struct outcome *out)
{
    char *host = getenv("BENCH_HOST"), *dso = getenv("BENCH_DSO");
    char *arguments[] = { host, dso, NULL };
    extern char **environ;
    long i;
    double start;

    must(host != NULL && dso != NULL, "BENCH_HOST and BENCH_DSO are set");
    start = wall();
    for (i = 0; i < n; i++) {
	int status;
	pid_t pid;

	must(posix_spawn(&pid, host, NULL, NULL, arguments, environ) == 0, "spawn");
	must(waitpid(pid, &status, 0) == pid, "wait");
	must(status == 0, "the host has fetched the value");
	add(out, status);
    }
    took(out, wall() - start, n);
}

const struct scenario process_scenarios[] = {
    { "process: dlopen, init, one fetch", open_agent },
    { NULL, NULL },
};
