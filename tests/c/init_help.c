/*
 * pmdaInit opens the help database of the agent and says so when it cannot.
 * INIT-43 HELP-14
 */
#include "help_fixture.h"
#include "setup.h"

int
main(void)
{
    static const char text[] = "short\0long";
    const help_record record = { { pmID_build(30, 0, 0), 0, 6 } };
    static const char *const paths[] = { "help", "missing", "", "no/such/help", "help.dir" };
    pmdaMetric metric = { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } };
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    help_write_dir("help", 1, &record, 1, 0);
    help_write("help", "pag", text, sizeof(text));
    for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
	pmdaInterface table;
	char *buffer = NULL;
	int sts;

	memset(&table, 0, sizeof(table));
	pmdaDaemon(&table, PMDA_INTERFACE_7, "agent", 30, NULL, paths[i]);
	pmdaSetFetchCallBack(&table, setup_fetch);
	pmdaInit(&table, NULL, 0, &metric, 1);
	printf("%s: status %d, help %d\n", paths[i], table.status, table.version.any.ext->e_help);
	sts = pmdaText(metric.m_desc.pmid, PM_TEXT_PMID | PM_TEXT_ONELINE, &buffer, table.version.any.ext);
	printf("  text %d %s\n", sts, sts >= 0 ? buffer : "");
	pmdaInit(&table, NULL, 0, &metric, 1);
	printf("  again: status %d, help %d\n", table.status, table.version.any.ext->e_help);
    }
    help_remove("help");
    return 0;
}
