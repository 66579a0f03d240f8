/*
 * pmdaDaemon tells libpcp that the process is below the PMAPI, pmdaDSO does not; the stock result callback frees the
 * values of a result, and the address of a stock method is the same for the program as for the library.
 * INIT-10 INIT-11 INIT-12 INIT-40 INIT-43 MAIN-21 FETCH-72
 */
#include "setup.h"

/* Stands before libpcp's, which has no way to ask for the state. */
void
__pmSetInternalState(int state)
{
    printf("internal state %d\n", state);
}

int
main(void)
{
    static pmdaMetric metric = { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } };
    pmdaInterface table;
    pmID pmid = pmID_build(30, 0, 0);
    pmdaResult *result;
    int sts;

    setvbuf(stderr, NULL, _IONBF, 0);
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "agent", NULL);
    printf("after pmdaDSO\n");
    pmdaDaemon(&table, 99, "agent", 30, NULL, NULL);
    printf("after a refused pmdaDaemon\n");
    pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
    printf("after pmdaDaemon\n");
    table.version.any.fetch = pmdaFetch;
    table.version.any.text = pmdaText;
    pmdaInit(&table, NULL, 0, &metric, 1);
    printf("no callback: %d\n", table.status);
    pmdaSetFetchCallBack(&table, setup_fetch);
    pmdaInit(&table, NULL, 0, &metric, 1);
    printf("with callback: %d\n", table.status);
    sts = table.version.any.fetch(1, &pmid, &result, table.version.any.ext);
    printf("fetch %d: %d value %d\n", sts, result->vset[0]->numval, result->vset[0]->vlist[0].value.lval);
    table.version.any.ext->e_resultCallBack(result);
    sts = table.version.any.fetch(1, &pmid, &result, table.version.any.ext);
    printf("fetch %d: %d value %d\n", sts, result->vset[0]->numval, result->vset[0]->vlist[0].value.lval);
    table.version.any.ext->e_resultCallBack(result);
    return 0;
}
