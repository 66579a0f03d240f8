/*
 * pmdaTreeRebuildHash: the size of the table, the chains, and what happens when there is no memory.
 *
 * TREE-20, TREE-21, TREE-22, TREE-32, N-3, N-15, N-16
 */
#include "pmns.h"

static void
sizes(void)
{
    static const int	hints[] = {
	0, 1, 4, 5, 9, 10, 20, 39, 40, 59, 60, 70, 75, 99, 100, 130, 150, 225, 1000, 1024, 100000, -1, -4
    };
    size_t		i;
    int			n;
    unsigned int	sum = 0;

    for (i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
	pmdaNameSpace	*tree = new_tree();

	pmdaTreeRebuildHash(tree, hints[i]);
	printf("hint %d: %d\n", hints[i], tree->htabsize);
	pmdaTreeRelease(tree);
    }
    for (n = 0; n < 3000; n++) {
	pmdaNameSpace	*tree = new_tree();

	pmdaTreeRebuildHash(tree, n);
	sum = sum * 31 + tree->htabsize;
	pmdaTreeRelease(tree);
    }
    printf("sum %x\n", sum);
}

static void
no_memory(int hint)
{
    pmdaNameSpace	*tree = new_tree();

    insert(tree, ID(1, 2, 3), "a.b");
    pmdaTreeRebuildHash(tree, 1);
    show_names(tree, ID(1, 2, 3));
    fflush(stdout);
    pmdaTreeRebuildHash(tree, hint);
    printf("hint %d: size %d table %s\n", hint, tree->htabsize, tree->htab ? "yes" : "no");
    show_names(tree, ID(1, 2, 3));
    show_pmid(tree, "a.b");
    pmdaTreeRebuildHash(tree, 1);
    show_names(tree, ID(1, 2, 3));
    pmdaTreeRelease(tree);
}

/* A tree that was linked by hand has no parents before the table is built. */
static void
by_hand(void)
{
    pmdaNameSpace	*tree = new_tree();
    __pmnsNode		*parent = calloc(1, sizeof(*parent)), *leaf = calloc(1, sizeof(*leaf));

    parent->name = strdup("top");
    parent->pmid = PM_ID_NULL;
    parent->first = leaf;
    leaf->name = strdup("leaf");
    leaf->pmid = ID(9, 8, 7);
    tree->root->first = parent;
    show_names(tree, ID(9, 8, 7));
    pmdaTreeRebuildHash(tree, 1);
    show_names(tree, ID(9, 8, 7));
    show_tree(tree);
    pmdaTreeRelease(tree);
}

int
main(void)
{
    pmdaNameSpace	*tree = new_tree();
    int			i;
    char		name[32];

    sizes();
    pmdaTreeRebuildHash(NULL, 5);
    pmdaTreeRebuildHash(NULL, -10);

    insert(tree, ID(1, 2, 1), "a.b");
    insert(tree, ID(1, 2, 1), "zz.alias");
    insert(tree, ID(1, 2, 1), "a.alias2");
    insert(tree, ID(1, 2, 8), "a.collides");
    insert(tree, ID(511u, 60, 0), "dyn");
    insert(tree, ID(60, 1, 1), "dyn.hidden");
    insert(tree, ID(511u, 60, 1), "derived");
    insert(tree, ID(1, 3, 1), "a.b.below");
    show_names(tree, ID(1, 2, 1));
    tree->mark_state = 17;
    pmdaTreeRebuildHash(tree, 10);
    show_tree(tree);
    show_names(tree, ID(1, 2, 1));
    show_names(tree, ID(1, 2, 8));
    show_names(tree, ID(1, 2, 9));
    show_names(tree, ID(511u, 60, 0));
    show_names(tree, ID(511u, 60, 1));
    show_names(tree, ID(60, 1, 1));
    show_names(tree, ID(1, 3, 1));
    show_names(tree, PM_ID_NULL);

    /* seen by name at once, by identifier after the next rebuild */
    insert(tree, ID(1, 2, 77), "late");
    show_pmid(tree, "late");
    show_names(tree, ID(1, 2, 77));
    for (i = 0; i < 50; i++) {
	snprintf(name, sizeof(name), "many.m%d.value", i);
	pmdaTreeInsert(tree, ID(1, 4, i % 20), name);
    }
    pmdaTreeRebuildHash(tree, pmdaTreeSize(tree));
    show_names(tree, ID(1, 2, 77));
    for (i = 0; i < 21; i++)
	show_names(tree, ID(1, 4, i));
    show_tree(tree);
    insert(tree, ID(1, 2, 78), "after.the.rebuild");
    pmdaTreeRelease(tree);

    no_memory(-10);
    no_memory(-15);
    no_memory(-1000);
    by_hand();

    /* libpcp's own repair of the table turns non-leaf nodes into leaves; ours leaves the identifiers alone */
    tree = new_tree();
    insert(tree, ID(1, 2, 3), "p.q");
    insert(tree, ID(1, 2, 4), "p.r.s");
    pmdaTreeRebuildHash(tree, 2);
    show_tree(tree);
    pmdaTreeRelease(tree);
    tree = new_tree();
    insert(tree, ID(1, 2, 3), "p.q");
    insert(tree, ID(1, 2, 4), "p.r.s");
    __pmFixPMNSHashTab(tree, 2, 1);
    show_tree(tree);
    show_pmid(tree, "p.q");
    show_pmid(tree, "p");
    show_names(tree, ID(1, 2, 3));
    printf("size %d\n", pmdaTreeSize(tree));
    pmdaTreeRelease(tree);
    return 0;
}
