/*
 * Opens a DSO agent as pmcd does and fetches again and again.
 *
 *	host AGENT INIT DOMAIN ITEM ROUNDS
 *
 * Prints nanoseconds of processor time a fetch, and how many values the last one gave. It is not linked with libpcp_pmda: an agent
 * brings it along, or does without.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../../tests/c/generation.h"

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch = { 0 };
    void (*init)(pmdaInterface *);
    pmdaResult *result;
    double before = 0;
    void *agent;
    pmID metric;
    int rounds, i, values = 0;

    if (argc != 6 || (agent = dlopen(argv[1], RTLD_NOW)) == NULL) {
	fprintf(stderr, "host: %s\n", argc == 6 ? dlerror() : "usage: host AGENT INIT DOMAIN ITEM ROUNDS");
	return 2;
    }
    dispatch.domain = atoi(argv[3]);
    metric = pmID_build(dispatch.domain, 0, atoi(argv[4]));
    rounds = atoi(argv[5]);
    *(void **)&init = dlsym(agent, argv[2]);
    if (init == NULL)
	return 3;
    dispatch.comm.pmda_interface = PMDA_INTERFACE_7;
    dispatch.comm.pmapi_version = 2;
    init(&dispatch);
    if (dispatch.status != 0)
	return 4;
    /* What is done once is done in the first three. */
    for (i = -3; i < rounds; i++) {
	if (i == 0)
	    before = now();
	if (dispatch.version.any.fetch(1, &metric, &result, dispatch.version.any.ext) < 0)
	    return 5;
	values = result->vset[0]->numval;
	/* As pmcd does: the values of 32 bits lie in the set, and the rest of the result stays the agent's. */
	free(result->vset[0]);
    }
    printf("%.1f %d\n", (now() - before) / rounds, values);
    return 0;
}
