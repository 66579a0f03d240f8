/*
 * What -D indom and attr show of the requests and the answers of an agent that serves: instances of a whole domain, of
 * none, by name and by number, attributes. WIRE-78
 */
#include "loop.h"

static const char *flags;

static void
body(void)
{
    agent(7);
    pmSetDebug(flags);
    run_loop();
}

int
main(void)
{
    static const char *sets[] = { "indom", "attr" };
    int i;

    for (i = 0; i < 2; i++) {
	flags = sets[i];
	printf("== %s\n", flags);
	fprintf(stderr, "== %s\n", flags);
	start(body);
	ask("00000020 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000000");
	ask("00000020 00007006 00000000 3f400009 00000000 00000000 ffffffff 00000000");
	ask("00000020 00007006 00000000 3f400003 00000000 00000000 00000002 00000000");
	ask("00000024 00007006 00000000 3f400000 00000000 00000000 ffffffff 00000003 72656400");
	ask("00000020 0000700e 00000000 00000004 00000000 00000001 00000003 6162637e");
	ask("00000018 0000700d 00000000 00000000 00000001 3f401401");
	ask("00000018 0000700f 00000000 00000000 00000003 612e627e");
	ask("00000018 0000700f 00000000 00000001 00000003 612e627e");
	ask("00000018 00007010 00000000 00000001 00000003 6162637e");
	ask("00000014 00007008 00000000 3f400000 00000003");
	tell("00000016 00007011 00000003 00000005 74616e79 6100");
	tell("00000010 00007000 00000005 ffffcf99");
	finish();
    }
    return 0;
}
