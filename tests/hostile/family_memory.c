/*
 * Memory runs out in agent setup, help and labels (family.h says how).
 *
 * family_memory
 */
#include "family.h"

static pmLabelSet *set;
static int help;

/* Agent setup. */

static int
set_up(void)
{
    memset(&table, 0, sizeof(table));
    pmdaDaemon(&table, PMDA_INTERFACE_7, "memory", DOMAIN, "memory.log", "good");
    return table.status;
}

static void
hashed(void)
{
    tables();
    pmdaSetFlags(&table, PMDA_EXT_FLAG_HASHED);
}

static void
wrong_tables(void)
{
    tables();
    metrics[MANY - 1].m_desc.indom = 4711;
}

static int
init_fails(void)
{
    init();
    return table.status == PM_ERR_GENERIC ? 0 : -1;
}

/* Help. */

static int
open_help(void)
{
    int handle = pmdaOpenHelp("good");

    if (handle >= 0)
	pmdaCloseHelp(handle);
    return handle < 0 ? handle : 0;
}

static int
open_bad_help(void)
{
    int handle = pmdaOpenHelp("bad");

    if (handle >= 0)
	pmdaCloseHelp(handle);
    return handle < 0 ? handle : 0;
}

static void
opened(void)
{
    help = pmdaOpenHelp("good");
}

static int
get_help(void)
{
    return pmdaGetHelp(help, PMID(9, 0, 0), PM_TEXT_HELP) && pmdaGetInDomHelp(help, INDOM(9, 0), 0) ? 0 : -1;
}

/* Labels. */

static int add_new(void) { set = NULL; return pmdaAddLabels(&set, "{\"a\":1,\"b\":[2,3],\"c\":\"%s\"}", "text"); }
static int add(void) { return pmdaAddLabels(&set, "{\"b\":%d,\"x\":2}", 7) == 4 ? 0 : -ENOMEM; }
static int add_notes(void) { return pmdaAddNotes(&set, "{\"b\":%d,\"y\":2}", 7) == 4 ? 0 : -ENOMEM; }
static int add_wrong(void) { return pmdaAddLabels(&set, "{\"a\":{\"b\":[[%d]]}}", 7) < 0 ? 0 : -1; }
static int add_nested(void) { return pmdaAddLabels(&set, "{\"a\":{\"b\":%d}}", 7) == 4 ? 0 : -ENOMEM; }
static int add_flags(void) { return pmdaAddLabelFlags(set, PM_LABEL_ITEM) == 1 ? 0 : -1; }

static void
some_labels(void)
{
    add_new();
}

static int
add_long(void)
{
    char text[4000];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    return pmdaAddLabels(&set, "{\"b\":\"%s\",\"x\":2}", text) == 4 ? 0 : -ENOMEM;
}

static int
label_callback(pmInDom indom, unsigned int inst, pmLabelSet **sets)
{
    (void)indom;
    return pmdaAddLabels(sets, "{\"number\":%u}", inst);
}

static void
labelled(void)
{
    static pmdaInstid instances[] = { { 0, "zero" }, { 1, "one" } };

    tables();
    indoms[0].it_numinst = 2;
    indoms[0].it_set = instances;
    init();
    pmdaSetLabelCallBack(&table, label_callback);
}

static int
instance_labels(void)
{
    pmLabelSet *sets = NULL;
    int count = pmdaLabel(indoms[0].it_indom, PM_LABEL_INSTANCES, &sets, table.version.any.ext);

    if (count > 0)
	pmFreeLabelSets(sets, count);
    return count == 2 ? 0 : count < 0 ? count : -1;
}

/* An extension that nobody has set up: what the library keeps for it has to be made at its first use. */

static pmdaExt by_hand;
static pmdaIndom its_indom;
static pmdaInstid its_instances[] = { { 0, "zero" }, { 1, "one" } };
static pmdaMetric its_metric = { NULL, { PMDA_PMID(0, 1), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } };

