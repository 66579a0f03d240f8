/*
 * A store without metrics, which the method gets as any other, and a request without names, which is refused. Under -Dlibpmda the
 * C library shows the first of them all the same since 6.0.5, or dies of that. MAIN-12 WIRE-72
 */
#include "loop.h"

static void
body(void)
{
    agent(7);
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000018 00007001 00000000 00000000 00000000 00000000");
    ask("00000018 00007001 00000005 00000009 0000000a 00000000");
    finish();
    start(body);
    ask("00000018 0000700e 00000000 00000000 00000000 00000000");
    ask("00000018 0000700e 00000000 00000000 00000001 00000000");
    finish();
    return 0;
}
