/*
 * Handles, records, parameters and the bytes of event arrays: EVENT-1, EVENT-2, EVENT-3, EVENT-4, EVENT-5,
 * EVENT-10, EVENT-11, EVENT-12, EVENT-13, EVENT-14, EVENT-15, EVENT-20, EVENT-21, EVENT-22, EVENT-23, EVENT-24 (the
 * sequences grow beyond 512 bytes), EVENT-25.
 * Padding is shown for lengths that need none only: what the C library pads with is undefined.
 */
#include <limits.h>
#include "event_dump.h"

static void
handles(void)
{
    static const int bad[] = { -1, 3, 1000000, INT_MIN, INT_MAX };
    struct timeval tv = { 1, 2 };
    struct timespec ts = { 1, 2 };
    pmAtomValue atom = { .ul = 1 };
    unsigned int i;

    SHOW(pmdaEventNewArray());
    SHOW(pmdaEventNewHighResArray());
    SHOW(pmdaEventNewArray());
    SHOW(pmdaEventNewQueue("handles", 100));
    SHOW(pmdaEventNewArray());
    SHOW(pmdaEventReleaseHighResArray(4));
    SHOW(pmdaEventQueueShutdown(0));
    SHOW(pmdaEventNewArray());
    SHOW(pmdaEventReleaseArray(1));
    SHOW(pmdaEventReleaseArray(1));
    SHOW(pmdaEventReleaseArray(3));
    SHOW(pmdaEventNewHighResArray());
    SHOW(pmdaEventNewHighResArray());
    SHOW(pmdaEventReleaseArray(3));
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
	int h = bad[i];
	printf("bad %d\n", h);
	SHOW(pmdaEventResetArray(h));
	SHOW(pmdaEventResetHighResArray(h));
	SHOW(pmdaEventReleaseArray(h));
	SHOW(pmdaEventReleaseHighResArray(h));
	SHOW(pmdaEventAddRecord(h, &tv, (int)PM_EVENT_FLAG_MISSED));
	SHOW(pmdaEventAddHighResRecord(h, &ts, 0));
	SHOW(pmdaEventAddMissedRecord(h, &tv, 1));
	SHOW(pmdaEventAddHighResMissedRecord(h, &ts, 1));
	SHOW(pmdaEventAddParam(h, 1, PM_TYPE_EVENT, &atom));
	SHOW(pmdaEventAddHighResParam(h, 1, PM_TYPE_32, &atom));
	SHOW(pmdaEventHighResAddParam(h, 1, PM_TYPE_32, NULL));
	SHOW(pmdaEventGetAddr(h) == NULL);
	SHOW(pmdaEventGetHighResAddr(h) == NULL);
	SHOW(pmdaEventHighResGetAddr(h) == NULL);
    }
}

static void
values(int h)
{
    struct timeval tv = { 0x12345678, 999999 };
    struct timeval wide = { 0x1122334455, -3 };
    union { pmValueBlock block; char bytes[64]; } aggregate;
    static const char *strings[] = { "", "1234", "12345678" };
    pmAtomValue atom;
    unsigned int i;

    pmdaEventResetArray(h);
    dump("fresh", pmdaEventGetAddr(h));
    SHOW(pmdaEventAddRecord(h, &tv, PM_EVENT_FLAG_POINT | PM_EVENT_FLAG_ID));
    atom.l = -2;
    SHOW(pmdaEventAddParam(h, PMDA_PMID(1, 2), PM_TYPE_32, &atom));
    atom.ul = 0xfedcba98;
    SHOW(pmdaEventAddParam(h, 0, PM_TYPE_U32, &atom));
    atom.ll = -3;
    SHOW(pmdaEventAddParam(h, PM_ID_NULL, PM_TYPE_64, &atom));
    atom.ull = 0x0123456789abcdefULL;
    SHOW(pmdaEventAddParam(h, 7, PM_TYPE_U64, &atom));
    atom.f = 1.5;
    SHOW(pmdaEventAddParam(h, 8, PM_TYPE_FLOAT, &atom));
    atom.d = -1e300;
    SHOW(pmdaEventAddParam(h, 9, PM_TYPE_DOUBLE, &atom));
    SHOW(pmdaEventAddRecord(h, &wide, 0x7fffffff));
    for (i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
	atom.cp = (char *)strings[i];
	SHOW(pmdaEventAddParam(h, 10 + i, PM_TYPE_STRING, &atom));
    }
    memset(&aggregate, 0x5a, sizeof(aggregate));
    aggregate.block.vtype = PM_TYPE_AGGREGATE_STATIC;
    for (i = 0; i <= 8; i += 4) {
	aggregate.block.vlen = 4 + i;
	atom.vbp = &aggregate.block;
	SHOW(pmdaEventAddParam(h, 20 + i, PM_TYPE_AGGREGATE, &atom));
    }
    SHOW(pmdaEventAddMissedRecord(h, &tv, 5));
    SHOW(pmdaEventAddMissedRecord(h, &wide, -5));
    SHOW(pmdaEventAddMissedRecord(h, &tv, 0));
    dump("low", pmdaEventGetAddr(h));
    dump("again, as high", (pmEventArray *)pmdaEventGetHighResAddr(h));
}

