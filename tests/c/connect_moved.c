/*
 * Agents that have moved their standard streams before they connect: to other descriptors, to nothing, to what cannot be read
 * or does not wait. CONN-2 CONN-6 WIRE-77
 */
#include <fcntl.h>
#include <sys/stat.h>
#include "loop.h"

static int way;

static void
move(void)
{
    FILE *file;

    switch (way) {
    case 1:	/* the streams are elsewhere, and the numbers are used for something else */
	stdin = fdopen(fcntl(0, F_DUPFD, 50), "r");
	stdout = fdopen(fcntl(1, F_DUPFD, 60), "w");
	close(0);
	close(1);
	open("/dev/null", O_RDWR);
	open("/dev/null", O_RDWR);
	break;
    case 2:	/* no descriptor */
	close(0);
	break;
    case 3:	/* a directory */
	mkdir("empty", 0777);
	dup2(open("empty", O_RDONLY), 0);
	break;
    case 4:	/* nothing yet, and it does not wait */
	fcntl(0, F_SETFL, O_NONBLOCK);
	break;
    case 5:	/* the end of a file */
	file = freopen("/dev/null", "r", stdin);
	say("reopened %d", file != NULL);
	break;
    case 6:	/* nobody to write to */
	close(1);
	break;
    case 7:	/* descriptors of its own are overwritten */
	dispatch.version.any.ext->e_infd = 50;
	dispatch.version.any.ext->e_outfd = 60;
	break;
    }
}

static void
body(void)
{
    pmdaExt *ext;

    pmSetProgname("agent");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", 253, "log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = own_text;
    dispatch.version.any.fetch = own_fetch;
    dispatch.version.any.desc = own_desc;
    pmdaInit(&dispatch, NULL, 0, NULL, 0);
    move();
    pmdaConnect(&dispatch);
    say("status %d infd %d outfd %d flags %x pmapi %d", dispatch.status, ext->e_infd, ext->e_outfd, ext->e_flags,
	dispatch.comm.pmapi_version);
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
    /* once more */
    pmdaConnect(&dispatch);
    say("status %d", dispatch.status);
}

int
main(void)
{
    unsigned char creds[20];
    int got;

    for (way = 0; way < 8; way++) {
	printf("way %d\n", way);
	start(body);
	got = way == 6 ? 0 : get(creds, sizeof(creds));
	printf("%d bytes of type %x%02x\n", got, got ? creds[6] : 0, got ? creds[7] : 0);
	if (way == 0 || way == 1 || way == 7) {
	    post("00000014 0000700c 00000001 00000001 01020000");
	    post("00000010 00007004 00000000 3f400000");
	    reply();
	}
	if (way != 4)
	    finish();
	else {
	    int status;
	    waitpid(child, &status, 0);
	    printf("exit %d\n", status);
	}
    }
    return 0;
}
