/*
 * pmdaOpenLog without a log file: nothing happens. The C library dies.
 * INIT-31 MAIN-51
 */
#include "setup.h"

int
main(void)
{
    pmdaInterface table;

    setvbuf(stdout, NULL, _IONBF, 0);
    memset(&table, 0, sizeof(table));
    pmdaDSO(&table, PMDA_INTERFACE_7, "agent", NULL);
    pmdaOpenLog(&table);
    printf("a DSO has no log file: status %d\n", table.status);
    pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, NULL);
    pmdaOpenLog(&table);
    printf("nor has this daemon: status %d\n", table.status);
    fprintf(stderr, "stderr is what it was\n");
    return 0;
}
