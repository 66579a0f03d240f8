/*
 * dynamic: metric names that are not in any file. pmcd's name space holds one line for the agent's root
 * (`dynamic 494:*:*`); everything below is answered from a tree that the agent builds and may change.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	494

static pmdaNameSpace *names;
static const char *const colours[] = { "red", "green", "blue" };
static pmdaMetric metrics[3];

/* Builds the tree: dynamic.colour.red, … A tree can be thrown away and built anew at any time. */
static int
build(void)
{
    unsigned int i;
    int sts = pmdaTreeCreate(&names);

    for (i = 0; sts >= 0 && i < 3; i++) {
	char name[64];

	snprintf(name, sizeof(name), "dynamic.colour.%s", colours[i]);
	sts = pmdaTreeInsert(names, metrics[i].m_desc.pmid, name);
    }
    if (sts >= 0)
	pmdaTreeRebuildHash(names, 3);
    return sts;
}

static int
pmid(const char *name, pmID *id, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreePMID(names, name, id);
}

static int
name(pmID id, char ***set, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreeName(names, id, set);
}

static int
children(const char *parent, int traverse, char ***offspring, int **status, pmdaExt *ext)
{
    (void)ext;
    return pmdaTreeChildren(names, parent, traverse, offspring, status);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    atom->ul = 0xff0000u >> (8 * pmID_item(metric->m_desc.pmid));
    return PMDA_FETCH_STATIC;
}

int
main(int argc, char **argv)
{
    pmdaInterface dispatch;
    unsigned int i;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "dynamic.log", NULL);
    pmdaOpenLog(&dispatch);
    dispatch.version.four.pmid = pmid;
    dispatch.version.four.name = name;
    dispatch.version.four.children = children;
    pmdaSetFetchCallBack(&dispatch, value);
    for (i = 0; i < 3; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(0, i);
	metrics[i].m_desc.type = PM_TYPE_U32;
	metrics[i].m_desc.indom = PM_INDOM_NULL;
	metrics[i].m_desc.sem = PM_SEM_DISCRETE;
    }
    pmdaInit(&dispatch, NULL, 0, metrics, 3);
    if ((dispatch.status = build()) < 0)
	pmNotifyErr(LOG_ERR, "dynamic: %s", pmErrStr(dispatch.status));
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
