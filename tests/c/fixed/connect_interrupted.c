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
    extension.e_sockname = "interrupted.socket";
    pmdaConnect(&dispatch);
    say("status %d, signals %s", dispatch.status, signals ? "came" : "did not come");
    pmdaMain(&dispatch);
}

/* The kernel lists sockets with their flags, of which this one says that it listens. */
static int
somebody_listens(void)
{
    FILE *list = fopen("/proc/net/unix", "r");
    char line[512];
    int found = 0;

    while (list != NULL && fgets(line, sizeof(line), list) != NULL)
	found |= strstr(line, " 00010000 ") != NULL && strstr(line, "interrupted.socket") != NULL;
    if (list != NULL)
	fclose(list);
    return found;
}

int
main(void)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = "interrupted.socket" };
    unsigned char bytes[20];
    int i;

    start(body);
    for (i = 0; i < 5000 && !somebody_listens(); i++)
	usleep(1000);
    for (i = 0; i < 10; i++) {
	usleep(10000);
	kill(child, SIGUSR1);
    }
    close(to_agent);
    close(from_agent);
    to_agent = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(to_agent, (struct sockaddr *)&path, sizeof path) < 0)
	printf("connect: %s\n", strerror(errno));
    from_agent = dup(to_agent);
    printf("credentials: %d bytes\n", get(bytes, 20));
    post("00000014 0000700c 0000469a 00000001 01020000");
    ask("00000010 00007004 00000000 3f400000");
    shutdown(to_agent, SHUT_WR);
    finish();
    unlink("interrupted.socket");
    return 0;
}
