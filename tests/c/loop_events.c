/*
 * Event arrays of either resolution through the main loop, byte by byte: records with parameters of each type, flags,
 * several arrays in one result. WIRE-44 WIRE-46 WIRE-50 EVENT-1 EVENT-2 EVENT-3
 */
#include "loop.h"

static int handles[4];

static int
event_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    static pmdaResult *last;
    int i, status = own_fetch(0, pmids, result, ext);

    if (status < 0)
	return status;
    free(last);
    last = calloc(1, sizeof(pmdaResult) + n * sizeof(pmValueSet *));
    last->numpmid = n;
    for (i = 0; i < n; i++) {
	int item = pmID_item(pmids[i]) % 4;
	pmValueSet *set = calloc(1, sizeof *set);
	set->pmid = pmids[i];
	set->numval = 1;
	set->valfmt = PM_VAL_DPTR;
	set->vlist[0].inst = PM_IN_NULL;
	set->vlist[0].value.pval = item < 2 ? (pmValueBlock *)pmdaEventGetAddr(handles[item])
					    : (pmValueBlock *)pmdaEventGetHighResAddr(handles[item]);
	last->vset[i] = set;
    }
    *result = last;
    return 0;
}

static void
event_result(pmdaResult *result)
{
    int i;

    say("result callback %d", result->numpmid);
    for (i = 0; i < result->numpmid; i++)
	free(result->vset[i]);
}

static void
parameters(int handle, int high)
{
    static const int types[] = { PM_TYPE_32, PM_TYPE_U32, PM_TYPE_64, PM_TYPE_U64, PM_TYPE_FLOAT, PM_TYPE_DOUBLE };
    pmAtomValue atom;
    pmValueBlock *block = calloc(1, PM_VAL_HDR_SIZE + 5);
    int i, status;

    for (i = 0; i < 6; i++) {
	memset(&atom, 0, sizeof atom);
	if (types[i] == PM_TYPE_FLOAT)
	    atom.f = 1.5;
	else if (types[i] == PM_TYPE_DOUBLE)
	    atom.d = -2.5;
	else
	    atom.ull = 0x0102030405060708ULL;
	status = high ? pmdaEventHighResAddParam(handle, 0x3f400010 + i, types[i], &atom)
		      : pmdaEventAddParam(handle, 0x3f400010 + i, types[i], &atom);
	say("  parameter %d: %d", i, status);
    }
    atom.cp = "some text";
    status = high ? pmdaEventHighResAddParam(handle, 0x3f400020, PM_TYPE_STRING, &atom)
		  : pmdaEventAddParam(handle, 0x3f400020, PM_TYPE_STRING, &atom);
    block->vtype = PM_TYPE_AGGREGATE;
    block->vlen = PM_VAL_HDR_SIZE + 5;
    memcpy(block->vbuf, "\1\2\3\4\5", 5);
    atom.vbp = block;
    status += high ? pmdaEventHighResAddParam(handle, 0x3f400021, PM_TYPE_AGGREGATE, &atom)
		   : pmdaEventAddParam(handle, 0x3f400021, PM_TYPE_AGGREGATE, &atom);
    say("  texts: %d", status);
    free(block);
}

static void
body(void)
{
    struct timeval low = { 0x11223344, 0x55667 };
    struct timespec high = { 0x1122334455LL, 123456789 };
    int i;

    agent(7);
    dispatch.version.seven.fetch = event_fetch;
    extension.e_resultCallBack = event_result;
    for (i = 0; i < 2; i++) {
	handles[i] = pmdaEventNewArray();
	handles[2 + i] = pmdaEventNewHighResArray();
    }
    /* the first of each kind stays empty */
    for (i = 0; i < 3; i++) {
	say("record %d", pmdaEventAddRecord(handles[1], &low, i == 1 ? PM_EVENT_FLAG_POINT : PM_EVENT_FLAG_START | PM_EVENT_FLAG_ID));
	if (i != 1)
	    parameters(handles[1], 0);
	say("record %d", pmdaEventAddHighResRecord(handles[3], &high, i == 1 ? PM_EVENT_FLAG_POINT : PM_EVENT_FLAG_END | PM_EVENT_FLAG_PARENT));
	if (i != 1)
	    parameters(handles[3], 1);
    }
    say("missed %d", pmdaEventAddMissedRecord(handles[1], &low, 9));
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400001");
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400002");
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400003");
    ask("00000030 00007003 00000000 00000000 00000000 00000000 00000005 3f400003 3f400001 3f400000 3f400003 3f400001");
    finish();
    return 0;
}
