/*
 * NULL arguments and trees without a root: errors, not crashes (N-13, TREE-35, TREE-10).
 */
#include "pmns.h"

extern __pmnsNode *pmdaNodeLookup(__pmnsNode *, const char *);

int
main(void)
{
    pmdaNameSpace	*tree = new_tree(), *bare = calloc(1, sizeof(*bare));
    char		**set = NULL;
    int			*status = NULL;
    pmID		pmid = 17;

    insert(tree, 5, "a.b");
    pmdaTreeRebuildHash(tree, 1);
    printf("Create(NULL) = %d\n", pmdaTreeCreate(NULL));
    printf("Insert without a tree = %d\n", pmdaTreeInsert(NULL, 3, "a"));
    printf("Insert without a name = %d\n", pmdaTreeInsert(tree, 3, NULL));
    printf("Insert without a root = %d\n", pmdaTreeInsert(bare, 3, "a"));
    printf("PMID without a name = %d\n", pmdaTreePMID(tree, NULL, &pmid));
    printf("PMID without a place = %d\n", pmdaTreePMID(tree, "a.b", NULL));
    printf("Name without a place = %d\n", pmdaTreeName(tree, 5, NULL));
    printf("Children without a name = %d\n", pmdaTreeChildren(tree, NULL, 0, &set, &status));
    printf("Children without a place for names = %d\n", pmdaTreeChildren(tree, "a", 0, NULL, &status));
    printf("Children without a place for states = %d\n", pmdaTreeChildren(tree, "a", 1, &set, NULL));
    printf("Children without a root = %d\n", pmdaTreeChildren(bare, "a", 1, &set, &status));
    printf("NodeLookup without a name = %s\n", pmdaNodeLookup(tree->root, NULL) ? "found" : "NULL");
    pmdaTreeRebuildHash(bare, 3);
    printf("table of %d without a root, size %d\n", bare->htabsize, pmdaTreeSize(bare));
    printf("untouched: %u %d %d\n", pmid, set == NULL, status == NULL);
    pmdaTreeRelease(tree);
    free(bare->htab);
    free(bare);
    return 0;
}
