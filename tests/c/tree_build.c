/*
 * pmdaTreeCreate, pmdaTreeInsert, pmdaTreeRelease, pmdaTreeSize: what a tree looks like.
 *
 * TREE-1, TREE-2, TREE-3, TREE-10, TREE-11, TREE-12, TREE-13, TREE-15, TREE-16, TREE-17, TREE-23
 */
#include "pmns.h"

int
main(void)
{
    pmdaNameSpace	*tree = new_tree();

    show_tree(tree);
    printf("size %d\n", pmdaTreeSize(tree));
    insert(tree, ID(1, 2, 3), "a.b.c");
    insert(tree, ID(1, 2, 4), "a.b.d");
    insert(tree, ID(1, 2, 5), "x");
    insert(tree, ID(1, 2, 3), "a.alias");
    insert(tree, ID(1, 2, 3), "A.b.c");
    show_tree(tree);
    printf("size %d\n", pmdaTreeSize(tree));

    /* once more: the same, another identifier, over a non-leaf, below a leaf */
    insert(tree, ID(1, 2, 3), "a.b.c");
    insert(tree, ID(1, 2, 9), "a.b.c");
    insert(tree, ID(1, 2, 9), "a.b");
    insert(tree, ID(1, 2, 10), "x.below");
    insert(tree, PM_ID_NULL, "a.b");
    insert(tree, PM_ID_NULL, "new.branch");
    insert(tree, PM_ID_NULL, "x");

    /* names are not looked at */
    insert(tree, ID(1, 2, 20), "w..v");
    insert(tree, ID(1, 2, 21), "u.");
    insert(tree, ID(1, 2, 22), "");
    insert(tree, ID(1, 2, 23), ".lead");
    insert(tree, ID(1, 2, 24), "sp ace.t\303\244b");
    insert(tree, ID(1, 2, 25), "7.8");

    /* dynamic roots count once and hide what is below; derived metrics are plain leaves */
    insert(tree, ID(511u, 60, 0), "dyn");
    insert(tree, ID(60, 1, 1), "dyn.hidden");
    insert(tree, ID(511u, 60, 1), "derived");
    show_tree(tree);
    printf("size %d\n", pmdaTreeSize(tree));
    show_pmid(tree, "w..v");
    show_pmid(tree, "u.");
    show_pmid(tree, "u");
    show_pmid(tree, "");
    show_pmid(tree, ".lead");
    show_pmid(tree, "A.b.c");
    show_pmid(tree, "a.B.c");
    show_names(tree, ID(1, 2, 3));
    pmdaTreeRelease(tree);
    pmdaTreeRelease(NULL);
    printf("size of none %d\n", pmdaTreeSize(NULL));
    return 0;
}
