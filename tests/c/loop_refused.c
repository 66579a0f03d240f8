/*
 * A check callback that refuses requests gets its code sent, except where no reply is expected; the done callback is
 * not called then. MAIN-5 MAIN-4
 */
#include "loop.h"

static void
body(void)
{
    agent(7);
    check_answer = PM_ERR_PMDANOTREADY;
    extension.e_checkCallBack = own_check;
    extension.e_doneCallBack = own_done;
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000024 00007003 00000007 00000000 00000000 00000000 00000002 3f400009 3f402409");
    ask("00000010 00007004 00000000 3f400000");
    tell("00000020 00007002 00000003 00000000 00000001 00000000 00000000 00000000");
    tell("00000016 00007011 00000003 00000005 74616e79 6100");
    ask("0000002c 00007001 00000000 00000009 00000000 00000001 3f400005 00000001 00000000 ffffffff 0000000b");
    ask("0000000c 00007014 00000000");
    ask("0000000c 0000700a 00000000");
    ask("00000018 0000700d 00000000 00000000 00000001 3f401401");
    finish();
    return 0;
}
