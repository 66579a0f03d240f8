/*
 * The agent that setup_unloaded.c closes: the last one that needs the library.
 * cc: -shared -fPIC
 */
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmdaIndom indoms[1];
static pmdaMetric metrics[1] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = 40 + inst;
    return PMDA_FETCH_STATIC;
}

char *unloaded_init(pmdaInterface *table);

/* Called by the loader, as pmcd does, with the table that it owns; it gets the name of an instance back. */
char *
unloaded_init(pmdaInterface *table)
{
    char text[32], *name = NULL;
    pmInDom cached;
    void *attached;
    int i;

    pmdaDSO(table, PMDA_INTERFACE_7, "unloaded", NULL);
    table->version.any.text = NULL;
    pmdaSetFetchCallBack(table, value);
    indoms[0].it_indom = 1;
    pmdaInit(table, indoms, 1, metrics, 1);
    cached = metrics[0].m_desc.indom;
    for (i = 0; i < 40; i++) {
	pmsprintf(text, sizeof(text), "instance%d", i);
	attached = malloc(24);
	memset(attached, i, 24);
	pmdaCacheStore(cached, PMDA_CACHE_ADD, text, attached);
    }
    pmdaCacheLookup(cached, 20, &name, NULL);
    pmdaEventNewQueue("queue", 1000);
    pmdaEventNewArray();
    return name;
}
