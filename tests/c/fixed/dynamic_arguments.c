/*
 * Callbacks that are NULL, NULL arguments, agents that were not set up, registrations from inside a callback (N-9,
 * N-10, DYN-1).
 */
#include "dynamic.h"

static pmdaMetric metrics[] = {
    { NULL, { ID(60, 1, 1), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static pmdaExt *self;
static int nested;

static int
registers(pmdaExt *ext, pmdaNameSpace **tree)
{
    int		i;

    printf("  registers\n");
    for (i = 0; i < 20 && nested < 40; i++, nested++)
	pmdaExtDynamicPMNS("more", NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, ext);
    *tree = set[0].tree;
    return 0;
}

static int
only_tree(pmdaExt *ext, pmdaNameSpace **tree)
{
    (void)ext;
    *tree = set[0].tree;
    return 0;
}

static void
two(int *nmetrics, int *trees)
{
    *nmetrics = 1;
    *trees = 2;
}

int
main(void)
{
    static pmdaInterface	dispatch, other;
    static pmdaExt		bare;
    char			*buffer = NULL;

    agent(&dispatch);
    self = dispatch.version.any.ext;
    tree_of(0, "a.x", ID(60, 1, 1), NULL, 0);
    pmdaExtDynamicPMNS("a", NULL, 0, registers, NULL, NULL, two, metrics, 1, self);
    look(self, "a.x", ID(60, 1, 1));
    look(self, "a.y", ID(60, 1, 2));
    rebuild(self);

    agent(&other);
    pmdaExtDynamicPMNS(NULL, NULL, 0, only_tree, text0, NULL, NULL, NULL, 5, other.version.any.ext);
    rebuild(other.version.any.ext);
    printf("LookupName without a name = %s\n", which(pmdaDynamicLookupName(self, NULL)));
    printf("LookupText without a place = %d\n", pmdaDynamicLookupText(ID(60, 1, 1), 0, NULL, self));
    printf("without an agent: %s", which(pmdaDynamicLookupName(NULL, "a.x")));
    printf(" %s", which(pmdaDynamicLookupPMID(NULL, ID(60, 1, 1))));
    printf(" %d\n", pmdaDynamicLookupText(ID(60, 1, 1), 0, &buffer, NULL));
    pmdaDynamicMetricTable(NULL);
    add(1, "bare", metrics, 1, &bare);
    look(&bare, "a.x", ID(60, 1, 1));
    rebuild(&bare);
    return 0;
}
