/*
 * A million levels need no stack (N-14). The tree is linked by hand and not released: libpcp recurses there.
 */
#include "pmns.h"

#define DEPTH 1000000

int
main(void)
{
    pmdaNameSpace	*tree = new_tree();
    __pmnsNode		*nodes = calloc(DEPTH, sizeof(*nodes));
    char		*name = malloc(2 * DEPTH), **set;
    int			i, sts, *status;
    pmID		pmid = 0;

    for (i = 0; i < DEPTH; i++) {
	nodes[i].name = "n";
	nodes[i].pmid = i + 1 < DEPTH ? PM_ID_NULL : 7;
	nodes[i].first = i + 1 < DEPTH ? &nodes[i + 1] : NULL;
	memcpy(name + 2 * i, "n.", 2);
    }
    name[2 * DEPTH - 1] = '\0';
    tree->root->first = nodes;
    printf("size %d\n", pmdaTreeSize(tree));
    pmdaTreeRebuildHash(tree, 1);
    sts = pmdaTreePMID(tree, name, &pmid);
    printf("PMID = %d %u\n", sts, pmid);
    sts = pmdaTreeName(tree, 7, &set);
    printf("Name = %d %s\n", sts, strcmp(set[0], name) == 0 ? "the same" : "another");
    free(set);
    sts = pmdaTreeChildren(tree, "n", 1, &set, &status);
    printf("Children = %d %s\n", sts, strcmp(set[0], name) == 0 ? "the same" : "another");
    free(set);
    free(status);
    free(name);
    return 0;
}
