/* The peer's way to an agent that waits on a socket. Include it after loop.h. */
#include <sys/socket.h>
#include <sys/un.h>

/* Connects to an agent as soon as it listens; from then on the peer talks to it there, in place of the pipes. */
static inline void
reach(const struct sockaddr *address, socklen_t size)
{
    int i, fd = -1;

    for (i = 0; i < 5000; i++) {
	fd = socket(address->sa_family, SOCK_STREAM, 0);
	if (connect(fd, address, size) == 0)
	    break;
	close(fd);
	usleep(1000);
    }
    close(to_agent);
    close(from_agent);
    to_agent = fd;
    from_agent = dup(fd);
}
