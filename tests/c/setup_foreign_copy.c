/*
 * An agent that was linked with a copy of the C library is loaded into a program that runs on this library, which then moves
 * its table, as pmcd does. The agent's records are not this library's: nothing but the table's new address may be written
 * there, and it has to be. MAIN-41 INIT-51
 * dso: static_agent
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include "setup.h"

int
main(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 4);
    pmdaInterface moved, own, *table;
    void (*init)(pmdaInterface *);
    void *agent;
    pmID pmids[] = { pmID_build(77, 0, 0), pmID_build(77, 0, 9) };
    pmInResult *list;
    pmdaResult *result;
    pmLabelSet *set = NULL;
    pmDesc desc;
    pmdaExt *ext;
    int i, sts;

    setvbuf(stdout, NULL, _IONBF, 0);
    table = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(path + (length < 0 ? 0 : length), ".so");
    agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (table == MAP_FAILED || agent == NULL)
	return 1;
    init = (void (*)(pmdaInterface *))(uintptr_t)dlsym(agent, "static_init");
    table->domain = 77;
    init(table);
    printf("status %d, methods of this library: %d\n", table->status, table->version.any.fetch == pmdaFetch);

    moved = *table;
    pmdaInterfaceMoved(&moved);
    munmap(table, 4096);
    ext = moved.version.any.ext;
    ext->e_context = 3;
    sts = moved.version.any.fetch(2, pmids, &result, ext);
    printf("fetch %d: %d values, the second %d; %d values\n", sts, result->vset[0]->numval,
	result->vset[0]->vlist[1].value.lval, result->vset[1]->numval);
    ext->e_resultCallBack(result);
    printf("desc %d\n", moved.version.any.desc(pmids[0], &desc, ext));
    printf("instances %d\n", moved.version.any.instance(pmInDom_build(77, 1), PM_IN_NULL, NULL, &list, ext));
    printf("labels %d\n", moved.version.seven.label(pmids[0], PM_LABEL_ITEM, &set, ext));
    printf("store %d\n", moved.version.any.store(NULL, ext));
    printf("context here %d\n", pmdaGetContext());

    /* A table of this library in the same process, set up afterwards. */
    memset(&own, 0, sizeof(own));
    own.domain = 78;
    pmdaDSO(&own, PMDA_INTERFACE_7, "own", NULL);
    own.version.any.text = NULL;
    pmdaSetFetchCallBack(&own, setup_fetch);
    pmdaInit(&own, NULL, 0, NULL, 0);
    pmdaSetData(&own, &moved);
    for (i = 0; i < 2; i++) {
	printf("own %d, store %d\n", own.status, own.version.any.store(NULL, own.version.any.ext));
	printf("data is kept: %d\n", pmdaExtGetData(own.version.any.ext) == &moved);
	printf("static again %d\n", moved.version.any.desc(pmids[0], &desc, ext));
	pmdaInterfaceMoved(&own);
    }
    return 0;
}
