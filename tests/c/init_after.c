/*
 * What an agent sets after pmdaInit, in its dispatch table, its extension or its tables, counts from the next call on: of a
 * shared object as of a daemon. (Two exceptions: docs/COMPATIBILITY.md.) MAIN-56 FETCH-21 INIT-44 INIT-46 INST-51
 */
#include "fetch.h"
#include "show.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    printf("  value of %s [%u]\n", pmIDStr(metric->m_desc.pmid), inst);
    atom->l = 100 + (int)inst;
    return PMDA_FETCH_STATIC;
}

static int
none(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    printf("  no value of %s [%u]\n", pmIDStr(metric->m_desc.pmid), inst);
    atom->l = 1;
    return PMDA_FETCH_NOVALUES;
}

/* Describes items from 40 on. */
static int
late_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    (void)ext;
    printf("  described %s\n", pmIDStr(pmid));
    if (pmID_item(pmid) < 40)
	return PM_ERR_PMID;
    memset(desc, 0, sizeof(*desc));
    desc->pmid = pmid;
    desc->type = PM_TYPE_32;
    desc->indom = PM_INDOM_NULL;
    return 0;
}

static int
other_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    printf("  other:");
    return late_desc(pmid, desc, ext);
}

#define METRIC(item, indom) { NULL, { PMDA_PMID(0, item), PM_TYPE_32, indom, PM_SEM_INSTANT, { 0 } } }

static char one[] = "one", two[] = "two", three[] = "three", agent_name[] = "agent";
static pmdaInstid instances[] = { { 1, one }, { 2, two }, { 3, three } };
static pmdaIndom indoms[] = { { 0, 2, instances }, { 1, 1, instances + 2 } };
static pmdaMetric metrics[] = { METRIC(0, PM_INDOM_NULL), METRIC(1, 0), METRIC(2, PM_INDOM_NULL) };

enum form { DIRECT, LINEAR, HASHED };

static void
set_up(pmdaInterface *table, int daemon, enum form form)
{
    static pmdaIndom indoms_at_first[2];
    static pmdaMetric metrics_at_first[3];
    static int known;

    if (!known) {
	memcpy(indoms_at_first, indoms, sizeof(indoms));
	memcpy(metrics_at_first, metrics, sizeof(metrics));
	known = 1;
    }
    memcpy(indoms, indoms_at_first, sizeof(indoms));
    memcpy(metrics, metrics_at_first, sizeof(metrics));
    if (form == LINEAR)
	metrics[2].m_desc.pmid = PMDA_PMID(0, 30);
    memset(table, 0, sizeof(*table));
    table->domain = DOMAIN;
    if (daemon)
	pmdaDaemon(table, PMDA_INTERFACE_7, agent_name, DOMAIN, "agent.log", NULL);
    else
	pmdaDSO(table, PMDA_INTERFACE_7, agent_name, NULL);
    table->version.any.text = NULL;
    pmdaSetFetchCallBack(table, value);
    if (form == HASHED)
	pmdaSetFlags(table, PMDA_EXT_FLAG_HASHED);
    pmdaInit(table, indoms, 2, metrics, 3);
    printf("%s %s: status %d, direct %d\n", daemon ? "daemon" : "shared object",
	form == DIRECT ? "direct" : form == LINEAR ? "linear" : "hashed", table->status, CALL(*table).ext->e_direct);
}

static void
fetch_items(pmdaInterface *table, const char *when, int first, int last)
{
    pmID pmids[100];
    int item, n = 0;

    printf("%s\n", when);
    for (item = first; item <= last; item++)
	pmids[n++] = pmID_build(DOMAIN, 0, item);
    fetch(table, n, pmids);
}

/* Exchanges the desc method. A shared object has to say so to ours: its table may have moved without notice. */
static void
exchange(pmdaInterface *table, int daemon, int (*desc)(pmID, pmDesc *, pmdaExt *))
{
    CALL(*table).desc = desc;
    if (!daemon)
	pmdaInterfaceMoved(table);
}

static void
methods(int daemon)
{
    pmdaInterface table;
    set_up(&table, daemon, DIRECT);
    exchange(&table, daemon, late_desc);
    fetch_items(&table, "another desc method", 39, 41);
    exchange(&table, daemon, other_desc);
    fetch_items(&table, "and another", 40, 40);
    exchange(&table, daemon, NULL);
    fetch_items(&table, "none", 40, 40);
    exchange(&table, daemon, late_desc);
    fetch_items(&table, "and again one", 40, 40);
    CALL(table).ext->e_fetchCallBack = none;
    fetch_items(&table, "another fetch callback", 0, 1);
    pmdaSetFetchCallBack(&table, value);

    printf("a set-up that fails\n");
    memset(&table, 0, sizeof(table));
    table.domain = DOMAIN;
    pmdaDSO(&table, PMDA_INTERFACE_7, agent_name, NULL);
    pmdaSetFetchCallBack(&table, value);
    CALL(table).desc = late_desc;
    pmdaInit(&table, NULL, -1, metrics, 3);
    SHOW(table.status);
    fetch_items(&table, "as pmdaInit has left it", 40, 40);
}

