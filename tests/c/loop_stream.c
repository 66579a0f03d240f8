/*
 * How a stream of bytes becomes PDUs: any delivery, several at once, large ones, and every way in which it can end.
 * WIRE-3 WIRE-10 WIRE-11 WIRE-12 WIRE-14 MAIN-2 MAIN-7 MAIN-32 MAIN-55
 */
#include <fcntl.h>
#include "loop.h"

static void
part(const char *hex, int n)
{
    unsigned char bytes[256];

    hex_bytes(hex, bytes);
    printf("%d bytes of %s\n", n, hex);
    fprintf(stderr, "-- %d bytes of %s\n", n, hex);
    start(plain_agent);
    put(bytes, n);
    finish();
}

static void
one_by_one(void)
{
    agent(7);
    extension.e_infd = 0;
    extension.e_outfd = 1;
    for (int i = 0; i < 4; i++)
	say("__pmdaMainPDU = %d, in %d", __pmdaMainPDU(&dispatch), __pmdaInFd(&dispatch));
}

static void
not_blocking(void)
{
    fcntl(0, F_SETFL, O_NONBLOCK);
    one_by_one();
}

int
main(void)
{
    static unsigned char large[80028];
    const char *request = "00000024 00007003 00000005 00000000 00000000 00000000 00000002 3f400009 3f402409";
    unsigned char bytes[256];
    int i, n;

    printf("== byte by byte\n");
    n = hex_bytes("00000010 00007004 00000000 3f400000 00000024 00007003 00000005 00000000 00000000 00000000 00000002"
	" 3f400009 3f402409 00000016 00007011 00000003 00000005 74616e79 6100 00000010 00007004 00000000 3f400001", bytes);
    start(plain_agent);
    for (i = 0; i < n; i++)
	put(bytes + i, 1);
    reply();
    reply();
    reply();
    finish();

    printf("== all at once\n");
    start(plain_agent);
    put(bytes, n);
    reply();
    reply();
    reply();
    finish();

    printf("== one by one\n");
    start(one_by_one);
    put(bytes, n);
    reply();
    reply();
    reply();
    finish();

    printf("== large\n");
    start(plain_agent);
    n = hex_bytes("0001389c 00007003 00000000 00000000 00000000 00000000 00004e20", large);
    for (i = 0; i < 20000; i++)
	memcpy(large + n + 4 * i, "\x3f\x40\x00\x00", 4);
    put(large, sizeof large);
    reply();
    ask("00000010 00007004 00000000 3f400000");
    finish();

    for (i = 0; i < 16; i++)
	part(request, i);
    part("0000000b 00007003 00000000", 12);
    part("00000000 00007003 00000000", 12);
    part("ffffffff 00007003 00000000", 12);
    part("80000000 00007003 00000000", 12);
    part("00000010 80007003 00000000 00000000", 16);
    part("00000010 ffffffff 00000000 00000000", 16);
    part("00000010 00000000 00000000 00000000", 16);

    fprintf(stderr, "== not blocking\n");
    start(not_blocking);
    waitpid(child, &i, 0);
    return 0;
}
