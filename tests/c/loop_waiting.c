/*
 * Agents that look at the descriptor in their callbacks and methods, while more requests have arrived: each read takes one PDU
 * and leaves the next where select() and poll() see it, in pmdaMain as well. MAIN-1 MAIN-4 WIRE-10
 */
#include <sys/ioctl.h>
#include "loop.h"

static int way, fd;

/* Tells whether there is something to read, and how much. */
static void
look(const char *where)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int bytes = -1;

    poll(&wait, 1, 0);
    ioctl(fd, FIONREAD, &bytes);
    say("%s: ready %d, %d bytes", where, (wait.revents & POLLIN) != 0, bytes);
}

static int
check(void)
{
    look("check");
    return 0;
}

static void
done(void)
{
    look("done");
}

static int
looking_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    if (way != 3)
	look("desc");
    if (way == 3 && pmid == 0x3f400002) {	/* from now on */
	fd = __pmdaInFd(&dispatch);
	extension.e_checkCallBack = check;
    }
    if (way == 4 && pmid == 0x3f400003)	/* not any more, but the descriptor is known */
	extension.e_checkCallBack = NULL;
    return own_desc(pmid, desc, ext);
}

static void
body(void)
{
    char byte;

    agent(7);
    dispatch.version.seven.desc = looking_desc;
    extension.e_infd = 0;
    extension.e_outfd = 1;
    if (way == 0 || way == 4)
	extension.e_checkCallBack = check;
    if (way == 1)
	extension.e_doneCallBack = done;
    if (way == 2 || way == 4)
	fd = __pmdaInFd(&dispatch);
    /* all requests have arrived */
    if (read(2 + 20, &byte, 1) < 0)
	say("no signal");
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

#define DESC(n)	"00000010 00007004 00000000 3f40000" #n

int
main(void)
{
    int gate[2], i;

    for (way = 0; way < 5; way++) {
	printf("way %d\n", way);
	if (pipe(gate) < 0 || dup2(gate[0], 22) < 0)
	    return 9;
	start(body);
	post(way == 3 ? DESC(1) DESC(2) : DESC(1) DESC(2) DESC(3) DESC(4) DESC(5));
	if (write(gate[1], "x", 1) != 1)
	    return 9;
	for (i = 0; i < 2; i++)
	    reply();
	if (way == 3)	/* what comes after the callback was set is left alone */
	    post(DESC(3) DESC(4) DESC(5));
	for (i = 0; i < 3; i++)
	    reply();
	finish();
	close(gate[0]);
	close(gate[1]);
    }
    return 0;
}
