/*
 * An agent that goes on after a framing error finds the stream behind what was read: behind the header whose length no PDU has, behind
 * the PDU whose type none has. MAIN-1 WIRE-10 WIRE-12
 */
#include "loop.h"

static void
body(void)
{
    int i;

    agent(7);
    extension.e_infd = 0;
    extension.e_outfd = 1;
    for (i = 0; i < 3; i++) {
	pmdaMain(&dispatch);
	say("pmdaMain has returned, __pmdaMainPDU gives %d", __pmdaMainPDU(&dispatch));
    }
    while ((i = __pmdaMainPDU(&dispatch)) != PM_ERR_EOF)
	say("%d", i);
}

#define DESC "00000010 00007004 00000000 3f400000 "

int
main(void)
{
    int i;

    start(body);
    post(DESC DESC "0000000b 00007004 00000000 " DESC DESC DESC "ffffffff 00007004 00000000 " DESC DESC
	"00000010 ffffffff 00000000 00000000 " DESC DESC);
    for (i = 0; i < 9; i++)
	reply();
    finish();
    return 0;
}
