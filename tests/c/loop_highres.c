/*
 * PCP 7's PDUs for high resolution are for pmcd and its clients, not for agents: a request of such a type gets no reply,
 * whatever follows its head, and the stream stays in step. The agent's own arrays of high resolution
 * travel in the results of ordinary requests. WIRE-46 WIRE-50 MAIN-2 EVENT-2 EVENT-25
 */
#include "loop.h"
#include "loop_array.h"

/* Each fetch gets one more record than the one before; the array grows and is emptied again. */
static int
event_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    static struct timespec when = { 0x1122334455LL, 0 };
    static int records;
    pmAtomValue atom = { .cp = "text" };

    if (++records == 25) {
	say("reset %d", pmdaEventResetHighResArray(handle));
	records = 0;
    }
    when.tv_nsec++;
    say("record %d", pmdaEventAddHighResRecord(handle, &when, PM_EVENT_FLAG_POINT));
    say("parameter %d", pmdaEventAddHighResParam(handle, pmids[0], PM_TYPE_STRING, &atom));
    return array_fetch(n, pmids, result, ext);
}

static void
body(void)
{
    array_agent(event_fetch);
    run_loop();
}

int
main(void)
{
    static const char *types[] = { "00007014", "00007015", "00007016", "00007017" };
    char request[100];
    int i;

    start(body);
    for (i = 0; i < 4; i++) {
	/* the head alone, a context and one metric, and more of them than there are */
	snprintf(request, sizeof request, "0000000c %s 00000000", types[i]);
	tell(request);
	snprintf(request, sizeof request, "00000018 %s 00000000 00000000 00000001 3f400000", types[i]);
	tell(request);
	snprintf(request, sizeof request, "00000018 %s 00000000 00000000 7fffffff 3f400000", types[i]);
	tell(request);
    }
    for (i = 0; i < 30; i++)
	ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    finish();
    return 0;
}
