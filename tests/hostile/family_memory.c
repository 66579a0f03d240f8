/*
 * Memory runs out in set-up, help, labels, trees, dynamic metrics and messages of pmdaroot: each allocation of a call
 * in turn fails, alone or with all that follow (fail_malloc.c is preloaded).  The call fails with -ENOMEM, NULL or what
 * it says without memory, and what it was to change is as before; or it did not need that memory, and its answer is the
 * usual one.  Then the same call works.  No run ends in another way, not by Rust's allocator either.
 *
 * Each run is a child process.
 *
 * family_memory
 */

#include <errno.h>
#include <syslog.h>
#include <sys/socket.h>
#include "../c/help_fixture.h"
#include <pcp/pmdaroot.h>
#include "starve.h"

#define DOMAIN	249
#define MOST	300
#define MANY	40	/* more than what is searched without an index */

static pmdaInterface table;
static pmdaIndom indoms[MANY];
static pmdaMetric metrics[MANY];
static pmdaNameSpace *names;
static pmLabelSet *set;
static int help, ends[2];

static void
nothing(void)
{
}

/* Set-up. */

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->ul = 1;
    return PMDA_FETCH_STATIC;
}

static int
set_up(void)
{
    memset(&table, 0, sizeof(table));
    pmdaDaemon(&table, PMDA_INTERFACE_7, "memory", DOMAIN, "memory.log", "good");
    return table.status;
}

static int
load(void)
{
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "memory", "good");
    return table.status;
}

static void
tables(void)
{
    int i;

    load();
    pmdaSetFetchCallBack(&table, value);
    for (i = 0; i < MANY; i++) {
	indoms[i].it_indom = MANY - i;
	metrics[i].m_desc = (pmDesc){ PMDA_PMID(0, 2 * i), PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_INSTANT,
	    PMDA_PMUNITS(0, 0, 0, 0, 0, 0) };
	metrics[i].m_desc.indom = i + 1;
    }
}

