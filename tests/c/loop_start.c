/*
 * An agent that was not set up, one of an interface version that does not exist, and pmdaSendError. MAIN-1 MAIN-2 MAIN-3
 * CONN-10 WIRE-22 MAIN-6 MAIN-31
 */
#include "loop.h"

static void
bad_status(void)
{
    agent(7);
    extension.e_infd = 0;
    extension.e_outfd = 1;
    dispatch.status = PM_ERR_GENERIC;
    say("__pmdaMainPDU = %d", __pmdaMainPDU(&dispatch));
    say("__pmdaMainPDU = %d", __pmdaMainPDU(&dispatch));
    pmdaMain(&dispatch);
    dispatch.status = 0;
    say("__pmdaMainPDU = %d pmapi %d", __pmdaMainPDU(&dispatch), dispatch.comm.pmapi_version);
    dispatch.status = PM_ERR_GENERIC;
    say("__pmdaMainPDU = %d", __pmdaMainPDU(&dispatch));
}

static void
bad_version(void)
{
    agent(8);
    extension.e_infd = 0;
    say("__pmdaMainPDU = %d", __pmdaMainPDU(&dispatch));
    say("__pmdaInFd = %d", __pmdaInFd(&dispatch));
    dispatch.comm.pmda_interface = 1;
    say("__pmdaMainPDU = %d", __pmdaMainPDU(&dispatch));
    say("__pmdaInFd = %d", __pmdaInFd(&dispatch));
    dispatch.comm.pmda_interface = 2;
    extension.e_infd = 77;
    say("__pmdaInFd = %d", __pmdaInFd(&dispatch));
}

static void
send_errors(void)
{
    agent(7);
    extension.e_outfd = 1;
    pmdaSendError(&dispatch, PM_ERR_PMDANOTREADY);
    dispatch.comm.pmda_interface = 99;
    pmdaSendError(&dispatch, PM_ERR_PMDAREADY);
    pmdaSendError(&dispatch, 0);
    extension.e_outfd = 77;
    pmdaSendError(&dispatch, 5);
}

/* Nobody takes the replies. */
static void
no_reader(void)
{
    agent(7);
    extension.e_checkCallBack = own_check;
    extension.e_infd = 0;
    extension.e_outfd = 77;
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

static void
no_reader_refused(void)
{
    check_answer = PM_ERR_PERMISSION;
    no_reader();
}

static void
no_reader_failing(void)
{
    answer = PM_ERR_PERMISSION;
    no_reader();
}

static void
requests(void)
{
    post("00000024 00007003 00000007 00000000 00000000 00000000 00000002 3f400009 3f402409");
    post("00000010 00007004 00000000 3f400000");
    post("00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000");
    post("00000014 00007008 00000000 3f400000 00000005");
    post("0000002c 00007001 00000000 00000009 00000000 00000001 3f400005 00000001 00000000 ffffffff 0000000b");
    post("00000024 0000700e 00000000 00000009 00000000 00000001 00000008 6b732e64 796e2e61");
    post("00000018 0000700d 00000000 00000000 00000001 3f401401");
    post("00000018 0000700f 00000000 00000001 00000003 612e627e");
    post("00000018 00007010 00000000 00000001 00000003 6162637e");
    post("00000014 00007012 00000000 3f400000 00000020");
    post("00000010 0000700a 00000000 00000000");
    post("00000010 00007014 00000000 00000000");
    finish();
}

static void
broken_pipe(void)
{
    struct sigaction now;

    agent(7);
    run_loop();
    sigaction(SIGPIPE, NULL, &now);
    say("SIGPIPE is %s", now.sa_handler == SIG_IGN ? "ignored" : "not ignored");
}

int
main(void)
{
    start(bad_status);
    ask("00000010 00007004 00000000 3f400000");
    ask("00000010 00007004 00000000 3f400001");
    finish();
    start(bad_version);
    finish();
    start(send_errors);
    reply();
    reply();
    reply();
    finish();
    start(no_reader);
    requests();
    start(no_reader_refused);
    requests();
    start(no_reader_failing);
    requests();
    /* SIGPIPE is ignored: a broken pipe does not end the agent (WIRE-21). */
    start(broken_pipe);
    close(from_agent);
    post("00000010 00007004 00000000 3f400000");
    finish();
    return 0;
}
