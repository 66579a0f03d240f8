/*
 * pmdaInit: every check, in its order, with its line in the log; a status from before is not looked at.
 * INIT-40 INIT-43 INIT-45
 */
#include "setup.h"

static int
own_fetch(int count, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    (void)count;
    (void)pmids;
    (void)result;
    (void)ext;
    return PM_ERR_PMID;
}

static int
own_text(int ident, int kind, char **text, pmdaExt *ext)
{
    (void)ident;
    (void)kind;
    (void)text;
    (void)ext;
    return PM_ERR_TEXT;
}

static pmdaMetric metrics[2] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
    { NULL, { PMDA_PMID(0, 1), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
};
static pmdaInstid set[] = { { 0, "a" } };
static pmdaIndom indoms[1] = { { 0, 1, set } };

static void
init(const char *what, pmdaInterface *table, pmdaIndom *idp, int nindoms, pmdaMetric *mp, int nmetrics)
{
    printf("%s\n", what);
    pmdaInit(table, idp, nindoms, mp, nmetrics);
    printf("  status %d, e_status %d, help %d, %d metrics, %d indoms, direct %d\n", table->status, table->version.any.ext->e_status,
	table->version.any.ext->e_help, table->version.any.ext->e_nmetrics, table->version.any.ext->e_nindoms,
	table->version.any.ext->e_direct);
}

int
main(void)
{
    static const int interfaces[] = { 0, 1, 8, 255 };
    pmdaInterface table;
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++) {
	setup_daemon(&table, PMDA_INTERFACE_7, 30);
	table.comm.pmda_interface = interfaces[i];
	init("interface", &table, indoms, -1, metrics, -1);
    }
    for (i = 2; i <= 7; i++) {
	setup_daemon(&table, i, 31);
	init("good", &table, indoms, 1, metrics, 2);
    }

    setup_daemon(&table, PMDA_INTERFACE_7, 32);
    pmdaSetFetchCallBack(&table, NULL);
    init("no callback, and all the rest wrong", &table, NULL, -1, NULL, -1);
    table.version.any.fetch = own_fetch;
    init("no callback needed", &table, indoms, 1, metrics, 2);
    table.version.any.fetch = NULL;
    init("no fetch method", &table, indoms, 1, metrics, 2);

    setup_daemon(&table, PMDA_INTERFACE_7, 33);
    init("negative metrics", &table, indoms, -1, metrics, -5);
    init("negative metrics without a table", &table, indoms, 1, NULL, -2147483647 - 1);
    init("negative indoms", &table, indoms, -1, NULL, 1);
    init("no metrics table", &table, NULL, 1, NULL, 1);
    init("metrics but no count", &table, indoms, 1, (pmdaMetric *)0x1234560, 0);
    init("no indoms table", &table, NULL, 1, metrics, 2);
    init("indoms but no count", &table, (pmdaIndom *)0x1234560, 0, metrics, 2);
    table.status = -7;
    init("good after all", &table, indoms, 1, metrics, 2);
    table.status = 5;
    init("nothing at all", &table, NULL, 0, NULL, 0);
    init("no indoms", &table, NULL, 0, metrics, 2);
    init("no metrics", &table, indoms, 1, NULL, 0);

    table.version.any.ext->e_status = 42;
    init("a status of the agent's", &table, indoms, 1, metrics, 2);
    table.version.any.ext->e_status = PM_ERR_PMDANOTREADY;
    init("a bad status of the agent's", &table, indoms, 1, metrics, 2);

    setup_daemon(&table, PMDA_INTERFACE_7, 34);
    table.version.any.text = own_text;
    init("own text, no help", &table, indoms, 1, metrics, 2);
    table.version.any.ext->e_helptext = "missing/help";
    init("own text, missing help", &table, indoms, 1, metrics, 2);
    table.version.any.text = NULL;
    table.version.any.ext->e_helptext = NULL;
    init("no text method, no help", &table, indoms, 1, metrics, 2);
    table.version.any.ext->e_helptext = "";
    init("empty help path", &table, indoms, 1, metrics, 2);
    return 0;
}
