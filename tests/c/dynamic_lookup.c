/*
 * pmdaDynamicPMNS, pmdaExtDynamicPMNS, pmdaDynamicLookupName, -PMID, -Text: who is asked, in which order, who wins.
 *
 * DYN-1, DYN-2, DYN-3, DYN-4, DYN-5, DYN-10, DYN-11, DYN-12, DYN-13, DYN-14, DYN-15, DYN-25
 */
#include "dynamic.h"

static pmdaMetric metrics[] = {
    { NULL, { ID(60, 1, 1), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { ID(60, 1, 2), 1, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

int
main(void)
{
    static pmdaInterface	one, two;
    pmdaExt			*ext;

    agent(&one);
    agent(&two);
    ext = one.version.any.ext;
    look(ext, "a.b", ID(60, 1, 1));

    /* two registrations for all agents, of which the second has the metric as well */
    tree_of(0, "a.b", ID(60, 1, 1), "a.only0", ID(60, 1, 2));
    tree_of(1, "a.b", ID(60, 1, 1), "a.only1.x", ID(60, 1, 3));
    add(0, "a", metrics, 2, NULL);
    look(ext, "a.b", ID(60, 1, 1));
    add(1, "a", metrics, 2, NULL);
    look(ext, "a.b", ID(60, 1, 1));
    look(ext, "a.only0", ID(60, 1, 2));
    look(ext, "a.only1", ID(60, 1, 3));
    look(ext, "a.only1.x", ID(60, 1, 4));
    look(ext, "none", PM_ID_NULL);
    look(ext, "", 0);
    set[1].text = -12349;
    look(ext, "a", ID(60, 1, 3));
    set[1].text = 17;
    look(two.version.any.ext, "a", ID(60, 1, 3));

    /* a tree that is not there, one without a table, and one that is exchanged */
    set[0].tree = new_tree();
    pmdaTreeInsert(set[0].tree, ID(60, 1, 1), "a.b");
    look(ext, "a.b", ID(60, 1, 1));

    /* an agent with registrations of its own sees no others */
    tree_of(2, "own.x", ID(60, 2, 1), NULL, 0);
    add(2, "own", metrics, 2, two.version.any.ext);
    look(two.version.any.ext, "own.x", ID(60, 2, 1));
    look(two.version.any.ext, "a.only1.x", ID(60, 1, 3));
    look(ext, "own.x", ID(60, 2, 1));
    tree_of(3, "own.x", ID(60, 2, 1), "own.y", ID(60, 2, 2));
    add(3, "own", metrics, 2, two.version.any.ext);
    look(two.version.any.ext, "own.y", ID(60, 2, 2));
    look(two.version.any.ext, "own.x", ID(60, 2, 1));

    /* changes: all are asked before the table is made, whichever of them reports it */
    printf("changes\n");
    two.version.any.ext->e_metrics = metrics;
    two.version.any.ext->e_nmetrics = 2;
    set[2].changed = 1;
    set[3].metrics = 2;
    set[3].trees = 2;
    look(two.version.any.ext, "own.y", ID(60, 2, 2));
    set[2].changed = 0;
    set[3].changed = -5;
    look(two.version.any.ext, "own.y", ID(60, 2, 2));
    show_table(two.version.any.ext);

    /* what comes out goes into the functions for trees */
    set[3].changed = 0;
    expected = ext;
    show_pmid(pmdaDynamicLookupName(ext, "nowhere"), "nowhere");
    show_names(pmdaDynamicLookupPMID(ext, ID(9, 9, 9)), ID(9, 9, 9));
    show_children(pmdaDynamicLookupName(ext, "a.only1"), "a.only1", 1);
    return 0;
}
