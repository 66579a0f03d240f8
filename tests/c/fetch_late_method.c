/*
 * A daemon that exchanges its desc method after pmdaInit, and fetches outside of the main loop: the method of the moment
 * describes metrics that are not in the table. FETCH-21 MAIN-56
 * memory: nothing is lost on ours
 */
#include "setup.h"

static pmdaMetric metric = { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } };

static int
late_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    (void)ext;
    printf("late desc %s\n", pmIDStr(pmid));
    memset(desc, 0, sizeof(*desc));
    desc->pmid = pmid;
    desc->type = PM_TYPE_32;
    desc->indom = PM_INDOM_NULL;
    return 0;
}

int
main(void)
{
    pmID pmids[] = { pmID_build(30, 0, 0), pmID_build(30, 0, 9) };
    pmdaInterface table;
    pmdaResult *result;
    int round, sts;

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    table.version.any.text = NULL;
    pmdaInit(&table, NULL, 0, &metric, 1);
    for (round = 0; round < 3; round++) {
	sts = pmdaFetch(2, pmids, &result, table.version.any.ext);
	printf("fetch %d: %d and %d\n", sts, result->vset[0]->numval, result->vset[1]->numval);
	table.version.any.ext->e_resultCallBack(result);
	table.version.any.desc = round == 0 ? late_desc : pmdaDesc;
    }
    return 0;
}
