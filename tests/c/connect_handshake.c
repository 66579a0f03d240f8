/*
 * The handshake on a pipe: credentials of every sort, other PDUs, and none; what the agent does then.
 * CONN-1 CONN-2 CONN-6 CONN-7 CONN-9 WIRE-77 MAIN-50
 */
#include "loop.h"

static int io = pmdaPipe;
static int flags = 4;
static int version = 7;

static void
body(void)
{
    agent(version);
    extension.e_flags = flags;
    extension.e_io = io;
    pmdaConnect(&dispatch);
    say("status %d flags %x pmapi %d in %d out %d", dispatch.status, extension.e_flags, dispatch.comm.pmapi_version,
	extension.e_infd, extension.e_outfd);
    if (dispatch.status == 0) {
	pmdaMain(&dispatch);
	say("pmapi %d", dispatch.comm.pmapi_version);
	pmdaConnect(&dispatch);
	say("status %d", dispatch.status);
    }
}

/* The credentials hold the process id: it is checked, not printed. */
static void
credentials(void)
{
    unsigned char bytes[20];
    int n = get(bytes, sizeof bytes), i;

    printf("<");
    if (n == 20) {
	pid_t pid = bytes[8] << 24 | bytes[9] << 16 | bytes[10] << 8 | bytes[11];
	printf(" %s", pid == child ? "pid" : "not the pid");
	memset(bytes + 8, 0, 4);
    }
    for (i = 0; i < n; i++)
	printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
    printf("\n");
    fflush(stdout);
}

static void
shake(const char *hex)
{
    fprintf(stderr, "-- %s\n", hex);
    start(body);
    credentials();
    post(hex);
    finish();
}

int
main(void)
{
    shake("00000014 0000700c 0000469a 00000001 01020000");
    shake("00000014 0000700c 0000469a 00000001 01000000");
    shake("00000014 0000700c 0000469a 00000001 01030004");
    shake("00000018 0000700c 0000469a 00000002 01020000 01030000");
    shake("00000018 0000700c 0000469a 00000002 05020000 01020000");
    shake("00000014 0000700c 0000469a 00000001 05020000");
    shake("00000014 0000700c 0000469a 00000002 01020000");
    shake("00000010 0000700c 0000469a 00000000");
    shake("00000014 0000700c 0000469a ffffffff 01020000");
    shake("00000010 00007004 00000000 3f4003ff");
    shake("");
    shake("0000");
    shake("0000000b 0000700c 00000000");
    shake("00000014 0000700c 0000469a 00000001 01020000 00000010 00007004 00000000 3f400000");
    io = pmdaUnknown;
    shake("00000014 0000700c 0000469a 00000001 01020000");
    io = 9;
    start(body);
    finish();
    io = pmdaPipe;
    flags = 0;
    start(body);
    finish();
    flags = 12;
    start(body);
    finish();
    flags = 4;
    version = 8;
    start(body);
    finish();
    return 0;
}
