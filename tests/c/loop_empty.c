/*
 * A store without metrics, which the method gets as any other, an attribute whose key has no name, likewise, and a request
 * without names, which is refused. Under -Dlibpmda the C library shows the first of them all the same since 6.0.5, or dies of that.
 * MAIN-12 WIRE-72
 */
#include "loop.h"

int
main(void)
{
    start(plain_agent);
    ask("00000018 00007001 00000000 00000000 00000000 00000000");
    ask("00000018 00007001 00000005 00000009 0000000a 00000000");
    finish();
    start(plain_agent);
    ask("00000018 0000700e 00000000 00000000 00000000 00000000");
    ask("00000018 0000700e 00000000 00000000 00000001 00000000");
    finish();
    start(plain_agent);
    tell("00000014 00007011 00000003 00000000 74616e79");
    tell("00000016 00007011 00000003 00000000 7400017f ff20");
    tell("00000014 00007011 00000003 00000011 74616e79");
    tell("00000014 00007011 00000003 ffffffff 74616e79");
    tell("00000014 00007011 00000003 80000000 74616e79");
    finish();
    return 0;
}
