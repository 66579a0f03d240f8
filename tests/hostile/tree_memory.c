/*
 * Memory runs out in trees, dynamic metrics and messages to pmdaroot (family.h says how).
 *
 * tree_memory
 */
#include "family.h"
#include <sys/socket.h>
#include <pcp/pmdaroot.h>

extern int __pmAddPMNSNode(pmdaNameSpace *, int, const char *);

static pmdaNameSpace *names;
static int ends[2];

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

/* A node with many children, to be indexed. */
static void
wide(void)
{
    char name[32];
    int i;

    pmdaTreeCreate(&names);
    for (i = 0; i < 200; i++) {
	snprintf(name, sizeof(name), "wide.m%d", i);
	if (__pmAddPMNSNode(names, PMID(DOMAIN, 0, i), name) < 0)
	    exit(1);
    }
    pmdaTreeRebuildHash(names, 200);
}

static int
wide_pmid(void)
{
    pmID pmid;
    int i, status = 0;

    for (i = 0; i < 100 && status >= 0; i++)
	status = pmdaTreePMID(names, i % 2 ? "wide.m0" : "wide.m9", &pmid);
    return status < 0 || pmid != PMID(DOMAIN, 0, 0) ? -1 : 0;
}

static void
indexed(void)
{
    wide();
    if (wide_pmid() < 0)
	exit(1);
}

static int wide_insert(void) { return pmdaTreeInsert(names, PMID(DOMAIN, 1, 1), "wide.new.one") < 0 ? -ENOMEM : 0; }

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

static const struct call calls[] = {
    { "pmdaTreeCreate", nothing, tree_create, 1, 0, 0 },
    { "pmdaTreeInsert", tree, tree_insert, 1, 0, 0 },
    { "pmdaTreeSize", tree, tree_size, 1, 0, 0 },
    { "pmdaTreeRebuildHash", tree, tree_rebuild, 1, 1, 1 },	/* without a table it has none, as with the C library (TREE-21) */
    { "pmdaTreeName", tree, tree_name, 1, 0, 0 },
    { "pmdaTreePMID", tree, tree_pmid, 0, 0, 0 },
    { "pmdaTreePMID, many siblings", wide, wide_pmid, 0, 0, 0 },
    { "pmdaTreePMID, index", indexed, wide_pmid, 0, 0, 0 },
    { "pmdaTreeInsert, index", indexed, wide_insert, 1, 0, 0 },
    { "pmdaTreeChildren, components", tree, tree_children, 1, 0, 0 },
    { "pmdaTreeChildren, leaves", tree, tree_leaves, 1, 0, 0 },
    { "pmdaExtDynamicPMNS", to_register, register_one, 1, 0, 0 },
    { "pmdaDynamicLookupName", registered, lookup_name, 0, 0, 0 },
    { "pmdaDynamicLookupPMID", registered, lookup_pmid, 0, 0, 0 },
    { "pmdaDynamicLookupText", registered, lookup_text, 0, 0, 0 },
    { "pmdaDynamicMetricTable", registered, metric_table, 1, 0, 0 },
    { "__pmdaSendRootPDUInfo", pair, root_info, 1, 0, 0 },
    { "__pmdaSendRootPDUStop", pair, root_stop, 1, 0, 0 },
    { "__pmdaSendRootPDUContainer", pair, root_container, 1, 0, 0 },
    { "__pmdaSendRootPDUStart", pair, root_start, 1, 0, 0 },
    { "pmdaRootContainerHostName", answered, root_hostname, 1, 0, 0 },
    { "pmdaRootProcessWait", ended, root_wait, 1, 0, 0 },
    { "pmdaRootConnect, nobody there", nothing, root_connect, 0, 0, 0 },
};

/* The state that a failed call must not have changed: the names with their identifiers. */
static void
leaves(char *buffer, size_t size)
{
    size_t end = 0;
    int i;

    for (i = 0; names != NULL && i < 5; i++) {
	char **list;
	int status = pmdaTreeName(names, PMID(DOMAIN, 0, i), &list);

	end += snprintf(buffer + end, size - end, "%d: %d %s\n", i, status, status > 0 ? list[0] : "");
	if (status > 0)
	    free(list);
    }
    buffer[end] = '\0';
}

int
main(void)
{
    return run_family(calls, sizeof(calls) / sizeof(calls[0]), leaves) != 0;
}
