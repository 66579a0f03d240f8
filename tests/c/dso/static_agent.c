/*
 * An agent that has the C library inside, from the archive that the -dev package holds. It shows none of it to others.
 * cc: -shared -fPIC -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-Bstatic -lpcp_pmda -Wl,-Bdynamic
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaInstid colours[] = { { 3, "red" }, { 5, "blue" } };
static pmdaIndom indoms[] = { { 1, 2, colours } };
static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = 40 + inst;
    return PMDA_FETCH_STATIC;
}

void static_init(pmdaInterface *table);

/* Called by the loader, as pmcd does, with the table that it owns. */
void
static_init(pmdaInterface *table)
{
    pmdaDSO(table, PMDA_INTERFACE_7, "static", NULL);
    table->version.any.text = NULL;
    pmdaSetFetchCallBack(table, value);
    pmdaInit(table, indoms, 1, metrics, 1);
}
