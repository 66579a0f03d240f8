/*
 * instances: one value for each name in a file, one name a line. The instance cache gives each name a number that
 * stays the same when the file changes and when the agent is started again, because the cache is saved.
 */
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	491
#define NAMES	0			/* serial number of the instance domain */

static const char *file = "names";

static pmdaIndom indoms[] = { { NAMES, 0, NULL } };	/* the cache holds the instances */

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, NAMES, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};

/* Makes the active instances those that the file names now; saves the cache when a new name came. */
static void
refresh(void)
{
    pmInDom names = indoms[NAMES].it_indom;
    char line[256];
    FILE *stream = fopen(file, "r");

    pmdaCacheOp(names, PMDA_CACHE_INACTIVE);
    if (stream == NULL)
	return;
    while (fgets(line, sizeof(line), stream) != NULL) {
	line[strcspn(line, "\n")] = '\0';
	if (line[0] != '\0')
	    pmdaCacheStore(names, PMDA_CACHE_ADD, line, NULL);
    }
    fclose(stream);
    pmdaCacheOp(names, PMDA_CACHE_SAVE);
}

static int
fetch(int count, pmID *ids, pmdaResult **result, pmdaExt *ext)
{
    refresh();
    return pmdaFetch(count, ids, result, ext);
}

static int
instance(pmInDom domain, int inst, char *name, pmInResult **result, pmdaExt *ext)
{
    refresh();
    return pmdaInstance(domain, inst, name, result, ext);
}

/* The value is the length of the name. */
static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    char *name;

    if (pmdaCacheLookup(metric->m_desc.indom, inst, &name, NULL) != PMDA_CACHE_ACTIVE)
	return PM_ERR_INST;
    atom->ul = strlen(name);
    return PMDA_FETCH_STATIC;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    if (argc > 1)
	file = argv[1];
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "instances.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.any.fetch = fetch;
    dispatch.version.any.instance = instance;
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, indoms, 1, metrics, sizeof(metrics) / sizeof(metrics[0]));
    pmdaCacheOp(indoms[NAMES].it_indom, PMDA_CACHE_LOAD);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
