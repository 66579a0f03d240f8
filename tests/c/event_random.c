/*
 * Random sequences of array calls, of both resolutions, with values of every type and length, handles that come and go,
 * and wrong arguments in between: EVENT-1, EVENT-2, EVENT-3, EVENT-4, EVENT-10, EVENT-11, EVENT-13, EVENT-14, EVENT-15,
 * EVENT-20, EVENT-21, EVENT-22, EVENT-23, EVENT-24, EVENT-25.
 * Arrays are shown record by record, without the padding, which the C library leaves as it was.
 */
#include "event_dump.h"

#define ARRAYS	6

static unsigned int seed = 20261121;

/* The program's own data about an array: by them it leaves out calls that the C library does not survive. */
static struct {
    int handle;
    int high;		/* its form; decided by the first record */
    int ready;		/* its newest record takes parameters */
} arrays[ARRAYS];

static unsigned int
below(unsigned int limit)
{
    return (lcg(&seed) << 15 | lcg(&seed)) % limit;
}

static void
show_parameters(const char **at, int count)
{
    while (count-- > 0) {
	pmEventParameter parameter;
	unsigned int bytes;

	memcpy(&parameter, *at, sizeof(parameter));
	bytes = parameter.ep_len - 4;
	printf("    %u type %u length %u: ", parameter.ep_pmid, parameter.ep_type, parameter.ep_len);
	hex(*at + sizeof(parameter), bytes);
	printf("\n");
	*at += sizeof(parameter) + (bytes + 3) / 4 * 4;
    }
}

static void
show(int n)
{
    int high = arrays[n].high, i;
    const char *array = high ? (const char *)pmdaEventGetHighResAddr(arrays[n].handle)
	: (const char *)pmdaEventGetAddr(arrays[n].handle);
    const pmEventArray *head = (const pmEventArray *)array;
    const char *at = array + 8;

    printf("array %d: type %u, %u bytes, %d records\n", n, head->ea_type, head->ea_len, head->ea_nrecords);
    for (i = 0; i < head->ea_nrecords; i++) {
	unsigned int tail[2];
	size_t stamp = high ? 16 : 8;

	printf("  ");
	hex(at, stamp);
	memcpy(tail, at + stamp, sizeof(tail));
	printf(" flags %x, %d\n", tail[0], (int)tail[1]);
	at += stamp + sizeof(tail);
	if ((tail[0] & PM_EVENT_FLAG_MISSED) == 0)
	    show_parameters(&at, (int)tail[1]);
    }
    printf("  the end is %sthe end\n", at == array + head->ea_len ? "" : "not ");
}

static int
add_record(int n)
{
    struct timeval tv = { below(1 << 30), below(1000000) };
    struct timespec ts = { (time_t)below(1 << 30) << below(20), below(1000000000) };
    int missed = below(8) == 0;
    int flags = below(30) == 0 ? (int)PM_EVENT_FLAG_MISSED | 1 : (int)below(1 << 30);
    int sts;

    if (missed && arrays[n].high) {
	ts.tv_sec &= 0x3fffffff;	/* the C library cuts the rest off */
	sts = pmdaEventAddHighResMissedRecord(arrays[n].handle, &ts, (int)below(1 << 30) - (1 << 29));
    }
    else if (missed)
	sts = pmdaEventAddMissedRecord(arrays[n].handle, &tv, (int)below(1 << 30) - (1 << 29));
    else if (arrays[n].high)
	sts = pmdaEventAddHighResRecord(arrays[n].handle, &ts, flags);
    else
	sts = pmdaEventAddRecord(arrays[n].handle, &tv, flags);
    if (sts == 0)
	arrays[n].ready = !missed;
    return sts;
}

static int
add_parameter(int n)
{
    static const int types[] = { PM_TYPE_32, PM_TYPE_U32, PM_TYPE_64, PM_TYPE_U64, PM_TYPE_FLOAT, PM_TYPE_DOUBLE };
    static union { pmValueBlock block; char bytes[3000]; } aggregate;
    static char text[3000];
    /* mostly short, now and then longer than any array so far */
    unsigned int length = below(10) ? below(50) : below(2500);
    pmAtomValue atom = { .ull = (unsigned long long)below(1 << 30) << below(30) };
    int type = types[below(6)], handle = arrays[n].handle;

    switch (below(8)) {
    case 0: case 1:
	memset(text, 'a' + below(26), length);
	text[length] = '\0';
	type = PM_TYPE_STRING;
	atom.cp = text;
	break;
    case 2:
	memset(&aggregate, 'A' + below(26), sizeof(aggregate));
	aggregate.block.vtype = below(256);
	aggregate.block.vlen = 4 + length;
	type = PM_TYPE_AGGREGATE;
	atom.vbp = &aggregate.block;
	break;
    case 3:
	if (below(4) == 0)
	    type = PM_TYPE_AGGREGATE_STATIC + below(20);
	break;
    }
    if (!arrays[n].high)
	return pmdaEventAddParam(handle, below(1 << 30), type, &atom);
    return below(2) ? pmdaEventAddHighResParam(handle, below(1 << 30), type, &atom)
	: pmdaEventHighResAddParam(handle, below(1 << 30), type, &atom);
}

static void
start(int n, const char *what, int sts)
{
    printf("array %d %s %d\n", n, what, sts);
    arrays[n].high = below(2);
    arrays[n].ready = 0;
}

int
main(void)
{
    unsigned int step;
    int n;

    for (n = 0; n < ARRAYS; n++)
	arrays[n].handle = -1;
    for (step = 0; step < 20000; step++) {
	n = below(ARRAYS);
	if (arrays[n].handle < 0) {
	    arrays[n].handle = below(2) ? pmdaEventNewArray() : pmdaEventNewHighResArray();
	    start(n, "new", arrays[n].handle);
	}
	switch (below(100)) {
	case 0:
	    start(n, "released", below(2) ? pmdaEventReleaseArray(arrays[n].handle)
		: pmdaEventReleaseHighResArray(arrays[n].handle));
	    printf("again %d\n", pmdaEventReleaseArray(arrays[n].handle));
	    arrays[n].handle = -1;
	    break;
	case 1: case 2:
	    start(n, "reset", below(2) ? pmdaEventResetArray(arrays[n].handle)
		: pmdaEventResetHighResArray(arrays[n].handle));
	    break;
	case 3: case 4:
	    show(n);
	    break;
	case 5:
	    printf("no array %d\n", pmdaEventAddParam(ARRAYS + below(1000), 1, PM_TYPE_32, NULL));
	    break;
	default:
	    if (!arrays[n].ready || below(4) == 0)
		printf("%d ", add_record(n));
	    else
		printf("%d ", add_parameter(n));
	    break;
	}
    }
    printf("\n");
    return 0;
}
