/*
 * A FIFO is closed and opened again: its data stay as long as anybody has the FIFO open, and are lost when nobody has. In a file
 * the agent goes on at the file's position. MAIN-1 MAIN-53 WIRE-10
 */
#include <fcntl.h>
#include <sys/stat.h>
#include "loop.h"

#define REQUESTS "requests"

#define TEXT(n)	"00000014 00007008 00000000 3f40000" #n "00000005"
#define DESC(n)	"00000010 00007004 00000000 3f40000" #n

static int turns;

/* The first request is answered with the FIFO opened anew; the peer says when, and is told when it is closed. */
static int
reopening_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    char go;
    int fd = ext->e_infd;

    if (turns++ == 0 && read(0, &go, 1) == 1) {
	close(fd);
	if (write(1, "", 1) != 1 || open(REQUESTS, O_RDONLY) != fd)
	    say("another descriptor");
    }
    return own_desc(pmid, desc, ext);
}

/* The first request is followed by itself. */
static int
rewinding_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    if (turns++ == 0)
	lseek(ext->e_infd, 0, SEEK_SET);
    return own_desc(pmid, desc, ext);
}

static void
serve(int (*method)(pmID, pmDesc *, pmdaExt *))
{
    agent(7);
    dispatch.version.seven.desc = method;
    extension.e_infd = open(REQUESTS, O_RDONLY);
    extension.e_outfd = 1;
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

static void
reopening(void)
{
    serve(reopening_desc);
}

static void
rewinding(void)
{
    serve(rewinding_desc);
}

/* Opens the FIFO or the file and writes requests to it. */
static int
fill(const char *hex)
{
    unsigned char bytes[256];
    int fd = open(REQUESTS, O_WRONLY | O_CREAT, 0666);
    int n = hex_bytes(hex, bytes);

    printf("requests: %s\n", hex);
    if (write(fd, bytes, n) != n)
	exit(9);
    return fd;
}

/* Has the agent close the FIFO and open it again. */
static void
reopen(void)
{
    unsigned char closed;

    put("", 1);
    get(&closed, 1);
}

int
main(void)
{
    int fd, i;

    if (mkfifo(REQUESTS, 0666) < 0)
	return 9;
    printf("== closed by both, and opened again\n");
    start(reopening);
    close(fill(DESC(1) DESC(2) DESC(3)));
    reopen();
    fd = fill(TEXT(4));
    reply();
    reply();
    close(fd);
    reply();
    finish();

    printf("== closed by the agent, and opened again\n");
    start(reopening);
    fd = fill(DESC(1) DESC(2) DESC(3));
    reopen();
    for (i = 0; i < 3; i++)
	reply();
    close(fd);
    reply();
    finish();
    unlink(REQUESTS);

    printf("== a file\n");
    close(fill(DESC(1) DESC(2) DESC(3)));
    start(rewinding);
    for (i = 0; i < 4; i++)
	reply();
    finish();
    unlink(REQUESTS);
    return 0;
}
