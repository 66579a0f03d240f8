/*
 * An end of context that the check callback refuses gets no reply, as pmcd would take it for that of its next request.
 * MAIN-5 MAIN-52
 */
#include "../loop.h"

static void
body(void)
{
    agent(7);
    check_answer = PM_ERR_PERMISSION;
    extension.e_checkCallBack = own_check;
    extension.e_doneCallBack = own_done;
    run_loop();
}

int
main(void)
{
    start(body);
    tell("00000010 00007000 00000005 ffffcf99");
    /* one request, one reply: nothing is left when the agent has ended */
    close(to_agent);
    reply();
    finish();
    return 0;
}
