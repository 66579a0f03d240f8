/*
 * Event arrays where the C library writes through stale pointers, wraps or crashes: E-1, E-2, E-3, E-4, E-5, E-6, E-15,
 * E-16; the padding of EVENT-4 is zeros.
 * c-library: not run, it crashes
 */
#include "../event_dump.h"

static int array;

static void
parameter_without_record(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom = { .ul = 7 };

    printf("E-1 fresh %d", pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom));
    pmdaEventAddRecord(array, &tv, 0);
    pmdaEventResetArray(array);
    printf(", after reset %d", pmdaEventAddHighResParam(array, 1, PM_TYPE_U32, &atom));
    pmdaEventAddRecord(array, &tv, 0);
    pmdaEventReleaseArray(array);
    array = pmdaEventNewArray();
    printf(", reused %d\n", pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom));
    pmdaEventAddMissedRecord(array, &tv, 3);
    printf("E-2 after a missed record %d\n", pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom));
    dump("E-2", pmdaEventGetAddr(array));
}

static void
mixed_forms(void)
{
    struct timeval tv = { 1, 2 };
    struct timespec ts = { 0x300000003, 0 };	/* both halves alike: array_order takes them for two words */
    pmAtomValue atom = { .ul = 7 };

    pmdaEventResetArray(array);
    pmdaEventAddRecord(array, &tv, 0);
    printf("E-3 %d", pmdaEventAddHighResParam(array, 1, PM_TYPE_U32, &atom));
    pmdaEventAddHighResRecord(array, &ts, 0);
    printf(" %d\n", pmdaEventAddParam(array, 1, PM_TYPE_U32, &atom));
    dump("E-3", pmdaEventGetAddr(array));
}

static void
lengths(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom;
    pmEventArray *address;
    size_t size = 17 << 20;
    char *text = malloc(size + 1);
    int sts, added;

    memset(text, 'x', size);
    text[size] = '\0';
    pmdaEventResetArray(array);
    pmdaEventAddRecord(array, &tv, 0);
    atom.cp = text;
    printf("E-4 string %d\n", pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom));
    dump("E-4", pmdaEventGetAddr(array));
    text[1 << 20] = '\0';
    for (added = 0; (sts = pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom)) == 0; added++)
	;
    address = pmdaEventGetAddr(array);
    printf("E-4 array %d after %d of 1 MiB, length %u\n", sts, added, address->ea_len);
    free(text);
}

static void
wrong_arguments(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom = { .cp = NULL };
    pmValueBlock block;
    unsigned int length;

    pmdaEventResetArray(array);
    printf("E-5 times %d", pmdaEventAddRecord(array, NULL, 0));
    printf(" %d", pmdaEventAddHighResRecord(array, NULL, 0));
    printf(" %d", pmdaEventAddMissedRecord(array, NULL, 1));
    printf(" %d\n", pmdaEventAddHighResMissedRecord(array, NULL, 1));
    pmdaEventAddRecord(array, &tv, 0);
    printf("E-5 values %d", pmdaEventAddParam(array, 1, PM_TYPE_U32, NULL));
    printf(" %d", pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom));
    atom.vbp = NULL;
    printf(" %d", pmdaEventAddParam(array, 1, PM_TYPE_AGGREGATE, &atom));
    atom.vbp = &block;
    for (length = 0; length < 4; length++) {
	block.vtype = PM_TYPE_AGGREGATE;
	block.vlen = length;
	printf(" %d", pmdaEventAddParam(array, 1, PM_TYPE_AGGREGATE, &atom));
    }
    printf("\n");
    dump("E-5", pmdaEventGetAddr(array));
}

static void
padding(void)
{
    struct timeval tv = { 1, 2 };
    pmAtomValue atom = { .cp = "yyyyyyyyyyyyyyyy" };
    int i;

    pmdaEventResetArray(array);
    pmdaEventAddRecord(array, &tv, 0);
    for (i = 0; i < 8; i++)
	pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom);
    pmdaEventResetArray(array);
    pmdaEventAddRecord(array, &tv, 0);
    atom.cp = "12345";
    pmdaEventAddParam(array, 1, PM_TYPE_STRING, &atom);
    dump("EVENT-4", pmdaEventGetAddr(array));
}

static void
missed_times(void)
{
    struct timespec ts = { 0x1122334455, 0x66778899 };

    pmdaEventResetArray(array);
    pmdaEventAddHighResMissedRecord(array, &ts, 9);
    dump("E-6", (pmEventArray *)pmdaEventGetHighResAddr(array));
}

static void
print(void)
{
    char room[8] = "1234567";

    printf("E-16 %d", __pmdaEventPrint("abc", 0, room + 1, 5) == room + 1);
    hex(room, sizeof(room));
    printf("\nE-16 %d", __pmdaEventPrint("abc", -5, room + 1, 5) == room + 1);
    hex(room, sizeof(room));
    printf("\n");
}

int
main(void)
{
    int there;

    array = pmdaEventNewArray();
    parameter_without_record();
    mixed_forms();
    lengths();
    wrong_arguments();
    padding();
    missed_times();
    print();
    there = pmdaEventGetAddr(array) != NULL;
    printf("E-15 stale handle %d, array there %d\n", pmdaEventReleaseArray(array), there);
    return 0;
}