static void
make_by_hand(void)
{
    its_indom.it_indom = DOMAIN << 22 | 1;
    its_indom.it_numinst = 2;
    its_indom.it_set = its_instances;
    by_hand.e_indoms = &its_indom;
    by_hand.e_nindoms = 1;
    by_hand.e_metrics = &its_metric;
    by_hand.e_nmetrics = 1;
    by_hand.e_domain = DOMAIN;
    its_metric.m_desc.pmid = pmID_build(DOMAIN, 0, 1);
}

static int
instances_by_hand(void)
{
    pmInResult *result;
    int sts = pmdaInstance(its_indom.it_indom, PM_IN_NULL, NULL, &result, &by_hand);

    if (sts == 0 && result->numinst != 2)
	return -EIO;
    return sts;
}

static int
desc_by_hand(void)
{
    pmDesc desc;

    return pmdaDesc(its_metric.m_desc.pmid, &desc, &by_hand);
}

static int
request_by_hand(void)
{
    pmdaInterface dispatch = { .domain = DOMAIN, .comm = { .pmda_interface = PMDA_INTERFACE_7 } };
    int through[2], sts;

    if (pipe(through) != 0)
	_exit(4);
    close(through[1]);
    by_hand.e_infd = through[0];
    dispatch.version.any.ext = &by_hand;
    sts = __pmdaMainPDU(&dispatch);
    close(through[0]);
    return sts == PM_ERR_EOF ? 0 : sts;
}

static const struct call calls[] = {
    { "pmdaDaemon", nothing, set_up, 1, 0, 0 },
    { "pmdaDSO", nothing, load, 1, 0, 0 },
    { "pmdaInit", tables, init, 0, 0, 0 },
    { "pmdaInit, hashed", hashed, init, 0, 0, 0 },
    { "pmdaInit, wrong tables", wrong_tables, init_fails, 0, 1, 0 },
    { "pmdaInstance, an extension made by hand", make_by_hand, instances_by_hand, 1, 0, 0 },
    { "pmdaDesc, an extension made by hand", make_by_hand, desc_by_hand, 1, 0, 0 },
    { "__pmdaMainPDU, an extension made by hand", make_by_hand, request_by_hand, 1, 0, 0 },
    { "pmdaOpenHelp", nothing, open_help, 1, 0, 0 },
    { "pmdaOpenHelp, a damaged database", nothing, open_bad_help, 1, 1, 0 },
    { "pmdaGetHelp", opened, get_help, 0, 0, 0 },
    { "pmdaAddLabels, a new set", nothing, add_new, 1, 0, 0 },
    { "pmdaAddLabels", some_labels, add, 1, 0, 0 },
    { "pmdaAddLabels, a long text", some_labels, add_long, 1, 0, 0 },
    { "pmdaAddLabels, a wrong text", some_labels, add_wrong, 0, 1, 0 },
    { "pmdaAddLabels, a nested text", some_labels, add_nested, 1, 2, 0 },
    { "pmdaAddNotes", some_labels, add_notes, 1, 0, 0 },
    { "pmdaAddLabelFlags", some_labels, add_flags, 0, 0, 0 },
    { "pmdaLabel, instances", labelled, instance_labels, 1, 0, 0 },
};

/* The state that a failed call must not have changed. */
static void
labels(char *buffer, size_t size)
{
    if (set != NULL)
	snprintf(buffer, size, "%d labels: %.*s\n", set->nlabels, (int)set->jsonlen, set->json);
    else
	buffer[0] = '\0';
}

int
main(void)
{
    static const help_record outside[] = { { { PMID(9, 0, 0), 4000, 4000 } } };
    int wrong;

    help_write_dir("bad", 1, outside, 1, 0);
    help_write("bad", "pag", help_pages, sizeof(help_pages));
    wrong = run_family(calls, sizeof(calls) / sizeof(calls[0]), labels);
    help_remove("bad");
    return wrong != 0;
}
