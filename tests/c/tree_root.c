/*
 * The identifier of the root is nobody's business: libpcp's repair of a table gives it one when there are dynamic roots. TREE-20,
 * TREE-23, TREE-30, TREE-31, TREE-32, N-3
 */
#include "pmns.h"

#define DYNAMIC ID(511u, 60, 0)

static pmdaNameSpace *
make(int which)
{
    pmdaNameSpace	*tree = NULL;

    pmdaTreeCreate(&tree);
    switch (which) {
    case 0:
	pmdaTreeInsert(tree, ID(60, 1, 1), "a");
	pmdaTreeInsert(tree, ID(60, 1, 2), "b");
	pmdaTreeInsert(tree, ID(60, 1, 3), "c");
	break;
    case 1:
	pmdaTreeInsert(tree, ID(60, 1, 1), "a.x");
	pmdaTreeInsert(tree, DYNAMIC, "b");
	pmdaTreeInsert(tree, ID(60, 1, 3), "c.y.z");
	pmdaTreeInsert(tree, ID(60, 1, 4), "c.y.w");
	break;
    case 2:
	pmdaTreeInsert(tree, DYNAMIC, "b.c");
	pmdaTreeInsert(tree, ID(60, 1, 4), "c.y.w");
	break;
    }
    return tree;
}

static void
show(const char *what, pmdaNameSpace *tree)
{
    printf("%s: root %x size %d\n", what, tree->root->pmid, pmdaTreeSize(tree));
    show_pmid(tree, "a");
    show_pmid(tree, "c.y.w");
    show_names(tree, ID(60, 1, 4));
    show_names(tree, ID(60, 1, 1));
    show_names(tree, 5);
    show_children(tree, "", 0);
    show_children(tree, "", 1);
    show_children(tree, "c", 0);
    show_children(tree, "c", 1);
}

int
main(void)
{
    static const pmID	ids[] = { PM_ID_NULL, DYNAMIC, 0x7fffffff, 5, 0 };
    size_t		i;
    int			which;

    for (which = 0; which < 4; which++) {
	pmdaNameSpace	*tree = make(which);

	printf("tree %d\n", which);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
	    tree->root->pmid = ids[i];
	    show("not rebuilt", tree);
	    pmdaTreeRebuildHash(tree, 4);
	    show("rebuilt", tree);
	}
	pmdaTreeRelease(tree);
	tree = make(which);
	__pmFixPMNSHashTab(tree, 4, 60);
	show("by libpcp", tree);
	pmdaTreeRelease(tree);
    }
    return 0;
}
