/*
 * Nodes with many children, filled by both libraries and by hand, freed by either: what is found, in which order, and
 * what the nodes look like.
 *
 * TREE-1, TREE-3, TREE-6, TREE-11, TREE-12, TREE-13, TREE-14, TREE-16, TREE-30, TREE-31, TREE-33, TREE-36
 */
#include <malloc.h>
#include "pmns.h"

extern int __pmNewPMNS(pmdaNameSpace **);
extern int __pmAddPMNSNode(pmdaNameSpace *, int, const char *);
extern void __pmFreePMNS(pmdaNameSpace *);
extern __pmnsNode *pmdaNodeLookup(__pmnsNode *, const char *);

static unsigned int	sum, state = 1;

static void
add(const void *bytes, size_t length)
{
    const unsigned char	*byte = bytes;

    while (length-- > 0)
	sum = (sum ^ *byte++) * 16777619u;
}

static void
add_number(int number)
{
    add(&number, sizeof(number));
}

static int
any(int limit)
{
    state = state * 1103515245 + 12345;
    return (state >> 8) % limit;
}

/* All fields of all nodes, but for the link that nobody uses. */
static void
add_nodes(const __pmnsNode *node, const __pmnsNode *parent)
{
    for (; node != NULL; node = node->next) {
	add(node->name, strlen(node->name) + 1);
	add_number(node->pmid);
	add_number(node->parent == parent);
	if (node->pmid != PM_ID_NULL && node->hash != NULL)
	    add(node->hash->name, strlen(node->hash->name));
	add_nodes(node->first, node);
    }
}

static void
show(const char *what, const pmdaNameSpace *tree)
{
    if (tree != NULL) {
	add_number(tree->htabsize);
	add_number(tree->mark_state);
	add_nodes(tree->root->first, tree->root);
    }
    printf("%s: %08x\n", what, sum);
}

static void
find(pmdaNameSpace *tree, const char *name)
{
    pmID	pmid = 0xabababab;
    int		*states, n;
    char	**names;

    add_number(pmdaTreePMID(tree, name, &pmid));
    add_number(pmid);
    n = pmdaTreeChildren(tree, name, 0, &names, &states);
    add_number(n);
    if (n > 0) {
	add(names[0], strlen(names[n - 1]));
	free(names);
	free(states);
    }
}

/* Names from below to, in one group, put in by one library or the other. */
static void
fill(pmdaNameSpace *tree, const char *group, int from, int to, int foreign)
{
    char	name[64];
    int		i;

    for (i = from; i < to; i++) {
	snprintf(name, sizeof(name), "%sm%d%s", group, i, i % 7 == 0 ? ".value" : "");
	if (any(100) < foreign)
	    add_number(__pmAddPMNSNode(tree, ID(1, i / 1000, i % 1000), name));
	else
	    add_number(pmdaTreeInsert(tree, ID(1, i / 1000, i % 1000), name));
    }
}

static void
search(pmdaNameSpace *tree, const char *group, int names, int count)
{
    static const char	*const tails[] = { "", "", "", ".value", ".", ".value.more", "x" };
    char		name[64];

    while (count-- > 0) {
	snprintf(name, sizeof(name), "%sm%d%s", group, any(names), tails[any(7)]);
	find(tree, name);
    }
}

