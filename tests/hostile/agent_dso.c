/*
 * The DSO agent that dso.c opens and closes.
 * cc: -shared -fPIC
 */

#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaIndom indoms[1];
static pmdaMetric metrics[1] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_STRING, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->cp = "value";
    return PMDA_FETCH_STATIC;
}

/* Called by the loader, as pmcd does, with the table that it owns. */
void agent_init(pmdaInterface *table);

void
agent_init(pmdaInterface *table)
{
    pmInDom cached;

    pmdaDSO(table, PMDA_INTERFACE_7, "dso", NULL);
    pmdaSetFetchCallBack(table, value);
    indoms[0].it_indom = 1;
    pmdaInit(table, indoms, 1, metrics, 1);
    cached = metrics[0].m_desc.indom;
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "two", NULL);
    pmdaEventReleaseArray(pmdaEventNewArray());
}
