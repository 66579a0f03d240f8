/*
 * Signals do not end the loop, nor cut a reply short; a descriptor that does not block is waited for; an absurd length
 * is an error. WIRE-12 WIRE-13 WIRE-23 MAIN-7 MAIN-51
 */
#include <fcntl.h>
#include "../loop.h"

static volatile int signals;

static void
caught(int number)
{
    (void)number;
    signals++;
}

static void
body(void)
{
    struct sigaction action = { .sa_handler = caught };

    agent(7);
    sigaction(SIGUSR1, &action, NULL);
    run_loop();
    say("signals %s", signals ? "came" : "did not come");
}

static void
not_blocking(void)
{
    fcntl(1, F_SETFL, O_NONBLOCK);
    body();
}

/* A reply that does not fit into the pipe, with signals while it is being written. */
static void
large(void)
{
    static unsigned char request[80028], bytes[400024];
    int i, n = hex_bytes("0001389c 00007003 00000000 00000000 00000000 00000000 00004e20", request);

    for (i = 0; i < 20000; i++)
	memcpy(request + n + 4 * i, "\x3f\x40\x00\x00", 4);
    put(request, sizeof request);
    for (i = 0; i < 20; i++) {
	usleep(5000);
	kill(child, SIGUSR1);
    }
    n = get(bytes, sizeof bytes);
    printf("%d bytes\n", n);
    ask("00000010 00007004 00000000 3f400000");
}

int
main(void)
{
    int i;

    start(body);
    ask("00000010 00007004 00000000 3f400000");
    for (i = 0; i < 5; i++) {
	usleep(5000);
	kill(child, SIGUSR1);
    }
    usleep(5000);
    ask("00000010 00007004 00000000 3f400001");
    large();
    finish();
    start(not_blocking);
    large();
    finish();
    start(body);
    post("7ffffff0 00007003 00000000");
    finish();
    return 0;
}