static void
all_ways(void)
{
    pmdaNameSpace	*tree = new_tree();
    char		**names;
    int			i, n, *states;

    fill(tree, "g.", 0, 2000, 30);
    show("filled", tree);
    search(tree, "g.", 2500, 500);
    show("searched", NULL);
    n = pmdaTreeChildren(tree, "g", 0, &names, &states);
    printf("children %d: %s %d ... %s %d\n", n, names[0], states[0], names[n - 1], states[n - 1]);
    free(names);
    free(states);

    /* what is there already, what is not there yet, and below what is */
    insert(tree, ID(1, 0, 5), "g.m5");
    insert(tree, ID(1, 0, 6), "g.m5");
    insert(tree, ID(1, 0, 5), "g.m5");
    insert(tree, ID(1, 1, 12), "g.m1012");
    insert(tree, PM_ID_NULL, "g.m5");
    insert(tree, PM_ID_NULL, "g.m7");
    insert(tree, ID(1, 0, 7), "g.m7");
    insert(tree, ID(1, 0, 6), "g");
    insert(tree, ID(1, 5, 1), "g.m5.below.a.leaf");
    insert(tree, ID(1, 5, 2), "g.m5.below.b");
    insert(tree, ID(1, 5, 3), "g.m7.a.b.c.d");
    insert(tree, ID(1, 5, 4), "g..empty");
    insert(tree, ID(1, 5, 5), "g.");
    insert(tree, ID(1, 5, 5), "g..");
    insert(tree, ID(1, 5, 6), "g...");
    insert(tree, PM_ID_NULL, "g.branch");
    insert(tree, ID(511u, 60, 0), "g.dyn");
    insert(tree, ID(1, 5, 7), "g.dyn.below");
    find(tree, "g.m5.below.b");
    find(tree, "g.m7.a.b.c.d");
    find(tree, "g..empty");
    find(tree, "g.");
    find(tree, "g");
    find(tree, "g.dyn.below");
    find(tree, "g.branch");
    find(tree, "g.m7");
    show("odd names", tree);

    pmdaTreeRebuildHash(tree, 2000);
    show("rebuilt", tree);
    show_names(tree, ID(1, 0, 5));
    show_names(tree, ID(1, 1, 9));
    show_names(tree, ID(1, 5, 3));
    printf("size %d\n", pmdaTreeSize(tree));
    fill(tree, "g.", 2000, 2600, 60);
    search(tree, "g.", 3000, 500);
    show("more", tree);
    for (i = 0; i < 100; i++) {
	__pmnsNode	*node = pmdaNodeLookup(tree->root->first, i % 2 ? "g.m1999" : "g.m7.value");

	add(node->name, strlen(node->name));
	node = pmdaNodeLookup(tree->root->first->first->next, i % 3 ? "m2599" : "m77.value");
	add(node ? node->name : "none", 4);
    }
    show("nodes", NULL);
    pmdaTreeRelease(tree);
}

/* A tree is freed without a word, and another one comes to lie where it was. */
static void
other_trees(void)
{
    pmdaNameSpace	*tree = NULL;
    int			i;

    for (i = 0; i < 40; i++) {
	int	names = any(3) ? 300 : 100 + any(300);

	if (tree != NULL) {
	    if (any(4))
		__pmFreePMNS(tree);
	    else
		pmdaTreeRelease(tree);
	}
	if (any(4))
	    __pmNewPMNS(&tree);
	else
	    pmdaTreeCreate(&tree);
	fill(tree, i % 2 ? "g." : "", 0, names, i % 4 == 0 ? 100 : i % 4 * 20);
	search(tree, i % 2 ? "g." : "", 400, 200);
	search(tree, i % 2 ? "" : "g.", 400, 20);
	if (any(2))
	    pmdaTreeRebuildHash(tree, names);
    }
    show("other trees", tree);
    __pmFreePMNS(tree);
}

static void
put(__pmnsNode *parent, __pmnsNode *before, const char *name, pmID pmid)
{
    __pmnsNode	*node = calloc(1, sizeof(*node));

    node->name = strdup(name);
    node->pmid = pmid;
    node->parent = parent;
    if (before == NULL) {
	node->next = parent->first;
	parent->first = node;
    } else {
	node->next = before->next;
	before->next = node;
    }
}

