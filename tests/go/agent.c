/* What cgo cannot write in Go: tables, and a pointer to the callback. */
#include <stdlib.h>
#include "agent.h"
#include "../c/generation.h"
#include "_cgo_export.h"

pmInDom
agent_indom(void)
{
    return pmInDom_build(DOMAIN, 0);
}

pmdaInterface *
agent_new(void)
{
    static pmdaMetric metrics[2];
    pmdaInterface *dispatch = calloc(1, sizeof(*dispatch));
    int i;

    for (i = 0; i < 2; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(0, i);
	metrics[i].m_desc.type = PM_TYPE_U64;
	metrics[i].m_desc.sem = PM_SEM_INSTANT;
	metrics[i].m_desc.indom = i == 0 ? PM_INDOM_NULL : agent_indom();
    }
    dispatch->domain = DOMAIN;
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "agent in Go", NULL);
    pmdaSetFetchCallBack(dispatch, goFetch);
    pmdaInit(dispatch, NULL, 0, metrics, 2);
    return dispatch->status == 0 ? dispatch : NULL;
}

int
agent_fetch(pmdaInterface *dispatch, unsigned long long *sum)
{
    pmID pmids[2] = { pmID_build(DOMAIN, 0, 0), pmID_build(DOMAIN, 0, 1) };
    pmdaExt *ext = dispatch->version.any.ext;
    pmdaResult *result;
    pmAtomValue atom;
    int i, j, count = 0, sts;

    sts = dispatch->version.any.fetch(2, pmids, &result, ext);
    if (sts < 0)
	return sts;
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];

	for (j = 0; j < set->numval; j++) {
	    sts = pmExtractValue(set->valfmt, &set->vlist[j], PM_TYPE_U64, &atom, PM_TYPE_U64);
	    if (sts < 0)
		return sts;
	    *sum += atom.ull;
	    count++;
	}
    }
    ext->e_resultCallBack(result);
    return count;
}
