/*
 * libpcp's tree of names, which libpcp_pmda shares (TREE-1), and helpers of the tests about it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

typedef struct __pmnsNode {
    struct __pmnsNode	*parent;
    struct __pmnsNode	*next;
    struct __pmnsNode	*first;
    struct __pmnsNode	*hash;
    char		*name;
    pmID		pmid;
} __pmnsNode;

struct __pmnsTree {
    __pmnsNode		*root;
    __pmnsNode		**htab;
    int			htabsize;
    int			mark_state;
};

extern void __pmFixPMNSHashTab(pmdaNameSpace *, int, int);

#define ID(domain, cluster, item) ((pmID)(((domain) << 22) | ((cluster) << 10) | (item)))

static inline void
show_pmid(pmdaNameSpace *tree, const char *name)
{
    pmID	pmid = 0xabababab;
    int		sts = pmdaTreePMID(tree, name, &pmid);

    printf("PMID(%s) = %d %x\n", name, sts, pmid);
}

static inline void
show_names(pmdaNameSpace *tree, pmID pmid)
{
    char	*untouched = (char *)&pmid;
    char	**set = &untouched;
    int		i, sts = pmdaTreeName(tree, pmid, &set);

    printf("Name(%x) = %d%s", pmid, sts, set == &untouched ? " untouched" : "");
    for (i = 0; i < sts; i++)
	printf(" \"%s\"", set[i]);
    if (sts > 0)
	printf(" %s", set[0] == (char *)(set + sts) ? "packed" : "not packed");
    putchar('\n');
    if (set != &untouched)
	free(set);
}

static inline void
show_children(pmdaNameSpace *tree, const char *name, int traverse)
{
    char	*untouched = (char *)&traverse;
    char	**set = &untouched;
    int		*status = &traverse;
    int		i, sts = pmdaTreeChildren(tree, name, traverse, &set, &status);

    printf("Children(%s, %d) = %d", name, traverse, sts);
    if (set == &untouched)
	printf(" untouched");
    else if (set == NULL)
	printf(" NULL");
    if (status == &traverse)
	printf(" status untouched");
    else if (status == NULL)
	printf(" status NULL");
    for (i = 0; i < sts; i++)
	printf(" \"%s\":%d", set[i], status[i]);
    if (sts > 0)
	printf(" %s", set[0] == (char *)(set + sts) ? "packed" : "not packed");
    putchar('\n');
    if (set != &untouched)
	free(set);
    if (status != &traverse)
	free(status);
}

/* Every node with its links by name; `hash` as well when the tree has a table. */
static inline void
show_nodes(const __pmnsNode *node, int level)
{
    for (; node != NULL; node = node->next) {
	printf("%*s\"%s\" %x parent %s", level * 2, "", node->name, node->pmid,
		node->parent ? node->parent->name : "-");
	printf(" hash %s\n", node->hash ? node->hash->name : "-");
	show_nodes(node->first, level + 1);
    }
}

static inline void
show_tree(const pmdaNameSpace *tree)
{
    int		i;

    printf("size %d mark %d table %s\n", tree->htabsize, tree->mark_state, tree->htab ? "yes" : "no");
    for (i = 0; tree->htab && i < tree->htabsize; i++) {
	if (tree->htab[i])
	    printf("  chain %d: %s\n", i, tree->htab[i]->name);
    }
    show_nodes(tree->root, 1);
}

static inline pmdaNameSpace *
new_tree(void)
{
    pmdaNameSpace	*tree = NULL;
    int			sts = pmdaTreeCreate(&tree);

    if (sts < 0) {
	printf("Create = %d\n", sts);
	exit(1);
    }
    return tree;
}

static inline void
insert(pmdaNameSpace *tree, pmID pmid, const char *name)
{
    printf("Insert(%x, %s) = %d\n", pmid, name, pmdaTreeInsert(tree, pmid, name));
}
