/*
 * Requests that PCP 6 and PCP 7 judge differently, or that the C library of PCP 6 mistakes: ours follows PCP 7. WIRE-60
 * WIRE-46 WIRE-51 WIRE-70 WIRE-71 WIRE-76 MAIN-51
 */
#include "../loop.h"

int
main(void)
{
    microseconds = 0;
    start(plain_agent);
    /* a profile without the last word, and one with a word too many */
    tell("00000018 00007002 00000000 00000000 00000001 00000000");
    tell("00000034 00007002 00000000 00000000 00000000 00000001 00000000 3f400000 00000001 00000001 00000000 00000002 00000003");
    /* lengths that are not exact */
    ask("00000026 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000006 67726565 6e31");
    ask("00000018 00007008 00000000 3f400000 00000005 00000000");
    ask("00000018 00007012 00000000 000000fd 00000002 00000000");
    ask("0000001c 0000700d 00000000 00000000 00000001 3f401401 00000000");
    /* a number of names that is an error code */
    ask("00000018 0000700e 00000000 00000000 00000000 ffffcfba");
    /* numbers that are longer than their blocks */
    ask("00000034 00007001 00000000 00000000 00000000 00000001 3f400002 00000001 00000001 ffffffff 0000000b 03000008 01020304");
    /* and the agent is well */
    ask("00000024 00007003 00000007 00000000 00000000 00000000 00000002 3f400009 3f402409");
    finish();
    return 0;
}
