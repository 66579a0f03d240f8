/*
 * pmdaSetFlags, pmdaExtSetFlags, pmdaSetCommFlags, pmdaSetData, pmdaExtSetData, pmdaExtGetData.
 * INIT-47 INIT-48 INIT-49
 */
#include "setup.h"

int
main(void)
{
    static const int interfaces[] = { 2, 4, 7, 0, 1, 8, 255 };
    static const int flags[] = { PMDA_EXT_FLAG_HASHED, 0, PMDA_EXT_LABEL_CHANGE, PMDA_EXT_NAMES_CHANGE, 0x40000000, -1 };
    static const int comm[] = { PMDA_FLAG_AUTHORIZE, 0, PMDA_FLAG_CONTAINER, 0x10000, 0x18001, -1 };
    pmdaInterface table, other;
    int here, there;
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++) {
	setup_daemon(&table, PMDA_INTERFACE_7, 30);
	table.comm.pmda_interface = interfaces[i];
	printf("interface %d\n", interfaces[i]);
	pmdaSetFlags(&table, PMDA_EXT_FLAG_DIRECT);
	printf("  flags 0x%x status %d\n", table.version.any.ext->e_flags, table.status);
	table.status = 0;
	pmdaSetData(&table, &here);
	printf("  data %d status %d\n", pmdaExtGetData(table.version.any.ext) == &here, table.status);
	table.status = 0;
	pmdaSetCommFlags(&table, PMDA_FLAG_AUTHORIZE);
	printf("  comm flags 0x%x interface %d pmapi %d status %d\n", table.comm.flags, table.comm.pmda_interface,
	    table.comm.pmapi_version, table.status);
    }

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
	setup_daemon(&other, PMDA_INTERFACE_7, 31);
	pmdaSetFlags(&table, flags[i]);
	pmdaExtSetFlags(other.version.any.ext, flags[i]);
	printf("flags 0x%x: 0x%x 0x%x\n", flags[i], table.version.any.ext->e_flags, other.version.any.ext->e_flags);
    }
    table.comm.flags = 0;
    for (i = 0; i < sizeof(comm) / sizeof(comm[0]); i++) {
	pmdaSetCommFlags(&table, comm[i]);
	printf("comm flags 0x%x: 0x%x interface %d pmapi %d\n", comm[i], table.comm.flags, table.comm.pmda_interface,
	    table.comm.pmapi_version);
    }

    setup_daemon(&table, PMDA_INTERFACE_3, 30);
    setup_daemon(&other, PMDA_INTERFACE_3, 31);
    printf("data at first %d\n", pmdaExtGetData(table.version.any.ext) == NULL);
    pmdaSetData(&table, &here);
    pmdaExtSetData(other.version.any.ext, &there);
    printf("one each %d", pmdaExtGetData(table.version.any.ext) == &here);
    printf(" %d\n", pmdaExtGetData(other.version.any.ext) == &there);
    pmdaExtSetData(table.version.any.ext, &there);
    pmdaSetData(&other, NULL);
    printf("replaced %d", pmdaExtGetData(table.version.any.ext) == &there);
    printf(" %d\n", pmdaExtGetData(other.version.any.ext) == NULL);
    return 0;
}
