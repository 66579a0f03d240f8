/*
 * A daemon whose methods are the library's own, and the same daemon with methods that only pass the call on: the replies are
 * the same byte by byte. Values of all types, values to be freed, errors, profiles, tables that change, callbacks that
 * fetch inside of a fetch, that exchange methods, or that leave the loop. WIRE-50 WIRE-52 MAIN-10 MAIN-20 FETCH-34
 * FETCH-35 FETCH-36 FETCH-42 FETCH-50 FETCH-52 FETCH-60 INST-60 INST-61
 */
#include <malloc.h>
#include <setjmp.h>
#include "loop.h"

#define ITEMS 20

enum { TYPES, TABLE, CACHE, ERRORS, DYNAMIC, SHARED, LIVE, NESTED, LEAVING, CHANGES, CLUSTERS };

static int version, passed_on;
static pmdaInterface stock;
static jmp_buf out;
static int leave, fetches;

static pmdaInstid colours[] = { { 5, "red one" }, { 1, "green" }, { 5, "red two" }, { 9, "blue" }, { 3, "" }, { 0, 0 }, { 0, 0 } };
static pmdaInstid many[300];
static pmdaIndom indoms[] = { { 1, 5, colours }, { 2, 0, NULL }, { 3, 0, NULL }, { 4, 300, many }, { 5, 1, colours } };
static pmdaMetric metrics[CLUSTERS * ITEMS];

static pmInDom
domain(int serial)
{
    return pmInDom_build(253, serial);
}

static void *
block(int type, const char *text, int length)
{
    pmValueBlock *made = calloc(1, PM_VAL_HDR_SIZE + length + 4);

    made->vtype = type;
    made->vlen = PM_VAL_HDR_SIZE + length;
    memcpy(made->vbuf, text, length);
    return made;
}

/* A value of the metric's type; those that are not copied live for ever. */
static int
typed(int type, int seed, pmAtomValue *atom)
{
    static int events = -1, highres = -1;
    static const struct timeval when = { 11, 22 };
    static const struct timespec then = { 33, 44 };
    static char text[100];
    pmAtomValue number;

    switch (type) {
    case PM_TYPE_32: atom->l = -7 - seed; break;
    case PM_TYPE_U32: atom->ul = 0x01020304 + seed; break;
    case PM_TYPE_64: atom->ll = -0x0102030405060708LL - seed; break;
    case PM_TYPE_U64: atom->ull = 0xf1f2f3f4f5f6f7f8ULL + seed; break;
    case PM_TYPE_FLOAT: atom->f = 1.5 + seed; break;
    case PM_TYPE_DOUBLE: atom->d = -2.25 * seed; break;
    case PM_TYPE_STRING:
	memset(text, 'a' + seed % 26, sizeof(text) - 1);
	text[seed % 30] = '\0';
	atom->cp = text;
	break;
    case PM_TYPE_AGGREGATE: atom->vbp = block(3, "aggregate", seed % 10); break;
    case PM_TYPE_AGGREGATE_STATIC: atom->vbp = block(seed % 2 ? PM_TYPE_U64 : PM_TYPE_AGGREGATE_STATIC, "static ones", 8 + seed % 4); break;
    case PM_TYPE_EVENT:
	if (events < 0)
	    events = pmdaEventNewArray();
	pmdaEventResetArray(events);
	number.ull = 5 + seed;
	pmdaEventAddRecord(events, (struct timeval *)&when, PM_EVENT_FLAG_POINT);
	pmdaEventAddParam(events, 77, PM_TYPE_U64, &number);
	pmdaEventAddMissedRecord(events, (struct timeval *)&when, 3);
	atom->vbp = (pmValueBlock *)pmdaEventGetAddr(events);
	break;
    case PM_TYPE_HIGHRES_EVENT:
	if (highres < 0)
	    highres = pmdaEventNewHighResArray();
	pmdaEventResetHighResArray(highres);
	number.cp = "argument";
	pmdaEventAddHighResRecord(highres, (struct timespec *)&then, PM_EVENT_FLAG_POINT);
	pmdaEventHighResAddParam(highres, 78, PM_TYPE_STRING, &number);
	atom->vbp = (pmValueBlock *)pmdaEventHighResGetAddr(highres);
	break;
    default:
	atom->ull = seed;
    }
    return PMDA_FETCH_STATIC;
}

