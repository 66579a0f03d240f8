/*
 * The hash link of a node without an identifier: libpcp sets it to NULL in the nodes that it makes, whatever their blocks
 * held before, and neither library looks at it or changes it.
 *
 * TREE-5, TREE-6, TREE-20, TREE-23
 * memory: nothing is lost on ours
 */
#include <malloc.h>
#include <sys/mman.h>
#include "pmns.h"

extern int __pmNewPMNS(pmdaNameSpace **);
extern int __pmAddPMNSNode(pmdaNameSpace *, int, const char *);
extern void __pmFreePMNS(pmdaNameSpace *);
extern void __pmUsePMNS(pmdaNameSpace *);
extern void __pmDumpNameSpace(FILE *, int);

/* Nobody comes to what is here and lives. */
static __pmnsNode	*nowhere;

/* Blocks that malloc will give again have no zeros in them. */
static void
soil(void)
{
    static void		*blocks[3000];
    size_t		i, count = sizeof(blocks) / sizeof(blocks[0]);

    for (i = 0; i < count; i++) {
	blocks[i] = malloc(8 + i % 8 * 16);
	memset(blocks[i], 0xa5, malloc_usable_size(blocks[i]));
    }
    for (i = 0; i < count; i++)
	free(blocks[i]);
}

static void
mark(__pmnsNode *node)
{
    for (; node != NULL; node = node->next) {
	if (node->pmid == PM_ID_NULL)
	    node->hash = nowhere;
	mark(node->first);
    }
}

/* Branches: how many lead nowhere, to NULL, elsewhere; leaves that lead nowhere. */
static void
count(const __pmnsNode *node, int found[4])
{
    for (; node != NULL; node = node->next) {
	if (node->pmid == PM_ID_NULL)
	    found[node->hash == nowhere ? 0 : node->hash == NULL ? 1 : 2]++;
	else
	    found[3] += node->hash == nowhere;
	count(node->first, found);
    }
}

static void
report(const char *what, const pmdaNameSpace *tree)
{
    int		found[4] = { 0, 0, 0, 0 };

    count(tree->root, found);
    printf("%s: %d marked, %d not, %d otherwise, %d leaves\n", what, found[0], found[1], found[2], found[3]);
}

static void
ignore(const char *name)
{
    (void)name;
}

static pmdaNameSpace *
build(void)
{
    pmdaNameSpace	*tree = NULL;
    char		name[64];
    int			i;

    soil();
    printf("New = %d\n", __pmNewPMNS(&tree));
    for (i = 0; i < 300; i++) {
	if (i % 50 == 0)
	    soil();
	snprintf(name, sizeof(name), "a%d.b%d.c%d", i % 5, i % 50, i);
	if (i % 3)
	    __pmAddPMNSNode(tree, ID(1, 2, i), name);
	else
	    pmdaTreeInsert(tree, ID(1, 2, i), name);
    }
    pmdaTreeInsert(tree, PM_ID_NULL, "new.branch");
    pmdaTreeInsert(tree, ID(511u, 60, 0), "dyn");
    pmdaTreeInsert(tree, ID(1, 9, 1), "dyn.hidden");
    report("built", tree);
    return tree;
}

/* The effect of other functions on the marks. */
static void
use(pmdaNameSpace *tree)
{
    const char		*names[] = { "a1.b1.c1", "a1", "no.such" };
    pmID		pmids[3];
    char		*name, **list;
    FILE		*null = fopen("/dev/null", "w");

    mark(tree->root);
    report("marked", tree);
    pmdaTreeRebuildHash(tree, 300);
    report("rebuilt", tree);
    __pmAddPMNSNode(tree, ID(1, 3, 1), "a1.b1.more");
    pmdaTreeInsert(tree, ID(1, 3, 2), "a1.b1.and.more");
    report("added", tree);
    show_pmid(tree, "a1.b1.c1");
    show_names(tree, ID(1, 2, 7));
    show_children(tree, "a1", 0);
    printf("size %d\n", pmdaTreeSize(tree));
    report("looked up", tree);

    __pmUsePMNS(tree);
    printf("pmLookupName = %d\n", pmLookupName(3, names, pmids));
    printf("pmNameID = %d\n", pmNameID(ID(1, 2, 8), &name));
    free(name);
    printf("pmGetChildren = %d\n", pmGetChildren("a1", &list));
    printf("pmTraversePMNS = %d\n", pmTraversePMNS("a1", ignore));
    __pmDumpNameSpace(null, 1);
    fclose(null);
    report("used", tree);
}

/* Neither the root nor what stands beside it is in the table, or counts. */
static void
beside_the_root(void)
{
    pmdaNameSpace	*tree = new_tree();
    __pmnsNode		*root = tree->root, *beside = calloc(1, sizeof(*beside));

    insert(tree, ID(1, 1, 1), "a.b");
    root->pmid = ID(3, 3, 3);
    root->parent = root->first;
    pmdaTreeRebuildHash(tree, 1);
    printf("parent of the root: %s\n", root->parent ? root->parent->name : "none");
    show_tree(tree);
    show_names(tree, root->pmid);
    printf("size %d\n", pmdaTreeSize(tree));
    root->pmid = PM_ID_NULL;
    root->parent = NULL;
    root->next = beside;
    beside->name = strdup("beside");
    beside->pmid = ID(4, 4, 4);
    pmdaTreeRebuildHash(tree, 1);
    show_names(tree, beside->pmid);
    show_pmid(tree, "beside");
    printf("size %d\n", pmdaTreeSize(tree));
    root->next = NULL;
    free(beside->name);
    free(beside);
    pmdaTreeRelease(tree);
}

int
main(void)
{
    pmdaNameSpace	*tree;

    nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mallopt(M_PERTURB, 0xa5);
    tree = build();
    use(tree);
    /* libpcp's own repair turns branches into leaves, and leaves their links alone */
    free(tree->htab);
    tree->htab = NULL;
    __pmFixPMNSHashTab(tree, 300, 1);
    report("repaired", tree);
    __pmAddPMNSNode(tree, ID(1, 3, 3), "a1.b1.last");
    report("added", tree);
    pmdaTreeRebuildHash(tree, 300);
    report("rebuilt", tree);
    __pmUsePMNS(NULL);
    mark(tree->root);
    __pmFreePMNS(tree);

    /* in the blocks of the one before */
    tree = build();
    mark(tree->root);
    pmdaTreeRelease(tree);
    beside_the_root();
    return 0;
}
