/*
 * A connection that is lost while the agent waits for a request, or in the middle of one: which errors are logged, and
 * which are the ordinary end of pmcd. The reads are made to fail by functions of the program in place of the C library's.
 * MAIN-2 MAIN-32 WIRE-12
 */
#include <errno.h>
#include <dlfcn.h>
#include <sys/socket.h>
#include "setup.h"

#define AGENT_FD 77

/* The results of the next reads: this number of bytes of a request, then an error. */
static int bytes_left, error_number;
static const unsigned char request[16] = { 0, 0, 0, 16, 0, 0, 0x70, 4, 0, 0, 0, 0, 0x3f, 0x40, 0, 0 };
static int given;

static ssize_t
next(void *out, size_t size)
{
    if (bytes_left == 0) {
	errno = error_number;
	return -1;
    }
    if (size > (size_t)bytes_left)
	size = bytes_left;
    memcpy(out, request + given, size);
    given += size;
    bytes_left -= size;
    return size;
}

ssize_t read(int fd, void *out, size_t size)
{
    if (fd == AGENT_FD)
	return next(out, size);
    return ((ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(fd, out, size);
}

ssize_t recv(int fd, void *out, size_t size, int flags)
{
    if (fd == AGENT_FD)
	return next(out, size);
    return ((ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv"))(fd, out, size, flags);
}

int
main(void)
{
    static const int errors[] = {
	EBADF, EIO, EINVAL, EPIPE, EISCONN, ENOTCONN, ECONNRESET, ECONNABORTED, ECONNREFUSED, ETIMEDOUT, ENETDOWN, ENETUNREACH,
	ENETRESET, EHOSTDOWN, EHOSTUNREACH, ESHUTDOWN, EPROTO, EOPNOTSUPP,
    };
    static const int bytes[] = { 0, 3, 4, 11, 12, 14 };
    static const char *const options[] = { "", "libpmda", "pdu" };
    unsigned int i, j, k;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (k = 0; k < 3; k++) {
	if (k > 0)
	    pmSetDebug(options[k]);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
	    for (j = 0; j < sizeof(bytes) / sizeof(bytes[0]); j++) {
		pmdaInterface table = { 0 };

		pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
		table.version.any.ext->e_infd = AGENT_FD;
		table.version.any.ext->e_outfd = AGENT_FD + 1;
		given = 0;
		bytes_left = bytes[j];
		error_number = errors[i];
		printf("%s error %s after %d:\n", options[k], strerror(errors[i]), bytes[j]);
		printf("  %d\n", __pmdaMainPDU(&table));
	    }
	}
	if (k > 0)
	    pmClearDebug(options[k]);
    }
    return 0;
}
