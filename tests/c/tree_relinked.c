/*
 * The front child of a wide node is unlinked by hand, and another one is at its address: it is found, and the old one is not. TREE-13,
 * TREE-30, TREE-36
 */
#include "pmns.h"

#define CHILDREN 200

static pmdaNameSpace *tree;

static __pmnsNode *
group(void)
{
    return tree->root->first;
}

/* Takes the front child out, and gives it back without its name. */
static __pmnsNode *
take(void)
{
    __pmnsNode	*front = group()->first;

    group()->first = front->next;
    free(front->name);
    memset(front, 0, sizeof(*front));
    return front;
}

static void
link_front(__pmnsNode *node, const char *name, pmID pmid)
{
    node->name = strdup(name);
    node->pmid = pmid;
    node->parent = group();
    node->next = group()->first;
    group()->first = node;
}

/* Looks all up, often enough for any index. */
static void
use(void)
{
    char	name[32];
    pmID	pmid;
    int		i, n, found = 0;

    for (n = 0; n < 4; n++) {
	for (i = 0; i < CHILDREN; i++) {
	    snprintf(name, sizeof(name), "g.m%d", i);
	    found += pmdaTreePMID(tree, name, &pmid) == 0;
	}
    }
    printf("%d found\n", found);
}

static void
show(void)
{
    show_pmid(tree, "g.m199");
    show_pmid(tree, "g.m198");
    show_pmid(tree, "g.other");
    show_pmid(tree, "g.third");
    show_pmid(tree, "g.late");
    show_pmid(tree, "g.m0");
    show_pmid(tree, "g.none");
}

int
main(void)
{
    char	name[32];
    __pmnsNode	*one, *two;
    int		i;

    pmdaTreeCreate(&tree);
    for (i = 0; i < CHILDREN; i++) {
	snprintf(name, sizeof(name), "g.m%d", i);
	pmdaTreeInsert(tree, ID(1, 2, i), name);
    }
    use();
    one = take();
    link_front(one, "other", ID(1, 3, 1));
    show();
    use();
    /* The same, with a new one in front of it before anybody looks. */
    one = take();
    link_front(one, "third", ID(1, 3, 2));
    pmdaTreeInsert(tree, ID(1, 3, 3), "g.late");
    show();
    use();
    /* Two of them, which change places. */
    one = take();
    two = take();
    link_front(one, "other", ID(1, 3, 4));
    link_front(two, "third", ID(1, 3, 5));
    show();
    use();
    /* One that is gone for good. */
    free(take());
    show();
    use();
    show();
    pmdaTreeRelease(tree);
    return 0;
}
