/*
 * NULL where a structure belongs, and options without the argument that they need: nothing happens.
 * c-library: not run, it dies of each one
 * INIT-20 INIT-24 INIT-25 INIT-30 INIT-40 INIT-46 INIT-47 INIT-48 INIT-49 INIT-50 INIT-51
 */
#include "options_common.h"

int
main(void)
{
    char **argv = OPTIONS_ARGV("-d", "-D", "-i", "-l", "-h");
    pmdaOptions opts = { .short_options = "dDilh" };
    pmdaInterface table;
    pmdaExt zeroed;
    int errors = 0, here;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    pmdaDaemon(NULL, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
    pmdaDSO(NULL, PMDA_INTERFACE_7, "agent", NULL);
    pmdaInterfaceMoved(NULL);
    pmdaOpenLog(NULL);
    pmdaInit(NULL, NULL, 0, NULL, 0);
    pmdaRehash(NULL, NULL, 0);
    pmdaSetFlags(NULL, 1);
    pmdaExtSetFlags(NULL, 1);
    pmdaSetCommFlags(NULL, 1);
    pmdaSetData(NULL, &here);
    pmdaExtSetData(NULL, &here);
    printf("data %d\n", pmdaExtGetData(NULL) == NULL);
    pmdaSetResultCallBack(NULL, NULL);
    pmdaSetFetchCallBack(NULL, setup_fetch);
    pmdaSetCheckCallBack(NULL, NULL);
    pmdaSetDoneCallBack(NULL, NULL);
    pmdaSetEndContextCallBack(NULL, NULL);
    pmdaSetLabelCallBack(NULL, NULL);
    pmdaUsageMessage(NULL);
    printf("options %d\n", pmdaGetOptions(0, NULL, NULL, NULL));
    printf("options %d, errors %d\n", pmdaGetOpt(0, NULL, NULL, NULL, &errors), errors);
    printf("profile %d", pmdaProfile(NULL, NULL));
    printf(" store %d\n", pmdaStore(NULL, NULL));

    /* Never set up: there is no extension. */
    memset(&table, 0, sizeof(table));
    table.comm.pmda_interface = PMDA_INTERFACE_7;
    pmdaInterfaceMoved(&table);
    pmdaOpenLog(&table);
    pmdaSetFlags(&table, 1);
    pmdaSetData(&table, &here);
    pmdaSetFetchCallBack(&table, setup_fetch);
    printf("status %d\n", table.status);
    pmdaInit(&table, NULL, 0, NULL, 0);
    printf("status %d\n", table.status);

    /* An extension of the caller's own. */
    memset(&zeroed, 0, sizeof(zeroed));
    pmdaExtSetFlags(&zeroed, PMDA_EXT_FLAG_DIRECT);
    pmdaExtSetData(&zeroed, &here);
    printf("flags 0x%x data %d\n", zeroed.e_flags, pmdaExtGetData(&zeroed) == NULL);

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    options_run(&table, &opts, argv);
    return 0;
}
