/*
 * Two agents of different interface versions in one process, whose PDUs come in turn: each has its own methods, its own
 * profile and its own descriptors, also when their pmdaExt were made by hand. MAIN-3 MAIN-24 MAIN-52
 */
#include "../loop.h"

static pmdaExt other_extension;
static pmdaInterface other;
static int there[2], back[2];

static int
other_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    say("the other agent, profile %d", ext->e_prof ? ext->e_prof->state : -1);
    return own_desc(pmid, desc, ext);
}

static int
first_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    say("the first agent, profile %d", ext->e_prof ? ext->e_prof->state : -1);
    return own_desc(pmid, desc, ext);
}

static void
body(void)
{
    struct pollfd wait[2];
    int ends = 0;

    agent(6);
    alarm(5);
    other = dispatch;
    other_extension = extension;
    other.version.any.ext = &other_extension;
    other.comm.pmda_interface = 3;
    other.version.any.desc = other_desc;
    dispatch.version.any.desc = first_desc;
    extension.e_infd = 0;
    extension.e_outfd = 1;
    close(there[1]);
    close(back[0]);
    other_extension.e_infd = there[0];
    other_extension.e_outfd = back[1];
    say("same %d", __pmdaInFd(&dispatch) == __pmdaInFd(&other));
    memset(wait, 0, sizeof wait);
    wait[0].fd = __pmdaInFd(&dispatch);
    wait[1].fd = __pmdaInFd(&other);
    wait[0].events = wait[1].events = POLLIN;
    while (ends < 2 && poll(wait, 2, 10000) > 0) {
	int i;
	for (i = 0; i < 2; i++) {
	    if (wait[i].revents == 0)
		continue;
	    if (__pmdaMainPDU(i ? &other : &dispatch) < 0) {
		say("a stream has ended");
		wait[i].fd = -1;
		ends++;
	    }
	}
    }
}

int
main(void)
{
    int first_in, first_out, round;

    if (pipe(there) < 0 || pipe(back) < 0)
	return 9;
    start(body);
    first_in = to_agent;
    first_out = from_agent;
    close(there[0]);
    close(back[1]);
    for (round = 0; round < 3; round++) {
	to_agent = first_in;
	from_agent = first_out;
	ask("00000010 00007004 00000000 3f400000");
	post("00000020 00007002 00000000 00000000 00000000 00000000 00000000 00000000");
	ask("00000010 00007004 00000000 3f400000");
	/* names are known to the first agent alone */
	ask("00000024 0000700e 00000000 00000009 00000000 00000001 00000008 6b732e64 796e2e61");
	to_agent = there[1];
	from_agent = back[0];
	ask("00000010 00007004 00000000 3f400001");
	post("00000020 00007002 00000000 00000000 00000001 00000000 00000000 00000000");
	ask("00000010 00007004 00000000 3f400001");
	ask("00000024 0000700e 00000000 00000009 00000000 00000001 00000008 6b732e64 796e2e61");
    }
    close(there[1]);
    to_agent = first_in;
    finish();
    return 0;
}
