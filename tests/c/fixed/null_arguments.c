/*
 * Under -Dlibpmda a line names the function and the argument when NULL is refused; a NULL that is allowed, or another error, says
 * nothing of the kind. MAIN-59
 */
/* c-library: not run, it follows most of these pointers */
#include <stdio.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

#define INDOM pmInDom_build(251, 1)
#define SHOW(call) printf("%s = %d\n", #call, (int)(call))

static void
calls(pmdaExt *ext, pmdaNameSpace *tree, int queue, int array)
{
    struct timeval now = { 1, 2 };
    pmAtomValue atom = { .cp = NULL };
    pmLabelSet *sets = NULL;
    pmdaResult *result;
    pmInResult *list;
    pmDesc desc;
    pmID pmid = 0;
    char **names;
    char *text;
    int *states;

    SHOW(pmdaCacheLookupName(INDOM, NULL, NULL, NULL));
    SHOW(pmdaCacheLookupName(INDOM, "none", NULL, NULL));
    SHOW(pmdaTreeCreate(NULL));
    SHOW(pmdaTreeInsert(NULL, 1, "a"));
    SHOW(pmdaTreeInsert(tree, 1, NULL));
    SHOW(pmdaTreePMID(NULL, "a", &pmid));
    SHOW(pmdaTreePMID(tree, NULL, &pmid));
    SHOW(pmdaTreePMID(tree, "none", &pmid));
    SHOW(pmdaTreeName(tree, 1, NULL));
    SHOW(pmdaTreeName(NULL, 1, &names));
    SHOW(pmdaTreeChildren(NULL, "a", 0, &names, &states));
    SHOW(pmdaTreeChildren(tree, "", 0, NULL, &states));
    SHOW(pmdaTreeChildren(tree, "a", 0, NULL, &states));
    SHOW(pmdaTreeChildren(tree, "a", 0, &names, NULL));
    SHOW(pmdaEventNewQueue(NULL, 100));
    SHOW(pmdaEventNewActiveQueue(NULL, 100, 1));
    SHOW(pmdaEventQueueHandle(NULL));
    SHOW(pmdaEventQueueHandle("none"));
    SHOW(pmdaEventQueueAppend(queue, NULL, 4, &now));
    SHOW(pmdaEventQueueAppend(queue, "data", 4, NULL));
    SHOW(pmdaEventQueueCounter(queue, NULL));
    SHOW(pmdaEventQueueCounter(-1, &atom));
    SHOW(pmdaEventAddRecord(array, NULL, PM_EVENT_FLAG_POINT));
    SHOW(pmdaEventAddHighResMissedRecord(array, NULL, 1));
    SHOW(pmdaEventAddRecord(array, &now, PM_EVENT_FLAG_POINT));
    SHOW(pmdaEventAddParam(array, 1, PM_TYPE_32, NULL));
    SHOW(pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom));
    SHOW(pmdaEventAddParam(array, 1, PM_TYPE_AGGREGATE, &atom));
    SHOW(pmdaLabel(0, PM_LABEL_DOMAIN, NULL, ext));
    SHOW(pmdaLabel(0, PM_LABEL_DOMAIN, &sets, NULL));
    SHOW(pmdaLabel(0, 0, &sets, ext));
    SHOW(pmdaFetch(1, &pmid, NULL, ext));
    SHOW(pmdaFetch(1, &pmid, &result, NULL));
    SHOW(pmdaFetch(1, NULL, &result, ext));
    SHOW(pmdaFetch(-1, &pmid, &result, ext));
    SHOW(pmdaProfile(NULL, NULL));
    SHOW(pmdaDesc(1, &desc, NULL));
    SHOW(pmdaText(1, PM_TEXT_PMID, &text, NULL));
    SHOW(pmdaText(1, PM_TEXT_PMID, &text, ext));
    SHOW(pmdaInstance(INDOM, PM_IN_NULL, NULL, NULL, ext));
    SHOW(pmdaInstance(INDOM, PM_IN_NULL, NULL, &list, NULL));
    SHOW(pmdaOpenHelp(NULL));
    SHOW(pmdaOpenHelp("none"));
    SHOW(pmdaDynamicSetClusterMask(NULL, 0));
}

int
main(void)
{
    static pmdaInterface dispatch = { .domain = 251 };
    pmdaNameSpace *tree = NULL;
    int queue, array;

    setvbuf(stdout, NULL, _IOLBF, 0);
    dup2(1, 2);
    pmSetProgname("agent");
    pmdaDSO(&dispatch, PMDA_INTERFACE_7, "agent", NULL);
    pmdaTreeCreate(&tree);
    pmdaTreeInsert(tree, 1, "a.b");
    pmdaTreeRebuildHash(tree, 1);
    queue = pmdaEventNewActiveQueue("queue", 100, 1);
    array = pmdaEventNewArray();
    printf("without the option\n");
    calls(dispatch.version.any.ext, tree, queue, array);
    pmSetDebug("libpmda");
    printf("with the option\n");
    calls(dispatch.version.any.ext, tree, queue, array);
    return 0;
}
