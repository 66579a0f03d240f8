/*
 * The number of missed events in a record of high resolution reaches the client, as it does in one of low resolution: the
 * C library sends 0. The record in front of it, its parameters, and the record behind it are not touched.
 * WIRE-46 WIRE-47 MAIN-52 EVENT-21
 */
#include "../loop.h"

static int handle;

static int
event_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    int i, status = own_fetch(n, pmids, result, ext);

    for (i = 0; status >= 0 && i < n; i++) {
	pmValueSet *set = (*result)->vset[i];

	set->numval = 1;
	set->valfmt = PM_VAL_DPTR;
	set->vlist[0].inst = PM_IN_NULL;
	set->vlist[0].value.pval = (pmValueBlock *)pmdaEventGetHighResAddr(handle);
    }
    return status;
}

static void
event_result(pmdaResult *result)
{
    int i;

    for (i = 0; i < result->numpmid; i++)
	free(result->vset[i]);
}

static void
body(void)
{
    struct timespec when = { 0x11223344, 123456789 };
    pmAtomValue atom = { .ul = 0x01020304 };

    agent(7);
    dispatch.version.seven.fetch = event_fetch;
    extension.e_resultCallBack = event_result;
    handle = pmdaEventNewHighResArray();
    pmdaEventAddHighResMissedRecord(handle, &when, 1);
    pmdaEventAddHighResRecord(handle, &when, PM_EVENT_FLAG_POINT);
    pmdaEventAddHighResParam(handle, 0x3f400010, PM_TYPE_U32, &atom);
    pmdaEventAddHighResMissedRecord(handle, &when, 0x7fffffff);
    pmdaEventAddHighResMissedRecord(handle, &when, 0);
    pmdaEventAddHighResRecord(handle, &when, PM_EVENT_FLAG_END);
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    finish();
    return 0;
}
