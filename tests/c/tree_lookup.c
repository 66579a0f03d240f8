/*
 * pmdaNodeLookup, pmdaTreePMID, pmdaTreeName, pmdaTreeChildren: leaves, branches, dynamic roots, odd names, nothing.
 *
 * TREE-4, TREE-14, TREE-30, TREE-31, TREE-32, TREE-33, TREE-34, N-11, N-12
 */
#include "pmns.h"

extern __pmnsNode *pmdaNodeLookup(__pmnsNode *, const char *);

static void
show_node(__pmnsNode *from, const char *name)
{
    __pmnsNode	*node = pmdaNodeLookup(from, name);

    printf("NodeLookup(%s) = %s\n", name, node ? node->name : "NULL");
}

int
main(void)
{
    static const char	*names[] = {
	"a", "a.b", "a.b.c", "a.b.c.d", "a.b.x", "a.", ".a", "", ".", "ab", "abc", "abc.x", "x", "x.below", "root",
	"root.a.b", "dyn", "dyn.hidden", "dyn.", "derived", "empty", "empty.none", "w", "w.", "w..v", "w..", "w.v", "a.b.cc",
	"pre", "prefix", "prefix.one", "pre.two", "a..b"
    };
    pmdaNameSpace	*tree = new_tree(), *bare;
    size_t		i;

    insert(tree, ID(1, 1, 1), "a.b.c");
    insert(tree, ID(1, 1, 2), "a.b.cc");
    insert(tree, ID(1, 1, 3), "abc.x");
    insert(tree, ID(1, 1, 4), "x");
    insert(tree, ID(1, 1, 5), "x.below");
    insert(tree, ID(511u, 60, 0), "dyn");
    insert(tree, ID(60, 1, 1), "dyn.hidden");
    insert(tree, ID(511u, 61, 0), "dyn2");
    insert(tree, ID(511u, 60, 1), "derived");
    insert(tree, PM_ID_NULL, "empty.none");
    insert(tree, ID(1, 1, 6), "w..v");
    insert(tree, ID(1, 1, 7), "pre.two");
    insert(tree, ID(1, 1, 8), "prefix.one");
    insert(tree, ID(1, 1, 9), "a.leaf");

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
	show_node(tree->root->first, names[i]);
	show_pmid(tree, names[i]);
	show_children(tree, names[i], 0);
	show_children(tree, names[i], 1);
    }
    show_children(tree, "a", -1);
    show_children(tree, "dyn2", 0);
    show_children(tree, "dyn2", 1);

    /* from a node in the middle of its siblings, and from the root itself */
    show_node(tree->root, "a.b.c");
    show_node(tree->root, "root.a.b.c");
    show_node(tree->root->first->next, "a");
    show_node(tree->root->first->next, "x");
    show_node(NULL, "a");

    /* found by identifier although it cannot be found by name */
    pmdaTreeRebuildHash(tree, 9);
    show_names(tree, ID(1, 1, 5));
    show_names(tree, ID(60, 1, 1));
    show_names(tree, ID(1, 1, 1));
    show_names(tree, 0);
    show_names(tree, PM_ID_NULL);
    pmdaTreeRelease(tree);

    /* an empty component at the top */
    tree = new_tree();
    insert(tree, ID(1, 1, 1), ".x.y");
    insert(tree, ID(1, 1, 2), ".z");
    show_pmid(tree, ".x.y");
    show_children(tree, "", 0);
    show_children(tree, "", 1);
    show_children(tree, ".x", 0);
    pmdaTreeRelease(tree);

    /* no tree, and one without names */
    show_pmid(NULL, "a");
    show_names(NULL, ID(1, 1, 1));
    show_children(NULL, "a", 0);
    show_children(NULL, "a", 1);
    bare = new_tree();
    show_pmid(bare, "a");
    show_names(bare, ID(1, 1, 1));
    show_children(bare, "a", 0);
    show_children(bare, "", 1);
    pmdaTreeRelease(bare);
    bare = calloc(1, sizeof(*bare));
    show_pmid(bare, "a");
    show_names(bare, ID(1, 1, 1));
    printf("size %d\n", pmdaTreeSize(bare));
    free(bare);
    return 0;
}
