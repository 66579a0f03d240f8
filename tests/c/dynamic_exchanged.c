/*
 * Trees that change while they are used: an update exchanges its tree and releases the old one, also when the metric table is made; a
 * metric callback adds the name of the next metric; an update looks names up itself. DYN-4 DYN-10 DYN-20 DYN-21
 */
#include "pmns.h"

#define METRICS	4

static pmdaMetric metrics[METRICS];
static pmdaInterface dispatch;
static pmdaNameSpace *tree;
static int named[8], calls;	/* the metric that the tree names after each update, the last one for ever */
static int grows, nested, changed;

static int
update(pmdaExt *ext, pmdaNameSpace **place)
{
    char name[16];
    int item = named[calls];

    if (named[calls + 1] >= 0)
	calls++;
    printf("  update: metric %d, %s\n", item, *place == NULL ? "no tree" : *place == tree ? "the same tree" : "another tree");
    pmdaTreeRelease(tree);
    tree = new_tree();
    snprintf(name, sizeof(name), "a.m%d", item);
    pmdaTreeInsert(tree, metrics[item].m_desc.pmid, name);
    pmdaTreeRebuildHash(tree, 1);
    *place = tree;
    if (nested > 0) {
	nested--;
	printf("  inside: %s\n", pmdaDynamicLookupName(ext, "a.m2") ? "found" : "not found");
	*place = tree;
    }
    return changed;
}

static void
copy(pmdaMetric *from, pmdaMetric *to, int number)
{
    int item = pmID_item(from->m_desc.pmid) + 1;
    char name[16];

    printf("  metric %x copy %d\n", from->m_desc.pmid, number);
    *to = *from;
    to->m_desc.pmid += number << 10;
    if (grows && item < METRICS) {
	snprintf(name, sizeof(name), "b.m%d", item);
	pmdaTreeInsert(tree, metrics[item].m_desc.pmid, name);
	pmdaTreeRebuildHash(tree, 2);
    }
}

static void
counts(int *from, int *copies)
{
    *from = METRICS;
    *copies = 2;
}

/* The metrics that the tree names after the updates that follow, to -1. */
static void
names(int first, int second, int third)
{
    named[0] = first;
    named[1] = second;
    named[2] = third;
    named[3] = -1;
    calls = 0;
}

static void
show_table(void)
{
    pmdaExt *ext = dispatch.version.any.ext;
    int i;

    printf("table of %d:", ext->e_nmetrics);
    for (i = 0; i < ext->e_nmetrics; i++)
	printf(" %x", ext->e_metrics[i].m_desc.pmid);
    putchar('\n');
}

static void
look(const char *name)
{
    pmdaNameSpace *found;

    printf("LookupName(%s)\n", name);
    found = pmdaDynamicLookupName(dispatch.version.any.ext, name);
    printf("  %s\n", found == NULL ? "not found" : found == tree ? "found" : "found elsewhere");
    show_pmid(found, name);
    show_table();
}

int
main(void)
{
    int i;

    for (i = 0; i < METRICS; i++) {
	metrics[i].m_desc.pmid = ID(60, 1, i);
	metrics[i].m_desc.indom = PM_INDOM_NULL;
    }
    dispatch.domain = 60;
    pmdaDSO(&dispatch, PMDA_INTERFACE_7, "exchanged", NULL);
    pmdaExtDynamicPMNS("a", NULL, 0, update, NULL, copy, counts, metrics, METRICS, dispatch.version.any.ext);

    printf("== the tree is exchanged\n");
    names(1, 2, -1);
    look("a.m1");
    look("a.m1");
    look("a.m2");

    printf("== and once more when the table is made\n");
    names(1, 3, -1);
    changed = 1;
    look("a.m3");
    names(0, 2, -1);
    pmdaDynamicMetricTable(dispatch.version.any.ext);
    show_table();

    printf("== names come while the table is made\n");
    names(1, -1, -1);
    grows = 1;
    look("b.m3");
    grows = 0;

    printf("== an update looks a name up\n");
    names(1, 2, 2);
    nested = 1;
    look("a.m2");
    changed = 0;
    names(1, 2, 3);
    nested = 2;
    look("a.m3");
    return 0;
}
