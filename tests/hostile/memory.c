/*
 * Memory runs out: each allocation of a call in turn fails (fail_malloc.c is preloaded).  The call fails with a code, and
 * the next one works.
 *
 * A run is a child process.  "aborts" counts those that the allocator of Rust ended: there are none.
 *
 * memory
 */

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/generation.h"

#define DOMAIN	249
#define MOST	200

static void (*arm)(long, size_t);
static pmdaInterface table;
static pmdaInstid instances[] = { { 0, "zero" }, { 1, "one" } };
static pmdaIndom indoms[] = { { 1, 2, instances } };
static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_STRING, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, 1), PM_TYPE_64, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static pmdaNameSpace *names;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    if (metric->m_desc.type == PM_TYPE_STRING)
	atom->cp = "value";
    else
	atom->ll = 1;
    return PMDA_FETCH_STATIC;
}

static int
fetch(void)
{
    pmID pmids[] = { pmID_build(DOMAIN, 0, 0), pmID_build(DOMAIN, 0, 1) };
    pmdaResult *result;
    int status = pmdaFetch(2, pmids, &result, table.version.any.ext);

    if (status == 0)
	table.version.any.ext->e_resultCallBack(result);
    return status;
}

static int
instance(void)
{
    pmInResult *answer;

    return pmdaInstance(indoms[0].it_indom, PM_IN_NULL, NULL, &answer, table.version.any.ext);
}

static int
children(void)
{
    char **list;
    int *status;

    return pmdaTreeChildren(names, "a", 0, &list, &status) < 0 ? -1 : 0;
}

static int
name(void)
{
    char **list;

    return pmdaTreeName(names, pmID_build(DOMAIN, 0, 0), &list) < 0 ? -1 : 0;
}

static int
labels(void)
{
    pmLabelSet *set = NULL;

    return pmdaAddLabels(&set, "{\"a\":1,\"b\":[2,3]}") < 0 ? -1 : 0;
}

static int
cache_store(void)
{
    return pmdaCacheStore(pmInDom_build(DOMAIN, 9), PMDA_CACHE_ADD, "name", NULL) < 0 ? -1 : 0;
}

static int
event(void)
{
    struct timeval now = { 1, 2 };
    int array = pmdaEventNewArray();

    return array < 0 || pmdaEventAddRecord(array, &now, 0) < 0 ? -1 : 0;
}

static const struct {
    const char *name;
    int (*body)(void);
} calls[] = {
    { "pmdaFetch", fetch },
    { "pmdaInstance", instance },
    { "pmdaTreeChildren", children },
    { "pmdaTreeName", name },
    { "pmdaAddLabels", labels },
    { "pmdaCacheStore", cache_store },
    { "pmdaEventAddRecord", event },
};

/* One run in a child: 0 nothing failed, 1 the call failed and the next one worked, 2 aborted, 3 anything else. */
static int
run(int (*body)(void), int n)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
	int null = open("/dev/null", O_WRONLY), first;

	dup2(null, 2);
	arm(n, 0);
	first = body();
	arm(-1, 0);
	if (body() != 0)
	    _exit(3);
	_exit(first == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
	return WTERMSIG(status) == SIGABRT ? 2 : 3;
    return WEXITSTATUS(status);
}

int
main(void)
{
    size_t i;
    int n, wrong = 0;

    arm = (void (*)(long, size_t))(size_t)dlsym(RTLD_DEFAULT, "fail_malloc_arm");
    if (arm == NULL) {
	fprintf(stderr, "FAILED: fail_malloc.so is not preloaded\n");
	return 1;
    }
    pmdaDSO(&table, PMDA_INTERFACE_7, "memory", NULL);
    table.domain = DOMAIN;
    pmdaSetFetchCallBack(&table, value);
    pmdaInit(&table, indoms, 1, metrics, 2);
    pmdaTreeCreate(&names);
    pmdaTreeInsert(names, pmID_build(DOMAIN, 0, 0), "a.b");
    pmdaTreeRebuildHash(names, 1);
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
	int count[4] = { 0 };

	for (n = 0; n < MOST; n++) {
	    int end = run(calls[i].body, n);

	    count[end]++;
	    if (end == 0 && n > 20)
		break;
	}
	printf("%s: %d codes, %d aborts, %d other\n", calls[i].name, count[1], count[2], count[3]);
	wrong += count[2] + count[3];
	if (count[1] == 0)
	    wrong++;
    }
    return wrong != 0;
}