/* Names twice, and with dots in them, among many: the first that fits decides. */
static void
by_hand(void)
{
    static const char	*const names[] = {
	"g.m5", "g.m6", "g.m7", "g.m7.value", "g.a.b", "g.a", "g.a.b.c", "g.m10.x", "g.m10", "g.m14.value", "g.m400", "g.m600"
    };
    int			way, turn;
    size_t		i;

    for (way = 0; way < 4; way++) {
	pmdaNameSpace	*tree = new_tree();
	__pmnsNode	*group;

	fill(tree, "g.", 0, 500, 50);
	search(tree, "g.", 500, 300);
	group = tree->root->first;
	for (turn = 0; turn < 3; turn++) {
	    if (way == 0)
		put(group, NULL, "m5", ID(2, 2, turn));
	    else if (way == 1)
		put(group, NULL, turn ? "a.b" : "m7", ID(2, 2, turn));
	    else if (way == 2)
		put(group, NULL, turn ? "m14" : "m10", turn > 1 ? PM_ID_NULL : ID(2, 2, turn));
	    else
		put(group, NULL, turn ? "new" : "other", ID(2, 2, turn));
	    fill(tree, "g.", 500 + turn * 50, 550 + turn * 50, 20);
	    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		find(tree, names[i]);
		add_number(pmdaTreeInsert(tree, ID(3, 3, i), names[i]));
		find(tree, names[i]);
	    }
	    search(tree, "g.", 800, 100);
	}
	printf("way %d ", way);
	show("by hand", tree);
	pmdaTreeRelease(tree);
    }
}

/* Many nodes with many children, in several trees. */
static void
many(void)
{
    pmdaNameSpace	*trees[3];
    char		group[16];
    int			i, turn;

    for (i = 0; i < 3; i++)
	trees[i] = new_tree();
    for (i = 0; i < 240; i++) {
	snprintf(group, sizeof(group), "g%d.", i);
	fill(trees[i % 3], group, 0, i < 24 ? 1000 : 100, 5);
    }
    for (turn = 0; turn < 3000; turn++) {
	i = turn % 300 == 0 ? any(250) : any(turn % 200 + 1);
	snprintf(group, sizeof(group), "g%d.", i);
	search(trees[i % 3], group, i < 24 ? 1100 : 110, 2);
	if (turn % 10 == 0)
	    fill(trees[i % 3], group, 4000 + turn, 4002 + turn, 30);
    }
    for (i = 0; i < 3; i++) {
	show("many", trees[i]);
	pmdaTreeRelease(trees[i]);
	if (i == 0)
	    search(trees[1], "g1.", 1000, 50);
    }
}

/* Wide nodes that have an identifier, and that get one. */
static void
with_identifiers(void)
{
    pmdaNameSpace	*tree = new_tree();
    int			i;

    insert(tree, ID(511u, 70, 0), "dyn");
    fill(tree, "dyn.", 0, 400, 50);
    fill(tree, "g.", 0, 400, 50);
    search(tree, "dyn.", 500, 200);
    search(tree, "g.", 500, 200);
    pmdaTreeRebuildHash(tree, 500);
    search(tree, "dyn.", 500, 200);
    show("dynamic root", tree);
    for (i = 0; i < 6; i++) {
	tree->root->first->pmid = i % 2 ? PM_ID_NULL : i % 4 ? ID(511u, 71, 0) : ID(1, 1, 1);
	search(tree, "g.", 500, 100);
	fill(tree, "g.", 400 + i * 10, 410 + i * 10, 50);
	search(tree, "g.", 500, 100);
	pmdaTreeRebuildHash(tree, 300);
	show("identifier", tree);
    }
    free(tree->htab);
    tree->htab = NULL;
    __pmFixPMNSHashTab(tree, 500, 1);
    search(tree, "g.", 500, 100);
    fill(tree, "g.", 600, 650, 50);
    search(tree, "g.", 700, 100);
    pmdaTreeRebuildHash(tree, 300);
    search(tree, "g.", 700, 100);
    show("repaired", tree);
    pmdaTreeRelease(tree);
}

int
main(void)
{
    mallopt(M_PERTURB, 0xa5);
    all_ways();
    other_trees();
    by_hand();
    many();
    with_identifiers();
    return 0;
}