static void
fields(int daemon, enum form form)
{
    static pmdaMetric others[] = { METRIC(5, PM_INDOM_NULL), METRIC(1, PM_INDOM_NULL), METRIC(2, 1), METRIC(3, PM_INDOM_NULL) };
    static pmdaIndom other_indoms[1];
    pmdaInterface table;
    pmdaExt *ext;
    pmInResult *list;
    int i;

    set_up(&table, daemon, form);
    ext = CALL(table).ext;
    fetch_items(&table, "at first", 0, 3);
    indoms[0].it_numinst = 3;
    fetch_items(&table, "one more instance", 1, 1);
    indoms[0].it_set = instances + 1;
    indoms[0].it_numinst = 2;
    fetch_items(&table, "other instances", 1, 1);
    other_indoms[0] = indoms[0];
    other_indoms[0].it_numinst = 1;
    ext->e_indoms = other_indoms;
    ext->e_nindoms = 1;
    fetch_items(&table, "another table of domains", 1, 1);
    ext->e_nindoms = 0;
    fetch_items(&table, "without domains", 1, 1);
    ext->e_indoms = indoms;
    ext->e_nindoms = 2;
    indoms[0].it_indom = pmInDom_build(DOMAIN, 9);
    fetch_items(&table, "the domain has another number", 1, 1);
    metrics[1].m_desc.indom = pmInDom_build(DOMAIN, 9);
    fetch_items(&table, "and the metric as well", 1, 1);
    SHOW(pmdaInstance(pmInDom_build(DOMAIN, 9), 2, NULL, &list, ext));
    SHOW(pmdaInstance(pmInDom_build(DOMAIN, 0), 2, NULL, &list, ext));

    metrics[0].m_desc.pmid = pmID_build(DOMAIN, 0, 7);
    metrics[0].m_desc.type = PM_TYPE_U32;
    fetch_items(&table, "a metric has another number", 0, 0);
    fetch_items(&table, "its new one", 7, 7);
    ext->e_nmetrics = 1;
    fetch_items(&table, "fewer metrics", 1, 2);
    for (i = 0; i < LENGTH(others); i++)
	others[i].m_desc.pmid = pmID_build(DOMAIN, 0, pmID_item(others[i].m_desc.pmid));
    others[2].m_desc.indom = pmInDom_build(DOMAIN, 1);
    ext->e_metrics = others;
    ext->e_nmetrics = 4;
    fetch_items(&table, "another table", 0, 5);
    ext->e_direct = !ext->e_direct;
    fetch_items(&table, "looked up in another way", 0, 5);
    /* (With the flag alone, and without pmdaRehash, the C library finds nothing: fixed/fetch_hashed_late.c.) */
    ext->e_flags &= ~PMDA_EXT_FLAG_HASHED;
    fetch_items(&table, "and not hashed", 0, 5);
    ext->e_direct = !ext->e_direct;
    fetch_items(&table, "and both", 0, 5);
    pmdaRehash(ext, others, 4);
    fetch_items(&table, "hashed anew", 0, 5);
    SHOW(ext->e_flags & PMDA_EXT_FLAG_HASHED ? 1 : 0);

    table.domain = DOMAIN + 1;
    ext->e_domain = DOMAIN + 2;
    fetch_items(&table, "another domain", 1, 1);
}

/* Texts and help of the extension. */
static void
texts(int daemon)
{
    pmdaInterface table;
    pmdaExt *ext;
    pmLabelSet *sets = NULL;
    char *buffer;

    set_up(&table, daemon, DIRECT);
    ext = CALL(table).ext;
    ext->e_name = "renamed";
    SHOW(pmdaLabel(DOMAIN, PM_LABEL_DOMAIN, &sets, ext));
    printf("%.*s\n", (int)sets->jsonlen, sets->json);
    ext->e_helptext = "/nowhere";
    SHOW(pmdaText(pmID_build(DOMAIN, 0, 0), PM_TEXT_PMID | PM_TEXT_ONELINE | PM_TEXT_DIRECT, &buffer, ext));
    ext->e_help = 3;
    SHOW(pmdaText(pmID_build(DOMAIN, 0, 0), PM_TEXT_PMID | PM_TEXT_ONELINE | PM_TEXT_DIRECT, &buffer, ext));
}

/* The table of a shared object moves, as pmcd's does, and then changes. */
static void
moved(void)
{
    pmdaInterface table, *other = malloc(sizeof(*other));

    set_up(&table, 0, DIRECT);
    memcpy(other, &table, sizeof(*other));
    CALL(*other).desc = late_desc;
    pmdaInterfaceMoved(other);
    memset(&table, 0x5a, sizeof(table));
    fetch_items(other, "moved", 40, 40);
}

int
main(void)
{
    int daemon, form;

    for (daemon = 0; daemon < 2; daemon++) {
	methods(daemon);
	for (form = DIRECT; form <= HASHED; form++)
	    fields(daemon, form);
	texts(daemon);
    }
    moved();
    return 0;
}
