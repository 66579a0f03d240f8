/*
 * The number of missed events in a record of high resolution reaches the client, as it does in one of low resolution: the
 * C library sends 0. The record in front of it, its parameters, and the record behind it are not touched.
 * c-library: right on s390x, where the number of events needs no other order
 * WIRE-46 WIRE-47 MAIN-52 EVENT-21
 */
#include "../loop.h"
#include "../loop_array.h"

static void
body(void)
{
    struct timespec when = { 0x11223344, 123456789 };
    pmAtomValue atom = { .ul = 0x01020304 };

    array_agent(array_fetch);
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
    microseconds = 0;
    start(body);
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    finish();
    return 0;
}
