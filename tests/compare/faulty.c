/*
 * Faults as clients would see them if the library had them: changes what an agent writes to pmcd, when the agent has loaded the
 * library FAULTY_LIBRARY. FAULTS names them. To be preloaded.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH, TYPE, FROM, FIRST };
enum { RESULT = 0x7001, DESC = 0x7005, INSTANCE = 0x7007, TEXT = 0x7009, LABEL = 0x7013 };

static int
wanted(const char *fault)
{
    const char *faults = getenv("FAULTS");

    return faults != NULL && strstr(faults, fault) != NULL;
}

static int
is_faulty(void)
{
    const char	*library = getenv("FAULTY_LIBRARY");
    char	line[4096];
    int		found = 0;

    if (library == NULL || strncmp(program_invocation_short_name, "pmda", 4) != 0)
	return 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
	found |= strstr(line, library) != NULL;
    if (maps != NULL)
	fclose(maps);
    return found;
}

static uint32_t
get(const uint32_t *pdu, int at)
{
    return ntohl(pdu[at]);
}

static void
set(uint32_t *pdu, int at, uint32_t value)
{
    pdu[at] = htonl(value);
}

static void
desc(uint32_t *pdu)
{
    if (wanted("type of a metric"))
	set(pdu, FIRST + 1, get(pdu, FIRST + 1) ^ 1);
    if (wanted("semantics of a metric"))
	set(pdu, FIRST + 3, get(pdu, FIRST + 3) == 3 ? 4 : 3);
    if (wanted("unit of a metric"))
	set(pdu, FIRST + 4, get(pdu, FIRST + 4) ^ 0x01000000);
}

/* A list of instances: the first gets another number, the second another name, the last is lost. */
static void
instances(uint32_t *pdu)
{
    uint32_t	n = get(pdu, FIRST + 1);
    int		at = FIRST + 2;

    if (n < 3)
	return;
    for (uint32_t i = 0; i + 1 < n; i++) {
	if (i == 0 && wanted("number of an instance"))
	    set(pdu, at, get(pdu, at) + 5000);
	if (i == 1 && wanted("name of an instance"))
	    *(char *)&pdu[at + 2] ^= 1;
	at += 2 + (get(pdu, at + 1) + 3) / 4;
    }
    if (wanted("an instance is lost")) {
	set(pdu, FIRST + 1, n - 1);
	set(pdu, LENGTH, 4 * at);
    }
}

static void
text(uint32_t *pdu)
{
    uint32_t n = get(pdu, FIRST + 1);

    if (wanted("a text is cut") && n > 1) {
	set(pdu, FIRST + 1, n - 1);
	((char *)&pdu[FIRST + 2])[n - 1] = '~';
	set(pdu, LENGTH, 4 * (FIRST + 2) + (n - 1 + 3) / 4 * 4);
    }
}

static void
label(uint32_t *pdu, size_t len)
{
    if (get(pdu, FIRST + 3) == 0)
	return;
    if (wanted("a label is lost") && get(pdu, FIRST + 1) == 4) {
	set(pdu, FIRST + 3, 0);
	set(pdu, LENGTH, 4 * (FIRST + 4));
    }
    else if (wanted("value of a label"))
	((char *)pdu)[len - 3] ^= 1;
}

static void
result(uint32_t *pdu)
{
    int at = FIRST + 3;

    for (uint32_t i = 0; i < get(pdu, FIRST + 2); i++) {
	int n = get(pdu, at + 1);
	if (n <= 0) {
	    at += 2;
	    continue;
	}
	int format = get(pdu, at + 2);
	for (int j = 0; j < n; j++) {
	    int		value = at + 3 + 2 * j + 1;
	    uint32_t	*block = &pdu[get(pdu, value)];
	    if (format == 0) {
		if (wanted("a value is another"))
		    set(pdu, value, get(pdu, value) + 1);
	    }
	    else if (get(block, 0) >> 24 == 3) {
		if (wanted("a counter goes back")) {
		    uint64_t number = ((uint64_t)get(block, 1) << 32 | get(block, 2)) / 2;
		    set(block, 1, number >> 32);
		    set(block, 2, (uint32_t)number);
		}
	    }
	    else if (get(block, 0) >> 24 == 4 && wanted("value of another type"))
		set(block, 0, (get(block, 0) & 0xffffff) | 6 << 24);
	}
	at += 3 + 2 * n;
    }
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
    static ssize_t	(*next)(int, const void *, size_t);
    static int		faulty = -1;

    if (next == NULL)
	next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const uint32_t *given = bytes;
    if (len < 16 || (get(given, LENGTH) != len) || get(given, TYPE) >> 8 != 0x70)
	return next(fd, bytes, len);
    if (faulty < 0)
	faulty = is_faulty();
    uint32_t *pdu = faulty ? malloc(len + 4) : NULL;
    if (pdu == NULL)
	return next(fd, bytes, len);
    memcpy(pdu, bytes, len);
    switch (get(pdu, TYPE)) {
    case DESC:
	desc(pdu);
	break;
    case INSTANCE:
	instances(pdu);
	break;
    case TEXT:
	text(pdu);
	break;
    case LABEL:
	label(pdu, len);
	break;
    case RESULT:
	result(pdu);
	break;
    }
    ssize_t written = next(fd, pdu, get(pdu, LENGTH));
    free(pdu);
    return written < 0 ? written : (ssize_t)len;
}
