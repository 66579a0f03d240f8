/* Name spaces of dynamic metrics. */
#include "bench.h"

/* Room for the name of a metric. */
#define NAME	64

static pmID
pmid_of(long number)
{
    return (DOMAIN << 22) | PMDA_PMID(number / 1000, number % 1000);
}

static const char *
metric_name(long number, long group)
{
    static char name[NAME];

    snprintf(name, sizeof(name), "bench.group%ld.metric%ld", number / group, number % group);
    return name;
}

/* n metrics, so many of them in each group. */
static pmdaNameSpace *
tree_of(long n, long group)
{
    pmdaNameSpace *tree;
    long i;

    must(pmdaTreeCreate(&tree) >= 0, "pmdaTreeCreate");
    for (i = 0; i < n; i++)
	must(pmdaTreeInsert(tree, pmid_of(i), metric_name(i, group)) >= 0, "pmdaTreeInsert");
    pmdaTreeRebuildHash(tree, n);
    return tree;
}

static void
names_of(long n, struct outcome *out)
{
    pmdaNameSpace *tree = tree_of(n, 100);
    long i, count = rounds(200000);
    uint32_t state = 1;
    double start = now();

    for (i = 0; i < count; i++) {
	char **found;
	int sts = pmdaTreeName(tree, pmid_of(next_random(&state) % n), &found);

	must(sts == 1, "pmdaTreeName");
	add_bytes(out, found[0], strlen(found[0]));
	free(found);
    }
    took(out, now() - start, count);
}

/* Time for one name of an answer. */
static void
children(long n, struct outcome *out)
{
    pmdaNameSpace *tree = tree_of(n, 100);
    long turn, i, turns = rounds(400000) / n + 1;
    double start = now();

    for (turn = 0; turn < turns; turn++) {
	char **found;
	int *status, sts = pmdaTreeChildren(tree, "bench", 1, &found, &status);

	must(sts == n, "pmdaTreeChildren");
	for (i = 0; i < n; i += 100)
	    add_bytes(out, found[i], strlen(found[i]));
	free(found);
	free(status);
    }
    took(out, now() - start, turns * n);
}

/* All names in one group. */
static void
insert_wide(long n, struct outcome *out)
{
    char *names = malloc(n * NAME);
    int turn, turns = repeats(n);
    pmdaNameSpace *trees[REPEATS];
    double start;
    long i;

    for (i = 0; i < n; i++)
	strcpy(names + i * NAME, metric_name(i, n));
    for (turn = 0; turn < turns; turn++)
	must(pmdaTreeCreate(&trees[turn]) >= 0, "pmdaTreeCreate");
    start = now();
    for (turn = 0; turn < turns; turn++) {
	for (i = 0; i < n; i++)
	    add(out, pmdaTreeInsert(trees[turn], pmid_of(i), names + i * NAME));
    }
    took(out, now() - start, n * turns);
}

static void
find_wide(long n, struct outcome *out)
{
    pmdaNameSpace *tree = tree_of(n, n);
    long i, count = rounds(20000);
    uint32_t state = 1;
    char (*names)[NAME] = malloc(n * NAME);
    double start;

    for (i = 0; i < n; i++)
	strcpy(names[i], metric_name(i, n));
    start = now();
    for (i = 0; i < count; i++) {
	pmID found = 0;

	add(out, pmdaTreePMID(tree, names[next_random(&state) % n], &found));
	add(out, found);
    }
    took(out, now() - start, count);
}

const struct scenario tree_scenarios[] = {
    { "pmdaTreeName", names_of },
    { "pmdaTreeChildren", children },
    { "pmdaTreeInsert, all in one group", insert_wide },
    { "pmdaTreePMID, all in one group", find_wide },
    { NULL, NULL },
};