/* Neither an index nor help texts are worth a failure: without memory for them the agent works. */
static int
init(void)
{
    pmdaInit(&table, indoms, MANY, metrics, MANY);
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

/* Trees. */

static void
tree(void)
{
    static const char *const all[] = { "a.b.c.d.e.f.g", "a.b.c.x", "a.y", "b.leaf", "c" };
    int i;

    pmdaTreeCreate(&names);
    for (i = 0; i < 5; i++)
	pmdaTreeInsert(names, PMID(DOMAIN, 0, i), all[i]);
    pmdaTreeRebuildHash(names, 5);
}

static int tree_create(void) { return pmdaTreeCreate(&names); }
static int tree_insert(void) { return pmdaTreeInsert(names, PMID(DOMAIN, 1, 1), "b.new.one") < 0 ? -ENOMEM : 0; }
static int tree_size(void) { int size = pmdaTreeSize(names); return size == 5 ? 0 : size; }

static int
tree_name(void)
{
    char **list;
    int count = pmdaTreeName(names, PMID(DOMAIN, 0, 0), &list);

    if (count > 0)
	free(list);
    return count == 1 ? 0 : count;
}

/* Without memory there is no table. */
static int
tree_rebuild(void)
{
    int status;

    pmdaTreeRebuildHash(names, 4);
    status = tree_name();
    return status == PM_ERR_PMID ? -ENOMEM : status;
}

static int
tree_pmid(void)
{
    pmID pmid;

    return pmdaTreePMID(names, "a.y", &pmid);
}

static int
children(const char *name, int traverse, int expected)
{
    char **list;
    int *status, count = pmdaTreeChildren(names, name, traverse, &list, &status);

    if (count > 0) {
	free(list);
	free(status);
    }
    return count == expected ? 0 : count;
}

static int tree_children(void) { return children("a", 0, 2); }
static int tree_leaves(void) { return children("a", 1, 3); }

/* Dynamic metrics. */

static int changed;

static int
update(pmdaExt *ext, pmdaNameSpace **place)
{
    (void)ext;
    *place = names;
    return changed;
}

static void
fill(pmdaMetric *source, pmdaMetric *copy, int id)
{
    *copy = *source;
    copy->m_desc.pmid += id << 10;
}

static void
count(int *total, int *trees)
{
    *total = MANY;
    *trees = 3;
}

static int
text(pmdaExt *ext, pmID pmid, int type, char **buffer)
{
    (void)ext;
    (void)pmid;
    (void)type;
    *buffer = "text";
    return 0;
}

static void
registered(void)
{
    tree();
    tables();
    init();
    pmdaExtDynamicPMNS("a", NULL, 0, update, text, fill, count, metrics, MANY, table.version.any.ext);
}

/* The function cannot fail: a registration that there was no memory for is said in the log, and not there. */
static int
register_one(void)
{
    pmdaNameSpace *found;

    pmdaExtDynamicPMNS("a", NULL, 0, update, text, fill, count, metrics, MANY, table.version.any.ext);
    found = pmdaDynamicLookupName(table.version.any.ext, "a.y");
    return found == names ? 0 : -ENOMEM;
}

static void
to_register(void)
{
    tree();
    tables();
    init();
}

static int lookup_name(void) { return pmdaDynamicLookupName(table.version.any.ext, "a.y") == names ? 0 : -1; }
static int lookup_pmid(void) { return pmdaDynamicLookupPMID(table.version.any.ext, PMID(DOMAIN, 0, 2)) == names ? 0 : -1; }

static int
lookup_text(void)
{
    char *buffer;

    return pmdaDynamicLookupText(PMID(DOMAIN, 0, 2), PM_TEXT_HELP, &buffer, table.version.any.ext);
}

/* Without memory the table is the fixed part alone. */
static int
metric_table(void)
{
    int entries;

    pmdaDynamicMetricTable(table.version.any.ext);
    entries = table.version.any.ext->e_nmetrics;
    return entries == MANY ? -ENOMEM : entries == MANY + 3 * MANY ? 0 : -1;
}

/* pmdaroot. */

static void
pair(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
	_exit(4);
}

static int root_info(void) { return __pmdaSendRootPDUInfo(ends[0], 0, 0) < 0 ? -ENOMEM : 0; }
static int root_stop(void) { return __pmdaSendRootPDUStop(ends[0], PDUROOT_STOPPMDA, 1, 0, 0, 0) < 0 ? -ENOMEM : 0; }

static int
root_container(void)
{
    return __pmdaSendRootPDUContainer(ends[0], PDUROOT_HOSTNAME, 1, "name", 4, 0) < 0 ? -ENOMEM : 0;
}

static int
root_start(void)
{
    return __pmdaSendRootPDUStart(ends[0], 1, ends[0], ends[1], "name", 4, 0) < 0 ? -ENOMEM : 0;
}

/* The answer is there before the question: its bytes are sent as they are, which needs no memory. */
static char answer[512];
static ssize_t answer_size;

static void
keep_answer(void)
{
    answer_size = recv(ends[0], answer, sizeof(answer), 0);
}

static void
send_answer(void)
{
    char old[512];

    while (recv(ends[0], old, sizeof(old), MSG_DONTWAIT) > 0)
	;
    if (send(ends[1], answer, answer_size, 0) != answer_size)
	_exit(4);
}

static void
answered(void)
{
    pair();
    __pmdaSendRootPDUContainer(ends[1], PDUROOT_HOSTNAME, 1, "host", 4, 0);
    keep_answer();
}

static int
root_hostname(void)
{
    char buffer[64];
    int length;

    send_answer();
    length = pmdaRootContainerHostName(ends[0], "name", 4, buffer, sizeof(buffer));
    return length == 4 && strcmp(buffer, "host") == 0 ? 0 : length;
}

static void
ended(void)
{
    pair();
    __pmdaSendRootPDUStop(ends[1], PDUROOT_STOPPMDA, 77, 1, 0, 0);
    keep_answer();
}

static int
root_wait(void)
{
    int status, pid;

    send_answer();
    pid = pmdaRootProcessWait(ends[0], 77, &status);
    return pid == 77 ? 0 : pid;
}

static int root_connect(void) { return pmdaRootConnect("nobody.socket") < 0 ? 0 : -ENOMEM; }

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

static const struct {
    const char *name;
    void (*prepare)(void);
    int (*body)(void);
    int allocates;	/* there is something that can fail, and is told */
    int of_libpcp;	/* so many runs fail in libpcp: its log and its parser of labels use memory that they did not get, and
			   the parser takes a nested label for a plain one when an allocation fails */
} calls[] = {
    { "pmdaDaemon", nothing, set_up, 1, 0 },
    { "pmdaDSO", nothing, load, 1, 0 },
    { "pmdaInit", tables, init, 0, 0 },
    { "pmdaInit, hashed", hashed, init, 0, 0 },
    { "pmdaInit, wrong tables", wrong_tables, init_fails, 0, 1 },
    { "pmdaInstance, an extension made by hand", make_by_hand, instances_by_hand, 1, 0 },
    { "pmdaDesc, an extension made by hand", make_by_hand, desc_by_hand, 1, 0 },
    { "__pmdaMainPDU, an extension made by hand", make_by_hand, request_by_hand, 1, 0 },
    { "pmdaOpenHelp", nothing, open_help, 1, 0 },
    { "pmdaOpenHelp, a damaged database", nothing, open_bad_help, 1, 1 },
    { "pmdaGetHelp", opened, get_help, 0, 0 },
    { "pmdaAddLabels, a new set", nothing, add_new, 1, 0 },
    { "pmdaAddLabels", some_labels, add, 1, 0 },
    { "pmdaAddLabels, a long text", some_labels, add_long, 1, 0 },
    { "pmdaAddLabels, a wrong text", some_labels, add_wrong, 0, 1 },
    { "pmdaAddLabels, a nested text", some_labels, add_nested, 1, 2 },
    { "pmdaAddNotes", some_labels, add_notes, 1, 0 },
    { "pmdaAddLabelFlags", some_labels, add_flags, 0, 0 },
    { "pmdaLabel, instances", labelled, instance_labels, 1, 0 },
    { "pmdaTreeCreate", nothing, tree_create, 1, 0 },
    { "pmdaTreeInsert", tree, tree_insert, 1, 0 },
    { "pmdaTreeSize", tree, tree_size, 1, 0 },
    { "pmdaTreeRebuildHash", tree, tree_rebuild, 1, 1 },
    { "pmdaTreeName", tree, tree_name, 1, 0 },
    { "pmdaTreePMID", tree, tree_pmid, 0, 0 },
    { "pmdaTreeChildren, components", tree, tree_children, 1, 0 },
    { "pmdaTreeChildren, leaves", tree, tree_leaves, 1, 0 },
    { "pmdaExtDynamicPMNS", to_register, register_one, 1, 0 },
    { "pmdaDynamicLookupName", registered, lookup_name, 0, 0 },
    { "pmdaDynamicLookupPMID", registered, lookup_pmid, 0, 0 },
    { "pmdaDynamicLookupText", registered, lookup_text, 0, 0 },
    { "pmdaDynamicMetricTable", registered, metric_table, 1, 0 },
    { "__pmdaSendRootPDUInfo", pair, root_info, 1, 0 },
    { "__pmdaSendRootPDUStop", pair, root_stop, 1, 0 },
    { "__pmdaSendRootPDUContainer", pair, root_container, 1, 0 },
    { "__pmdaSendRootPDUStart", pair, root_start, 1, 0 },
    { "pmdaRootContainerHostName", answered, root_hostname, 1, 0 },
    { "pmdaRootProcessWait", ended, root_wait, 1, 0 },
    { "pmdaRootConnect, nobody there", nothing, root_connect, 0, 0 },
};

/* What a call must not have changed when it fails: the labels, and the names with their identifiers. */
static void
state(char *buffer, size_t size)
{
    size_t end = 0;
    int i, status;
    pmID pmid;

    if (set != NULL)
	end = snprintf(buffer, size, "%d labels: %.*s\n", set->nlabels, (int)set->jsonlen, set->json);
    for (i = 0; names != NULL && i < 5; i++) {
	char **list;

	pmid = PMID(DOMAIN, 0, i);
	status = pmdaTreeName(names, pmid, &list);
	end += snprintf(buffer + end, size - end, "%d: %d %s\n", i, status, status > 0 ? list[0] : "");
	if (status > 0)
	    free(list);
    }
    buffer[end] = '\0';
}

/* One run: the allocation with this number fails, or all from that one on. */
static enum end
run(int which, int n, int all)
{
    pid_t child = quiet_child();

    if (child == 0) {
	static char before[8192], after[8192];
	int result;
	long count;

	calls[which].prepare();
	state(before, sizeof(before));
	onwards(all);
	arm(n, 0);
	result = calls[which].body();
	count = seen();
	arm(-1, 0);
	state(after, sizeof(after));
	if (result < 0 && (count <= n || !calls[which].allocates))
	    _exit(WRONG);
	if (result < 0 && result != -ENOMEM && result != PM_ERR_GENERIC)
	    _exit(WRONG);
	/* A tree whose table could not be built has none, as the C library leaves it (TREE-21). */
	if (result < 0 && calls[which].body != tree_rebuild && strcmp(before, after) != 0)
	    _exit(WRONG);
	if (calls[which].body() < 0)
	    _exit(WRONG);
	_exit(result < 0 ? FAILED : count > n ? FINE : DONE);
    }
    return end_of(child);
}

int
main(void)
{
    static const help_record outside[] = { { { PMID(9, 0, 0), 4000, 4000 } } };
    size_t i;
    int n, all, wrong = 0;

    if (find_fail_malloc() < 0)
	return 1;
    /* The first line of a log loads the time zone, with some 170 allocations of the C library. */
    pmNotifyErr(LOG_INFO, "each allocation fails in turn");
    help_write_good("good");
    help_write_dir("bad", 1, outside, 1, 0);
    help_write("bad", "pag", help_pages, sizeof(help_pages));
    for (i = 0; i < 2 * sizeof(calls) / sizeof(calls[0]); i++) {
	int count[ENDS] = { 0 }, which = i / 2;

	all = i % 2;
	for (n = 0; n < MOST && count[DONE] == 0; n++)
	    count[run(which, n, all)]++;
	wrong += verdict(calls[which].name, all ? ", all from one on" : "", n, count, calls[which].allocates, calls[which].of_libpcp);
    }
    help_remove("good");
    help_remove("bad");
    return wrong != 0;
}
