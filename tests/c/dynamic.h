/*
 * A DSO agent with registrations of dynamic names, whose callbacks print each of their calls.
 */
#include "pmns.h"

#define SETS 4

/* What the callbacks of one registration answer. */
static struct {
    pmdaNameSpace	*tree;		/* given out by update, unless NULL */
    int			changed;	/* result of update */
    int			metrics, trees;	/* from counts */
    int			text;		/* result of text */
} set[SETS];

static inline void
show_table(const pmdaExt *ext)
{
    int		i;

    printf("table: %d metrics, direct %d, hashed %d:", ext->e_nmetrics, ext->e_direct,
	    (ext->e_flags & PMDA_EXT_FLAG_HASHED) != 0);
    for (i = 0; i < ext->e_nmetrics; i++)
	printf(" %x/%d", ext->e_metrics[i].m_desc.pmid, ext->e_metrics[i].m_desc.type);
    putchar('\n');
}

static int
update(int number, pmdaNameSpace **tree)
{
    printf("  update %d (tree is %s)\n", number, *tree == NULL ? "NULL" : *tree == set[number].tree ? "the same" : "another");
    if (set[number].tree != NULL)
	*tree = set[number].tree;
    return set[number].changed;
}

static int
text(int number, pmID pmid, int type, char **buffer)
{
    static char	here[64];

    printf("  text %d %x %d\n", number, pmid, type);
    snprintf(here, sizeof(here), "text of %x", pmid);
    *buffer = here;
    return set[number].text;
}

static void
metric(int number, const pmdaMetric *source, pmdaMetric *dest, int id)
{
    static const pmdaMetric	zero;

    printf("  metric %d %x %d%s\n", number, source->m_desc.pmid, id, memcmp(dest, &zero, sizeof(zero)) ? " not zero" : "");
    *dest = *source;
    dest->m_desc.pmid += id << 10;
    dest->m_desc.type = number;
}

static void
counts(int number, int *metrics, int *trees)
{
    printf("  counts %d\n", number);
    *metrics = set[number].metrics;
    *trees = set[number].trees;
}

/* pmdaExt of the callback is the one that was passed in. */
static pmdaExt *expected;

#define CALLBACKS(n) \
static int update##n(pmdaExt *ext, pmdaNameSpace **tree) \
{ if (ext != expected) printf("  another ext\n"); return update(n, tree); } \
static int text##n(pmdaExt *ext, pmID pmid, int type, char **buffer) \
{ if (ext != expected) printf("  another ext\n"); return text(n, pmid, type, buffer); } \
static void metric##n(pmdaMetric *source, pmdaMetric *dest, int id) { metric(n, source, dest, id); } \
static void counts##n(int *metrics, int *trees) { counts(n, metrics, trees); }

CALLBACKS(0)
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(3)

static const struct {
    pmdaUpdatePMNS	update;
    pmdaUpdateText	text;
    pmdaUpdateMetric	metric;
    pmdaCountMetrics	counts;
} calls[SETS] = {
    { update0, text0, metric0, counts0 }, { update1, text1, metric1, counts1 },
    { update2, text2, metric2, counts2 }, { update3, text3, metric3, counts3 },
};

static inline void
add(int number, const char *prefix, pmdaMetric *metrics, int nmetrics, pmdaExt *ext)
{
    int		clusters[1] = { number };

    if (ext != NULL)
	pmdaExtDynamicPMNS(prefix, clusters, 1, calls[number].update, calls[number].text, calls[number].metric,
		calls[number].counts, metrics, nmetrics, ext);
    else
	pmdaDynamicPMNS(prefix, NULL, 0, calls[number].update, calls[number].text, calls[number].metric,
		calls[number].counts, metrics, nmetrics);
}

static inline pmdaNameSpace *
tree_of(int number, const char *name, pmID pmid, const char *name2, pmID pmid2)
{
    pmdaNameSpace	*tree = new_tree();

    pmdaTreeInsert(tree, pmid, name);
    if (name2 != NULL)
	pmdaTreeInsert(tree, pmid2, name2);
    pmdaTreeRebuildHash(tree, 2);
    set[number].tree = tree;
    return tree;
}

static inline const char *
which(const pmdaNameSpace *tree)
{
    static const char	*names[] = { "tree 0", "tree 1", "tree 2", "tree 3" };
    int			i;

    for (i = 0; i < SETS; i++) {
	if (tree != NULL && set[i].tree == tree)
	    return names[i];
    }
    return tree ? "another tree" : "NULL";
}

static inline void
look(pmdaExt *ext, const char *name, pmID pmid)
{
    char	*buffer = "untouched";
    int		sts;

    expected = ext;
    printf("LookupName(%s)\n", name);
    printf("  = %s\n", which(pmdaDynamicLookupName(ext, name)));
    printf("LookupPMID(%x)\n", pmid);
    printf("  = %s\n", which(pmdaDynamicLookupPMID(ext, pmid)));
    printf("LookupText(%x)\n", pmid);
    sts = pmdaDynamicLookupText(pmid, PM_TEXT_ONELINE, &buffer, ext);
    printf("  = %d \"%s\"\n", sts, buffer);
}

static inline void
rebuild(pmdaExt *ext)
{
    expected = ext;
    printf("MetricTable\n");
    pmdaDynamicMetricTable(ext);
    show_table(ext);
}

static inline void
agent(pmdaInterface *dispatch)
{
    memset(dispatch, 0, sizeof(*dispatch));
    dispatch->comm.pmda_interface = PMDA_INTERFACE_7;
    dispatch->comm.pmapi_version = PMAPI_VERSION;
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "dynamic", NULL);
    dispatch->domain = 60;
}
