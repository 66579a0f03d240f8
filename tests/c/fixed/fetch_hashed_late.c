/*
 * An agent that asks for a hashed table after pmdaInit, and does not call pmdaRehash: its metrics are still found. F-8
 */
#include "../fetch.h"

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
    { NULL, { PMDA_PMID(0, 1), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->l = 10 + (int)pmID_item(metric->m_desc.pmid);
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    pmID pmids[] = { pmID_build(DOMAIN, 0, 0), pmID_build(DOMAIN, 0, 1) };
    pmdaInterface table;

    agent(&table, PMDA_INTERFACE_7, value, NULL, 0, metrics, 2);
    pmdaSetFlags(&table, PMDA_EXT_FLAG_HASHED);
    fetch(&table, 2, pmids);
    pmdaRehash(CALL(table).ext, metrics, 2);
    fetch(&table, 2, pmids);
    return 0;
}
