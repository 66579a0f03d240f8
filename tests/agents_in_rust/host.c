/*
 * A host of the shared object `failing`: it calls each method as pmcd does, then from another thread, after dlclose, when the objects of
 * its thread are gone, and at the very end of its process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

#define DOMAIN 406

/* Of libpcp's own header, which is not installed. */
extern void __pmFreeInResult(pmInResult *);

static pmdaInterface interface;

static void
free_values(pmdaResult *result)
{
    int i, j;

    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];

	for (j = 0; j < set->numval; j++)
	    if (set->valfmt != PM_VAL_INSITU)
		free(set->vlist[j].value.pval);
	free(set);
    }
}

static void
call_all(const char *when)
{
    pmdaExt *ext = interface.version.seven.ext;
    pmID pmids[] = { pmID_build(DOMAIN, 0, 0), pmID_build(DOMAIN, 0, 1), pmID_build(DOMAIN, 0, 2), pmID_build(DOMAIN, 1, 0) }, pmid;
    pmInDom indom = pmInDom_build(DOMAIN, 0);
    pmProfile profile;
    pmdaResult *fetched;
    pmValueSet set;
    /* A host may have a value set at any address. */
    static char odd[1 + sizeof(set)];
    pmdaResult store;
    pmDesc desc;
    pmInResult *instances;
    pmLabelSet *labels;
    char *text, **names;
    int sts[14], i, n = 0, *states;

    memset(&profile, 0, sizeof(profile));
    memset(&store, 0, sizeof(store));
    memset(&set, 0, sizeof(set));
    profile.state = PM_PROFILE_INCLUDE;
    set.pmid = pmids[1];
    set.numval = 1;
    set.vlist[0].inst = PM_IN_NULL;
    set.vlist[0].value.lval = 7;
    memcpy(odd + 1, &set, sizeof(set));
    store.numpmid = 1;
    store.vset[0] = (pmValueSet *)(odd + 1);

    sts[n++] = interface.version.seven.profile(&profile, ext);
    sts[n++] = interface.version.seven.fetch(4, pmids, &fetched, ext);
    if (sts[n - 1] >= 0)
	free_values(fetched);
    sts[n++] = interface.version.seven.desc(pmids[0], &desc, ext);
    sts[n++] = interface.version.seven.instance(indom, PM_IN_NULL, NULL, &instances, ext);
    if (sts[n - 1] >= 0)
	__pmFreeInResult(instances);
    sts[n++] = interface.version.seven.text((int)pmids[0], PM_TEXT_ONELINE | PM_TEXT_PMID, &text, ext);
    sts[n++] = interface.version.seven.store(&store, ext);
    sts[n++] = interface.version.seven.pmid("failing.good", &pmid, ext);
    sts[n++] = interface.version.seven.name(pmids[0], &names, ext);
    if (sts[n - 1] > 0)
	free(names);
    sts[n++] = interface.version.seven.children("failing", 0, &names, &states, ext);
    if (sts[n - 1] > 0) {
	free(names);
	free(states);
    }
    sts[n++] = interface.version.seven.children("failing.good", 0, &names, &states, ext);
    if (sts[n - 1] > 0) {
	free(names);
	free(states);
    }
    sts[n++] = interface.version.seven.attribute(3, PMDA_ATTR_USERID, "0", 2, ext);
    sts[n++] = interface.version.seven.label((int)indom, PM_LABEL_INSTANCES, &labels, ext);
    if (sts[n - 1] > 0)
	pmFreeLabelSets(labels, sts[n - 1]);
    sts[n++] = interface.version.seven.label(DOMAIN, PM_LABEL_DOMAIN, &labels, ext);
    if (sts[n - 1] > 0)
	pmFreeLabelSets(labels, sts[n - 1]);
    if (ext->e_endCallBack != NULL)
	ext->e_endCallBack(3);
    printf("%s:", when);
    for (i = 0; i < n; i++)
	printf(" %d", sts[i]);
    printf("\n");
    fflush(stdout);
}

static void *
another_thread(void *unused)
{
    call_all("another thread");
    return unused;
}

static void
at_exit(void)
{
    call_all("at exit");
}

__attribute__((destructor)) static void
at_the_end(void)
{
    if (interface.status == 0 && interface.version.seven.ext != NULL)
	call_all("destructor");
}

int
main(int argc, char **argv)
{
    void *object;
    void (*init)(pmdaInterface *);
    pthread_t thread;

    if (argc != 2 || (object = dlopen(argv[1], RTLD_NOW)) == NULL)
	return 1;
    init = (void (*)(pmdaInterface *))dlsym(object, "pmda_failing_init");
    interface.domain = DOMAIN;
    init(&interface);
    if (interface.status != 0)
	return 2;
    atexit(at_exit);
    call_all("at once");
    call_all("again");
    if (pthread_create(&thread, NULL, another_thread, NULL) != 0)
	return 3;
    pthread_join(thread, NULL);
    /* Opened again, as by pmcd after SIGHUP: the first agent ends. */
    init(&interface);
    call_all("opened again");
    dlclose(object);
    call_all("after dlclose");
    exit(0);
}
