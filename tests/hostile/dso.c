/*
 * A DSO agent is opened, asked and closed again and again, and the library is unloaded with it, since this program
 * does not link it: no descriptor and no mapping stays.  What stays is memory: nothing is freed at unload, as in the C
 * library, which leaves the agent's pmdaExt and its cache behind, 1.1 kB; ours are 2.0 kB.
 *
 * dso ROUNDS FILE
 * cc: -Wl,--as-needed
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/generation.h"
#include "expect.h"

#define LIMIT	2048

/* Not the pages of files: the kernel maps 16 of them for one that is touched, sooner or later. */
static long
anonymous(void)
{
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (file && kilobytes < 0 && fgets(line, sizeof(line), file))
	sscanf(line, "Anonymous: %ld kB", &kilobytes);
    if (file == NULL || kilobytes < 0)
	fail("no smaps_rollup");
    fclose(file);
    return kilobytes;
}

/* The lines of /proc/self/maps that contain `text`. */
static int
mappings(const char *text)
{
    char line[4096];
    int found = 0;
    FILE *file = fopen("/proc/self/maps", "r");

    while (file && fgets(line, sizeof(line), file))
	found += strstr(line, text) != NULL;
    fclose(file);
    return found;
}

/* The lowest descriptor that is free. */
static int
free_descriptor(void)
{
    int fd = dup(2);

    close(fd);
    return fd;
}

static void
use(const char *name)
{
    void *agent = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void (*init)(pmdaInterface *);
    pmdaInterface table;
    pmID pmid = pmID_build(253, 0, 0);
    pmdaResult *result;

    if (agent == NULL)
	fail(dlerror());
    init = (void (*)(pmdaInterface *))(size_t)dlsym(agent, "agent_init");
    memset(&table, 0, sizeof(table));
    table.domain = 253;
    init(&table);
    if (table.status != 0)
	fail("status");
    if (table.version.any.fetch(1, &pmid, &result, table.version.any.ext) != 0 || result->vset[0]->numval != 2)
	fail("fetch");
    table.version.any.ext->e_resultCallBack(result);
    dlclose(agent);
}

int
main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10, i;
    const char *name = argc > 2 ? argv[2] : "./agent_dso.so";
    int maps, fd;
    long before, after, each;

    for (i = 0; i < 50; i++)
	use(name);
    before = anonymous();
    maps = mappings("");
    fd = free_descriptor();
    for (i = 0; i < rounds; i++)
	use(name);
    after = anonymous();
    each = (after - before) * 1024 / rounds;
    if (mappings("libpcp_pmda") != 0)
	fail("the library stays");
    if (free_descriptor() != fd || mappings("") > maps + 2)
	fail("descriptors or mappings stay");
    if (each > LIMIT)
	fail("memory grows");
    printf("%d times opened and closed: %ld kB before, %ld kB after, %ld bytes each time\n", rounds, before, after, each);
    return 0;
}
