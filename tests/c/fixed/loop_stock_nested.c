/*
 * A daemon with the library's own methods whose callback fetches from the same agent inside of a fetch, gives NULL for a
 * string, a block without room for its header, or sets a result callback, which counts from the next fetch on. In the C
 * library both fetches share one result, which is freed twice. FETCH-12 F-2 F-3 MAIN-20
 */
#include "../loop.h"

static pmdaInterface stock;
static pmdaMetric metrics[6];

static void
free_values(pmdaResult *result)
{
    int i, j;

    for (i = 0; i < result->numpmid; i++) {
	for (j = 0; result->vset[i]->valfmt == PM_VAL_DPTR && j < result->vset[i]->numval; j++)
	    free(result->vset[i]->vlist[j].value.pval);
	free(result->vset[i]);
    }
}

static void
seen(pmdaResult *result)
{
    say("result callback %d", result->numpmid);
    free_values(result);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static pmValueBlock header = { .vlen = 2, .vtype = PM_TYPE_AGGREGATE };
    pmID ids[] = { pmID_build(253, 0, 1), pmID_build(253, 0, 2), pmID_build(253, 0, 1) };
    pmdaResult *result;

    (void)inst;
    switch (pmID_item(metric->m_desc.pmid)) {
    case 0:
	if (pmdaFetch(3, ids, &result, stock.version.any.ext) == 0) {
	    say("inner fetch %d: %d %d", result->numpmid, result->vset[0]->numval, result->vset[1]->numval);
	    free_values(result);
	}
	atom->ull = 0x1111;
	break;
    case 1:
	atom->ull = 0x2222;
	break;
    case 2:
	atom->cp = NULL;
	break;
    case 3:
	atom->vbp = &header;
	break;
    case 4:
	pmdaSetResultCallBack(&stock, seen);
	atom->ull = 0x4444;
	break;
    default:
	atom->cp = "text";
    }
    return PMDA_FETCH_STATIC;
}

static void
body(void)
{
    static const int types[] = { PM_TYPE_U64, PM_TYPE_U64, PM_TYPE_STRING, PM_TYPE_AGGREGATE, PM_TYPE_U64, PM_TYPE_STRING };
    int i;

    for (i = 0; i < 6; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(0, i);
	metrics[i].m_desc.type = types[i];
	metrics[i].m_desc.indom = PM_INDOM_NULL;
    }
    pmSetProgname("agent");
    pmdaDaemon(&stock, PMDA_INTERFACE_7, "agent", 253, NULL, NULL);
    stock.version.any.text = own_text;
    pmdaSetFetchCallBack(&stock, value);
    pmdaInit(&stock, NULL, 0, metrics, 6);
    stock.version.any.ext->e_infd = 0;
    stock.version.any.ext->e_outfd = 1;
    pmdaMain(&stock);
}

int
main(void)
{
    start(body);
    ask("00000028 00007003 00000000 00000000 00000000 00000000 00000003 3f400001 3f400000 3f400005");
    ask("00000028 00007003 00000000 00000000 00000000 00000000 00000003 3f400002 3f400003 3f400001");
    ask("00000024 00007003 00000000 00000000 00000000 00000000 00000002 3f400004 3f400000");
    ask("00000024 00007003 00000000 00000000 00000000 00000000 00000002 3f400005 3f400001");
    finish();
    return 0;
}
