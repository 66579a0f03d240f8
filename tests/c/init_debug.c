/*
 * The lines of pmdaInit, pmdaRehash and the setters under -Dlibpmda.
 * INIT-42 INIT-44 INIT-46 FETCH-112
 */
#include "setup.h"

#define METRIC(item, indom) { NULL, { PMDA_PMID(0, item), PM_TYPE_32, indom, PM_SEM_INSTANT, { 0 } } }

int
main(void)
{
    static const int flags[] = { 0, PMDA_EXT_FLAG_DIRECT, PMDA_EXT_FLAG_HASHED | 0x1a0, -2147483647 - 1 };
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    pmSetDebug("libpmda");
    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
	static pmdaInstid set[] = { { 0, "a" } };
	pmdaIndom indoms[] = { { 3, 1, set }, { 9, 0, NULL } };
	pmdaMetric metrics[] = { METRIC(0, 9), METRIC(1, PM_INDOM_NULL), METRIC(5, 3) };
	pmdaInterface table;

	setup_daemon(&table, PMDA_INTERFACE_7, 30);
	pmdaSetFlags(&table, flags[i]);
	pmdaExtSetFlags(table.version.any.ext, flags[i]);
	pmdaSetCommFlags(&table, PMDA_FLAG_AUTHORIZE);
	pmdaSetData(&table, NULL);
	pmdaSetData(&table, (void *)0x12340);
	pmdaSetEndContextCallBack(&table, NULL);
	pmdaInterfaceMoved(&table);
	printf("flags 0x%x\n", table.version.any.ext->e_flags);
	pmdaInit(&table, indoms, 2, metrics, 2);
	printf("three metrics\n");
	pmdaInit(&table, indoms, 2, metrics, 3);
	printf("nothing\n");
	pmdaInit(&table, NULL, 0, NULL, 0);
	pmdaRehash(table.version.any.ext, metrics, 3);
    }
    return 0;
}