static void
padded(int h)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom;
    const pmEventArray *array;
    char text[16] = "";
    int i;

    /* lengths that need padding: everything but the padding is shown */
    for (i = 1; i <= 9; i++) {
	text[i - 1] = 'a' + i;
	text[i] = '\0';
	pmdaEventResetArray(h);
	pmdaEventAddRecord(h, &tv, 0);
	atom.cp = text;
	pmdaEventAddParam(h, 5, PM_TYPE_STRING, &atom);
	array = pmdaEventGetAddr(h);
	printf("string %d: array %u: ", i, array->ea_len);
	hex((const char *)array + 24, 8 + i);
	printf("\n");
    }
}

static void
types(int h)
{
    static const int wrong[] = { PM_TYPE_NOSUPPORT, PM_TYPE_AGGREGATE_STATIC, PM_TYPE_EVENT, PM_TYPE_HIGHRES_EVENT,
	PM_TYPE_UNKNOWN, 11, 256, -2, 0x7fffffff };
    struct timeval tv = { 3, 4 };
    pmAtomValue atom = { .ull = 0 };
    unsigned int i;

    pmdaEventResetArray(h);
    SHOW(pmdaEventAddRecord(h, &tv, (int)PM_EVENT_FLAG_MISSED));
    SHOW(pmdaEventAddRecord(h, &tv, -1));
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
	printf("type %d: ", wrong[i]);
	SHOW(pmdaEventAddParam(h, 1, wrong[i], &atom));
    }
    pmdaEventAddRecord(h, &tv, 0);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
	printf("type %d: ", wrong[i]);
	SHOW(pmdaEventHighResAddParam(h, 1, wrong[i], &atom));
    }
    dump("types", pmdaEventGetAddr(h));
}

static void
high(int h)
{
    struct timespec ts = { 0x1122334455, 123456789 };
    struct timespec small = { 77, 88 };
    pmAtomValue atom = { .ul = 0xaabbccdd };
    const void *before, *after;

    pmdaEventResetHighResArray(h);
    SHOW(pmdaEventAddHighResRecord(h, &ts, (int)PM_EVENT_FLAG_MISSED));
    SHOW(pmdaEventAddHighResRecord(h, &ts, PM_EVENT_FLAG_START));
    SHOW(pmdaEventAddHighResParam(h, 1, PM_TYPE_U32, &atom));
    SHOW(pmdaEventAddHighResMissedRecord(h, &small, 12));
    SHOW(pmdaEventAddHighResRecord(h, &small, 0));
    SHOW(pmdaEventHighResAddParam(h, 2, PM_TYPE_U32, &atom));
    before = pmdaEventGetHighResAddr(h);
    dump("high", (pmEventArray *)before);
    SHOW(pmdaEventHighResGetAddr(h) == before);
    SHOW(pmdaEventResetHighResArray(h));
    printf("after reset: length %u, records %d\n", ((pmEventArray *)before)->ea_len, ((pmEventArray *)before)->ea_nrecords);
    pmdaEventAddHighResRecord(h, &small, 1);
    after = pmdaEventGetHighResAddr(h);
    printf("same address %d\n", before == after);
    dump("refilled", (pmEventArray *)after);
}

static void
sequences(void)
{
    unsigned int seed = 4711, step;
    int arrays[4], form[4] = { 0 }, ready[4] = { 0 }, i;
    pmAtomValue atom;
    char text[256];

    for (i = 0; i < 4; i++)
	arrays[i] = i % 2 ? pmdaEventNewHighResArray() : pmdaEventNewArray();
    for (step = 0; step < 4000; step++) {
	int n = lcg(&seed) % 4, h = arrays[n];
	struct timeval tv = { lcg(&seed), lcg(&seed) };
	struct timespec ts = { tv.tv_sec, tv.tv_usec };
	unsigned int length = lcg(&seed) % 60 * 4;

	switch (lcg(&seed) % 12) {
	case 0: case 1: case 2:
	    form[n] = n % 2;
	    printf("%u", (unsigned)(form[n] ? pmdaEventAddHighResRecord(h, &ts, step) : pmdaEventAddRecord(h, &tv, step)));
	    ready[n] = 1;
	    break;
	case 3: case 4: case 5: case 6: case 7: case 8:
	    if (!ready[n])
		break;
	    memset(text, 'a' + step % 26, length);
	    text[length] = '\0';
	    if (step % 3)
		atom.ull = (unsigned long long)step << 33;
	    else
		atom.cp = text;
	    i = step % 3 ? PM_TYPE_U64 : PM_TYPE_STRING;
	    SHOW(n % 2 ? pmdaEventAddHighResParam(h, step, i, &atom) : pmdaEventAddParam(h, step, i, &atom));
	    break;
	case 9:
	    SHOW(n % 2 ? pmdaEventAddHighResMissedRecord(h, &ts, step) : pmdaEventAddMissedRecord(h, &tv, step));
	    ready[n] = 0;
	    break;
	case 10:
	    dump("\nsequence", n % 2 ? (pmEventArray *)pmdaEventGetHighResAddr(h) : pmdaEventGetAddr(h));
	    break;
	default:
	    if (step % 5)
		break;
	    SHOW(pmdaEventResetArray(h));
	    ready[n] = 0;
	    break;
	}
    }
    printf("\n");
}

int
main(void)
{
    handles();
    values(0);
    padded(0);
    types(1);
    high(2);
    sequences();
    return 0;
}
