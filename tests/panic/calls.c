/*
 * Calls functions in which the library is asked to panic (PCP_PMDA_PANIC), and prints what each returns. The state is made by functions
 * that are not asked.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static int decoded;

static int
decode(int array, void *data, size_t size, struct timeval *when, void *cookie)
{
    decoded++;
    return 1;
}

int
main(void)
{
    pmInDom indom = pmInDom_build(251, 1);
    struct timeval when = { 1, 2 };
    struct timespec exactly = { 1, 2 };
    pmAtomValue atom = { .ul = 7 };
    pmdaInterface dispatch = { 0 };
    char *text = "untouched";
    int array, queue, sts;

    pmSetProgname("panic");
    setvbuf(stdout, NULL, _IONBF, 0);
    pmdaDSO(&dispatch, PMDA_INTERFACE_7, "panic", NULL);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, "sda", NULL);
    array = pmdaEventNewArray();
    queue = pmdaEventNewQueue("queue", 1024);
    pmdaEventNewClient(1);
    pmdaEventSetAccess(1, queue, 1);
    pmdaEventQueueRecords(queue, &atom, 1, decode, NULL);
    pmdaEventQueueAppend(queue, "event", 5, &when);

    printf("pmdaCacheOp %d\n", pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT));
    printf("pmdaEventAddRecord %d\n", pmdaEventAddRecord(array, &when, PM_EVENT_FLAG_POINT));
    printf("pmdaEventAddHighResRecord %d\n", pmdaEventAddHighResRecord(array, &exactly, PM_EVENT_FLAG_POINT));
    printf("pmdaEventAddParam %d\n", pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom));
    printf("pmdaEventAddHighResParam %d\n", pmdaEventAddHighResParam(array, 1, PM_TYPE_U32, &atom));
    printf("pmdaEventHighResAddParam %d\n", pmdaEventHighResAddParam(array, 1, PM_TYPE_U32, &atom));
    printf("pmdaGetHelp %s\n", pmdaGetHelp(0, 1, PM_TEXT_ONELINE) ? "a text" : "NULL");
    printf("pmdaGetInDomHelp %s\n", pmdaGetInDomHelp(0, indom, PM_TEXT_ONELINE) ? "a text" : "NULL");
    sts = pmdaText(1, PM_TEXT_PMID | PM_TEXT_ONELINE, &text, dispatch.version.any.ext);
    printf("pmdaText %d %s\n", sts, text);
    /* the step behind the decoder */
    sts = pmdaEventQueueRecords(queue, &atom, 1, decode, NULL);
    printf("resume %d, %d decoded\n", sts, decoded);
    return 0;
}
