/*
 * The lines of -D pdu, libpmda and desperate while an agent connects and serves. Results are left out: libpcp prints them
 * with the addresses of structures that ours does not need. CONN-7 MAIN-4 MAIN-30 WIRE-77 WIRE-78
 */
#include "loop.h"

static const char *flags;

static void
body(void)
{
    agent(7);
    extension.e_io = pmdaPipe;
    extension.e_checkCallBack = own_check;
    extension.e_doneCallBack = own_done;
    pmSetDebug(flags);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    say("status %d", dispatch.status);
}

int
main(void)
{
    static const char *sets[] = { "pdu", "libpmda", "pdu,libpmda", "libpmda,desperate" };
    unsigned char bytes[20];
    int i;

    for (i = 0; i < 4; i++) {
	flags = sets[i];
	printf("== %s\n", flags);
	fprintf(stderr, "== %s\n", flags);
	start(body);
	printf("credentials: %d bytes\n", get(bytes, 20));
	post("00000014 0000700c 0000469a 00000001 01020000");
	tell("00000030 00007002 00000000 00000000 00000000 00000001 00000000 3f400000 00000001 00000001 00000000 00000002");
	ask("00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000");
	ask("00000014 00007008 00000000 3f400000 00000005");
	ask("00000014 00007008 00000000 3f400005 0000000a");
	ask("00000020 00007006 00000000 ffffffff 00000000 00000000 00000007 00000000");
	ask("00000028 0000700e 00000000 00000009 00000001 00000001 00000007 00000008 6b732e64 796e2e61");
	ask("00000018 0000700d 00000000 00000000 00000001 3f401401");
	ask("00000018 0000700f 00000000 00000001 00000003 612e627e");
	ask("00000018 00007010 00000000 00000001 00000003 6162637e");
	ask("00000014 00007012 00000000 3f400000 00000020");
	tell("00000016 00007011 00000003 00000005 74616e79 6100");
	tell("00000010 00007000 00000005 ffffcf99");
	tell("00000010 00007014 00000000 00000000");
	tell("00000010 0000700b 00000000 00000000");
	tell("00000010 0000700a 00000000 00000000");
	finish();
    }
    return 0;
}
