/*
 * Signals do not end the wait for a connection. CONN-3 CONN-4 MAIN-7 MAIN-51
 */
#include <sys/socket.h>
#include <sys/un.h>
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

    /* a user that every system has */
    setenv("PCP_USER", "root", 1);
    agent(7);
    sigaction(SIGUSR1, &action, NULL);
    extension.e_io = pmdaUnix;
    extension.e_sockname = "agent.socket";
    pmdaConnect(&dispatch);
    say("status %d, signals %s", dispatch.status, signals ? "came" : "did not come");
    pmdaMain(&dispatch);
}

int
main(void)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "agent.socket" };
    unsigned char bytes[20];
    int i;

    start(body);
    /* the socket's mode is set in front of the wait */
    for (i = 0; i < 5000 && access("agent.socket", F_OK) < 0; i++)
	usleep(1000);
    for (i = 0; i < 10; i++) {
	usleep(10000);
	kill(child, SIGUSR1);
    }
    close(to_agent);
    close(from_agent);
    to_agent = socket(AF_UNIX, SOCK_STREAM, 0);
    /* below a slow tool it may not listen yet */
    for (i = 0; i < 5000 && connect(to_agent, (struct sockaddr *)&path, sizeof path) < 0; i++)
	usleep(1000);
    from_agent = dup(to_agent);
    printf("credentials: %d bytes\n", get(bytes, 20));
    post("00000014 0000700c 0000469a 00000001 01020000");
    ask("00000010 00007004 00000000 3f400000");
    shutdown(to_agent, SHUT_WR);
    finish();
    unlink("agent.socket");
    return 0;
}
