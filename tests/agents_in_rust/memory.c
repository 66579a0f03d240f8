/*
 * A host of the shared object `ticking`, preloaded with tests/hostile/fail_malloc: in each request one allocation of SIZE bytes or more
 * fails, the first, the second ..., each in a child process.  The request works or fails with -ENOMEM, and the next one works.
 *
 * memory OBJECT SIZE
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

#define DOMAIN	401
#define MOST	100000
#define ROWS	3000

/* Of libpcp's own header, which is not installed. */
extern void __pmFreeInResult(pmInResult *);

/* Of tests/hostile/fail_malloc.c, which is preloaded. */
static void (*arm)(long, size_t);
static long (*seen)(void);

static pmdaInterface interface;
#define CALL	interface.version.seven
#define EXT	interface.version.seven.ext

static int
fetch(void)
{
    pmID pmids[] = { pmID_build(DOMAIN, 0, 3), pmID_build(DOMAIN, 1, 0), pmID_build(DOMAIN, 1, 1), pmID_build(DOMAIN, 1, 2) };
    pmdaResult *result;
    int sts = CALL.fetch(4, pmids, &result, EXT), i, j;

    if (sts < 0)
	return sts;
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];

	/* All of it or an error. */
	if (set->numval < sts)
	    sts = set->numval;
	else if (set->numval != 1 && set->numval != ROWS)
	    sts = -1;
	for (j = 0; j < set->numval; j++)
	    if (set->valfmt != PM_VAL_INSITU)
		free(set->vlist[j].value.pval);
	free(set);
    }
    return sts;
}

static int
instance_of(int inst, const char *name)
{
    pmInResult *instances;
    int sts = CALL.instance(pmInDom_build(DOMAIN, 0), inst, (char *)name, &instances, EXT);

    if (sts >= 0)
	__pmFreeInResult(instances);
    return sts;
}

static int
instances(void)
{
    return instance_of(PM_IN_NULL, NULL);
}

static int
name_of_instance(void)
{
    return instance_of(7, NULL);
}

static int
instance_of_name(void)
{
    return instance_of(PM_IN_NULL, "row 7");
}

static int
text(void)
{
    char *text;

    return CALL.text((int)pmID_build(DOMAIN, 1, 0), PM_TEXT_HELP | PM_TEXT_PMID, &text, EXT);
}

static int
labels(void)
{
    pmLabelSet *labels;
    int sts = CALL.label((int)pmInDom_build(DOMAIN, 0), PM_LABEL_INSTANCES, &labels, EXT);

    if (sts > 0)
	pmFreeLabelSets(labels, sts);
    return sts;
}

static int
children(void)
{
    char **names;
    int *states, sts = CALL.children("ticking", 1, &names, &states, EXT);

    if (sts > 0) {
	free(names);
	free(states);
    }
    return sts;
}

static int
name(void)
{
    char **names;
    int sts = CALL.name(pmID_build(DOMAIN, 1, 0), &names, EXT);

    if (sts > 0)
	free(names);
    return sts;
}

static int
pmid(void)
{
    pmID pmid;

    return CALL.pmid("ticking.many", &pmid, EXT);
}

static int
store(void)
{
    static union {
	pmValueBlock	block;
	char		bytes[100000];
    } large;
    pmValueSet set;
    pmdaResult result;

    memset(&large, 'x', sizeof(large) - 1);
    large.block.vtype = PM_TYPE_STRING;
    large.block.vlen = sizeof(large);
    memset(&result, 0, sizeof(result));
    memset(&set, 0, sizeof(set));
    set.pmid = pmID_build(DOMAIN, 1, 2);
    set.numval = 1;
    set.valfmt = PM_VAL_DPTR;
    set.vlist[0].inst = PM_IN_NULL;
    set.vlist[0].value.pval = &large.block;
    result.numpmid = 1;
    result.vset[0] = &set;
    return CALL.store(&result, EXT);
}

static int
profile(void)
{
    static int all[ROWS];
    pmInDomProfile domain = { pmInDom_build(DOMAIN, 0), PM_PROFILE_EXCLUDE, ROWS, all };
    pmProfile profile = { PM_PROFILE_INCLUDE, 1, &domain };
    int i;

    for (i = 0; i < ROWS; i++)
	all[i] = i;
    i = CALL.profile(&profile, EXT);
    profile.profile_len = 0;
    CALL.profile(&profile, EXT);
    return i;
}

static int
attribute(void)
{
    static char value[60000];

    memset(value, 'x', sizeof(value));
    return CALL.attribute(3, PMDA_ATTR_CONTAINER, value, sizeof(value), EXT);
}

static const struct {
    const char	*name;
    int		(*ask)(void);
} requests[] = {
    { "fetch", fetch }, { "instances", instances }, { "name_of_instance", name_of_instance }, { "instance_of_name", instance_of_name },
    { "text", text }, { "labels", labels }, { "children", children }, { "name", name }, { "pmid", pmid }, { "store", store },
    { "profile", profile }, { "attribute", attribute },
};

/* In a child: the n-th allocation fails. */
static int
without(int (*ask)(void), long n, size_t size)
{
    int sts, again;
    long counted;

    arm(n, size);
    sts = ask();
    counted = seen();
    arm(-1, 0);
    again = ask();
    if (sts < 0 && sts != -ENOMEM)
	return 2;
    if (again < 0)
	return 3;
    /* The n-th was not reached. */
    return counted <= n ? 9 : sts < 0;
}

int
main(int argc, char **argv)
{
    void *object;
    void (*init)(pmdaInterface *);
    size_t size, i;
    int failures = 0;

    arm = (void (*)(long, size_t))dlsym(RTLD_DEFAULT, "fail_malloc_arm");
    seen = (long (*)(void))dlsym(RTLD_DEFAULT, "fail_malloc_seen");
    if (argc != 3 || arm == NULL || seen == NULL || (object = dlopen(argv[1], RTLD_NOW)) == NULL)
	return 1;
    size = (size_t)atol(argv[2]);
    init = (void (*)(pmdaInterface *))dlsym(object, "pmda_ticking_init");
    interface.domain = DOMAIN;
    init(&interface);
    if (interface.status != 0)
	return 2;
    for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
	long n, errors = 0, others = 0;

	for (n = 0; n < MOST; n++) {
	    int status;
	    pid_t child;

	    fflush(stdout);
	    child = fork();
	    if (child == 0)
		_exit(without(requests[i].ask, n, size));
	    waitpid(child, &status, 0);
	    if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
		break;
	    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		errors += WEXITSTATUS(status);
	    else {
		if (others++ < 3)
		    printf("FAILED: %s: allocation %ld: %s %d\n", requests[i].name, n, WIFSIGNALED(status) ? "signal" : "code",
			   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		failures++;
	    }
	}
	printf("%s: %ld allocations, %ld errors, %ld failures\n", requests[i].name, n, errors, others);
    }
    return failures > 0;
}