static int value(pmdaMetric *, unsigned int, pmAtomValue *);
static int passing_fetch(int, pmID *, pmdaResult **, pmdaExt *);

/* Fetches two metrics of another agent inside of a fetch, and asks for instances of this one. */
static void
inner(void)
{
    static pmdaInterface other;
    pmID ids[] = { pmID_build(253, TYPES, 6), pmID_build(253, TABLE, 3) };
    pmInResult *list;
    pmdaResult *result;
    int i, j;

    if (other.domain == 0) {
	other.domain = 253;
	pmdaDSO(&other, version, "other", NULL);
	other.version.any.text = own_text;
	pmdaSetFetchCallBack(&other, value);
	pmdaInit(&other, indoms, 5, metrics, 2 * ITEMS);
    }
    if (pmdaInstance(domain(1), PM_IN_NULL, NULL, &list, stock.version.any.ext) == 0) {
	for (i = 0; i < list->numinst; i++)
	    free(list->namelist[i]);
	free(list->namelist);
	free(list->instlist);
	free(list);
    }
    if (pmdaFetch(2, ids, &result, other.version.any.ext) < 0)
	return;
    for (i = 0; i < 2; i++) {
	for (j = 0; result->vset[i]->valfmt == PM_VAL_DPTR && j < result->vset[i]->numval; j++)
	    free(result->vset[i]->vlist[j].value.pval);
	free(result->vset[i]);
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static pmValueBlock *shared;
    int item = pmID_item(metric->m_desc.pmid), seed = inst == PM_IN_NULL ? item : (int)inst % 1000, state;
    static const int answers[] = { PM_ERR_PMID, PM_ERR_INST, PM_ERR_VALUE, PM_ERR_AGAIN, -ENOENT, PM_ERR_GENERIC, 0, 3, 4 };

    switch (pmID_cluster(metric->m_desc.pmid)) {
    case CACHE:
	state = pmdaCacheLookup(domain(3), inst, NULL, NULL);
	return state == PMDA_CACHE_ACTIVE ? typed(metric->m_desc.type, seed, atom) : PM_ERR_INST;
    case ERRORS:
	/* Some instances of some metrics fail; a value that is not copied is not freed either. */
	if ((seed + item) % 3 != 0 || inst == PM_IN_NULL)
	    return typed(metric->m_desc.type, seed, atom), answers[(seed + item) % 9];
	return typed(metric->m_desc.type, seed, atom);
    case DYNAMIC:
	typed(metric->m_desc.type, seed, atom);
	if (metric->m_desc.type == PM_TYPE_STRING) {
	    atom->cp = memset(malloc(20000), 'x', 20000);
	    atom->cp[19990 + seed % 10] = '\0';
	} else if (metric->m_desc.type == PM_TYPE_AGGREGATE) {
	    atom->vbp = calloc(1, 20000);
	    atom->vbp->vlen = 19000 + seed;
	}
	return PMDA_FETCH_DYNAMIC;
    case SHARED:
	/* One block for all instances: it is sent as it is in the end. */
	if (shared == NULL)
	    shared = block(PM_TYPE_AGGREGATE_STATIC, "shared", 6);
	shared->vbuf[0] = 'A' + seed % 26;
	shared->vlen = PM_VAL_HDR_SIZE + 1 + seed % 6;
	atom->vbp = shared;
	return PMDA_FETCH_STATIC;
    case LIVE:
	if (indoms[0].it_numinst < 7) {
	    colours[indoms[0].it_numinst].i_inst = 20 + indoms[0].it_numinst;
	    colours[indoms[0].it_numinst++].i_name = "late";
	}
	return typed(metric->m_desc.type, seed, atom);
    case NESTED:
	inner();
	return typed(metric->m_desc.type, seed, atom);
    case LEAVING:
	if (leave)
	    longjmp(out, 1);
	return typed(metric->m_desc.type, seed, atom);
    case CHANGES:
	/* Exchanges the method in the middle of a fetch, and tells pmcd that something has changed. */
	stock.version.any.ext->e_flags |= item % 2 ? 1 << 5 : 1 << 6;
	stock.version.any.fetch = stock.version.any.fetch == pmdaFetch ? passing_fetch : pmdaFetch;
	stock.version.any.ext->e_fetchCallBack = value;
	return typed(metric->m_desc.type, seed, atom);
    }
    return typed(metric->m_desc.type, seed, atom);
}

static int
passing_fetch(int n, pmID *ids, pmdaResult **result, pmdaExt *ext)
{
    fetches++;
    return pmdaFetch(n, ids, result, ext);
}

static int
passing_instance(pmInDom indom, int inst, char *name, pmInResult **result, pmdaExt *ext)
{
    return pmdaInstance(indom, inst, name, result, ext);
}

static size_t
in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* The end of a context: how much memory has been lost since the last one. */
static void
ended(int context)
{
    static size_t before;
    size_t now = in_use();

    say("end of context %d: %s", context, before && now > before + 1000000 ? "memory is lost" : "no memory is lost");
    before = now;
}

/* The check callback changes tables and caches between requests, as agents do in their refresh. */
static int
check(void)
{
    static int turn;
    int inst;

    turn++;
    many[turn % 300].i_inst = 1000 + turn;
    pmdaCacheStore(domain(3), turn % 2 ? PMDA_CACHE_HIDE : PMDA_CACHE_ADD, "disk4 cached", NULL);
    if (turn % 5 == 0 && pmdaCacheLookupName(domain(3), "disk6 cached", &inst, NULL) >= 0)
	pmdaCacheStore(domain(3), PMDA_CACHE_CULL, "disk6 cached", NULL);
    else
	pmdaCacheStore(domain(3), PMDA_CACHE_ADD, "disk6 cached", NULL);
    return 0;
}

static void
body(void)
{
    static const int domains[CLUSTERS] = { -1, 1, 3, 4, 1, 1, 1, 1, -1, -1 };
    static char names[300][20];
    int i;

    for (i = 0; i < CLUSTERS * ITEMS; i++) {
	pmDesc *desc = &metrics[i].m_desc;
	int item = i % ITEMS, cluster = i / ITEMS;

	desc->pmid = PMDA_PMID(cluster, item);
	desc->type = cluster == SHARED ? PM_TYPE_AGGREGATE_STATIC : item == 11 ? PM_TYPE_NOSUPPORT : item == 12 ? 99 : item % 11;
	desc->indom = domains[cluster] < 0 || item > 15 ? PM_INDOM_NULL : (pmInDom)domains[cluster];
	desc->sem = PM_SEM_INSTANT;
    }
    for (i = 0; i < 300; i++) {
	many[i].i_inst = i;
	snprintf(names[i], sizeof(names[i]), "instance %d", i);
	many[i].i_name = names[i];
    }
    pmSetProgname("agent");
    memset(&stock, 0, sizeof(stock));
    pmdaDaemon(&stock, version, "agent", 253, NULL, NULL);
    stock.version.any.text = own_text;
    pmdaSetFetchCallBack(&stock, value);
    pmdaSetCheckCallBack(&stock, check);
    if (version >= 5)
	pmdaSetEndContextCallBack(&stock, ended);
    for (i = 0; i < 10; i++) {
	snprintf(names[0], sizeof(names[0]), "disk%d cached", i);
	pmdaCacheStore(domain(3), PMDA_CACHE_ADD, names[0], NULL);
    }
    pmdaCacheStore(domain(3), PMDA_CACHE_HIDE, "disk2 cached", NULL);
    strcpy(names[0], "instance 0");
    pmdaInit(&stock, indoms, 5, metrics, CLUSTERS * ITEMS);
    metrics[TABLE * ITEMS + 14].m_desc.indom = domain(77);
    metrics[TABLE * ITEMS + 15].m_desc.indom = domain(2);
    if (passed_on) {
	stock.version.any.fetch = passing_fetch;
	stock.version.any.instance = passing_instance;
    }
    stock.version.any.ext->e_infd = 0;
    stock.version.any.ext->e_outfd = 1;
    leave = 1;
    if (setjmp(out) != 0)
	leave = 0;
    pmdaMain(&stock);
    say("status %d, own method called: %d", stock.status, fetches > 0);
}

/* Asks for all metrics of a cluster, in one request or one by one. */
static void
fetch(int cluster, int first, int last, int together)
{
    char hex[1000];
    int i, at = 0;

    for (i = first; i <= last; i++) {
	if (!together || i == first)
	    at = sprintf(hex, "%08x 00007003 00000000 00000000 00000000 00000000 %08x", 28 + 4 * (together ? last - first + 1 : 1),
			 together ? last - first + 1 : 1);
	at += sprintf(hex + at, " %08x", 253 << 22 | cluster << 10 | i);
	if (!together || i == last)
	    ask(hex);
    }
}

static void
instances(const char *serial)
{
    char hex[200];

    snprintf(hex, sizeof(hex), "00000020 00007006 00000000 3f40000%s 00000000 00000000 ffffffff 00000000", serial);
    ask(hex);
    snprintf(hex, sizeof(hex), "00000020 00007006 00000000 3f40000%s 00000000 00000000 00000005 00000000", serial);
    ask(hex);
    snprintf(hex, sizeof(hex), "00000020 00007006 00000000 3f40000%s 00000000 00000000 00004e20 00000000", serial);
    ask(hex);
    /* red, red one, disk1, and one with a NUL in it */
    snprintf(hex, sizeof(hex), "00000024 00007006 00000000 3f40000%s 00000000 00000000 ffffffff 00000003 7265647e", serial);
    ask(hex);
    snprintf(hex, sizeof(hex), "00000028 00007006 00000000 3f40000%s 00000000 00000000 ffffffff 00000007 72656420 6f6e657e", serial);
    ask(hex);
    snprintf(hex, sizeof(hex), "00000028 00007006 00000000 3f40000%s 00000000 00000000 ffffffff 00000005 6469736b 317e7e7e", serial);
    ask(hex);
    snprintf(hex, sizeof(hex), "00000028 00007006 00000000 3f40000%s 00000000 00000000 ffffffff 00000008 67726565 6e006162", serial);
    ask(hex);
    /* both an id and a name */
    snprintf(hex, sizeof(hex), "00000024 00007006 00000000 3f40000%s 00000000 00000000 00000005 00000003 7265647e", serial);
    ask(hex);
}

static void
all(void)
{
    static const char *serials[] = { "1", "2", "3", "4", "5", "9" };
    static const char *profiles[] = {
	"0000001c 00007002 00000000 00000000 00000001 00000000 00000000",
	"00000058 00007002 00000000 00000000 00000001 00000002 00000000 3f400001 00000001 00000003 00000000"
	    " 3f400003 00000001 00000004 00000000 00000005 00000001 00000063 00000000 00000004 00000006 00000007",
	"00000048 00007002 00000000 00000000 00000000 00000002 00000000 3f400001 00000000 00000001 00000000"
	    " 3f400003 00000000 00000002 00000000 00000005 00000001 00000003",
	"0000001c 00007002 00000000 00000000 00000000 00000000 00000000",
    };
    int i, turn;

    for (turn = 0; turn < 4; turn++) {
	if (turn)
	    tell(profiles[turn - 1]);
	for (i = 0; i < CLUSTERS; i++) {
	    if (i == LEAVING)
		continue;
	    fetch(i, 0, ITEMS - 1, 0);
	    fetch(i, 0, ITEMS - 1, 1);
	    fetch(i, 3, 3, 1);
	}
	/* metrics that do not exist, and one twice */
	fetch(30, 0, 2, 1);
	fetch(TYPES, 18, 22, 1);
	for (i = 0; i < 6; i++)
	    instances(serials[i]);
    }
    tell(profiles[3]);
    for (turn = 0; turn < 3; turn++) {
	tell("00000010 00007000 00000005 ffffcf99");
	for (i = 0; i < 20; i++)
	    fetch(DYNAMIC, 6, 7, 1);
    }
    tell("00000010 00007000 00000005 ffffcf99");
    fetch(CACHE, 0, 10, 1);
    /* What leaves the loop has no answer; the next request has. */
    post("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f402003");
    fetch(LEAVING, 0, 10, 1);
    fetch(TABLE, 0, 10, 1);
}

int
main(void)
{
    static const int versions[] = { 7, 5, 4, 2 };
    int i;

    for (i = 0; i < 4; i++) {
	version = versions[i];
	for (passed_on = 0; passed_on < 2; passed_on++) {
	    printf("== interface %d passed on %d\n", version, passed_on);
	    fprintf(stderr, "== interface %d passed on %d\n", version, passed_on);
	    start(body);
	    all();
	    finish();
	}
    }
    return 0;
}
