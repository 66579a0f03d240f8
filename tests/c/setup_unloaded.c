/*
 * A host closes an agent that it has loaded, as dbpmda does. The library is closed with the agent, as this program does not link it.
 * The data that the host still has stay valid: the extension, the name of an instance. Below valgrind (make -C tests memcheck,
 * tests/memcheck.rs) nothing that the library has left is possibly lost, although the name may lie inside of a block.
 * INIT-14 CACHE-25
 * cc: -Wl,--as-needed
 * dso: unloaded_agent
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaInterface table;
static char *name;

int
main(void)
{
    char path[4096], line[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 4);
    char *(*init)(pmdaInterface *);
    int mapped = 0;
    FILE *maps;
    void *agent;

    strcpy(path + (length < 0 ? 0 : length), ".so");
    if ((agent = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL)
	return 1;
    init = (char *(*)(pmdaInterface *))(uintptr_t)dlsym(agent, "unloaded_init");
    table.domain = 77;
    name = init(&table);
    printf("status %d\n", table.status);
    dlclose(agent);
    if ((maps = fopen("/proc/self/maps", "r")) == NULL)
	return 1;
    while (fgets(line, sizeof(line), maps))
	mapped += strstr(line, "libpcp_pmda") != NULL;
    fclose(maps);
    printf("the library is %s\n", mapped ? "there" : "gone");
    printf("agent in domain %d, instance %s\n", table.version.any.ext->e_domain, name);
    return 0;
}
