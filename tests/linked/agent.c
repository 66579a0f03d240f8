/* An agent that fetches from itself, beside another library in Rust. */
#include "setup.h"

/* other.rs: catches a panic of its own for 7. */
extern int other(int);

static pmdaMetric metric = { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } };

static int
value(pmdaMetric *asked, unsigned int inst, pmAtomValue *atom)
{
    (void)asked;
    (void)inst;
    atom->l = 42;
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    pmID pmid = pmID_build(250, 0, 0);
    pmdaInterface table;
    pmdaResult *result;

    setup_daemon(&table, PMDA_INTERFACE_7, 250);
    pmdaSetFetchCallBack(&table, value);
    table.version.any.text = NULL;
    pmdaInit(&table, NULL, 0, &metric, 1);
    printf("status %d", table.status);
    printf(", fetch %d", table.version.any.fetch(1, &pmid, &result, table.version.any.ext));
    printf(", value %d", result->vset[0]->vlist[0].value.lval);
    printf(", other %d %d\n", other(3), other(7));
    return 0;
}
