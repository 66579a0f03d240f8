/*
 * pmdaSet...CallBack: what each interface version takes, NULL included.
 * INIT-50
 */
#include "setup.h"

static void result(pmdaResult *values) { (void)values; }
static int check(void) { return 0; }
static void done(void) { }
static void end(int context) { (void)context; }
static int label(pmInDom indom, unsigned int inst, pmLabelSet **set) { (void)indom; (void)inst; (void)set; return 0; }

static void
show(const char *what, pmdaInterface *table)
{
    const pmdaExt *ext = table->version.any.ext;

    printf("  %s: status %d, set:%s%s%s%s%s%s\n", what, table->status, ext->e_resultCallBack == result ? " result" : "",
	ext->e_fetchCallBack == setup_fetch ? " fetch" : "", ext->e_checkCallBack == check ? " check" : "",
	ext->e_doneCallBack == done ? " done" : "", ext->e_endCallBack == end ? " end" : "", ext->e_labelCallBack == label ? " label" : "");
    table->status = 0;
}

int
main(void)
{
    static const int interfaces[] = { 2, 3, 4, 5, 6, 7, 0, 1, 8, 255 };
    unsigned int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    for (i = 0; i < sizeof(interfaces) / sizeof(interfaces[0]); i++) {
	pmdaInterface table;
	pmdaExt *ext;

	setup_daemon(&table, PMDA_INTERFACE_7, 30);
	ext = table.version.any.ext;
	ext->e_fetchCallBack = NULL;
	table.comm.pmda_interface = interfaces[i];
	printf("interface %d\n", interfaces[i]);
	pmdaSetResultCallBack(&table, result);
	show("result", &table);
	pmdaSetFetchCallBack(&table, setup_fetch);
	show("fetch", &table);
	pmdaSetCheckCallBack(&table, check);
	show("check", &table);
	pmdaSetDoneCallBack(&table, done);
	show("done", &table);
	pmdaSetEndContextCallBack(&table, end);
	show("end", &table);
	pmdaSetLabelCallBack(&table, label);
	show("label", &table);

	ext->e_resultCallBack = result;
	ext->e_fetchCallBack = setup_fetch;
	ext->e_checkCallBack = check;
	ext->e_doneCallBack = done;
	ext->e_endCallBack = end;
	ext->e_labelCallBack = label;
	pmdaSetResultCallBack(&table, NULL);
	show("no result", &table);
	pmdaSetFetchCallBack(&table, NULL);
	show("no fetch", &table);
	pmdaSetCheckCallBack(&table, NULL);
	show("no check", &table);
	pmdaSetDoneCallBack(&table, NULL);
	show("no done", &table);
	pmdaSetEndContextCallBack(&table, NULL);
	show("no end", &table);
	pmdaSetLabelCallBack(&table, NULL);
	show("no label", &table);
    }
    return 0;
}
