/*
 * Opens a DSO agent as pmcd does, fetches one value and ends. It is linked with neither library: libpcp_pmda
 * and libpcp come in with the agent. The exit status tells whether the value was right.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../../tests/c/generation.h"

int
main(int argc, char **argv)
{
    pmdaInterface dispatch = { .domain = 250 };
    void (*init)(pmdaInterface *);
    pmID metric = 250u << 22;
    pmdaResult *result;
    void *agent;

    if (argc != 2 || (agent = dlopen(argv[1], RTLD_NOW)) == NULL) {
	fprintf(stderr, "host: %s\n", argc == 2 ? dlerror() : "usage: host AGENT");
	return 2;
    }
    *(void **)&init = dlsym(agent, "bench_init");
    if (init == NULL)
	return 3;
    dispatch.comm.pmda_interface = PMDA_INTERFACE_7;
    dispatch.comm.pmapi_version = 2;
    init(&dispatch);
    if (dispatch.status != 0)
	return 4;
    if (dispatch.version.any.fetch(1, &metric, &result, dispatch.version.any.ext) < 0 || result->vset[0]->numval != 1)
	return 5;
    return result->vset[0]->vlist[0].value.pval->vbuf[0] == 42 ? 0 : 6;
}
