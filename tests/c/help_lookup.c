/*
 * pmdaGetHelp and pmdaGetInDomHelp on a good pair: keys, duplicates, text types, handles out of range.
 * HELP-1 HELP-2 HELP-3 HELP-4 HELP-5 HELP-7 HELP-10 HELP-13 HELP-25 HELP-26 HELP-27 HELP-28 HELP-29 HELP-32 HELP-40 HELP-41
 * HELP-42 H-7
 */
#include "help_fixture.h"

int
main(void)
{
    static const int types[] = { 0, 1, 2, 3, 4, 5, 8, 10, 16, 17, 18, -1, -2 };
    static const int handles[] = { -1, 1, 2, 1000, -2147483647 - 1, 2147483647 };
    const help_slot *table;
    const char *kept;
    unsigned int i;
    int handle;

    printf("table before the first open: %s\n", __pmdaHelpTab() ? "set" : "NULL");
    help_metric(0, PMID(9, 0, 0), PM_TEXT_HELP);
    help_indom(0, INDOM(9, 0), PM_TEXT_HELP);
    help_write_good("good");
    handle = pmdaOpenHelp("good");
    printf("open: %d\n", handle);
    help_table(1);

    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
	help_metric(handle, PMID(9, 0, 0), types[i]);
	help_indom(handle, INDOM(9, 0), types[i]);
    }
    for (i = 0; i < 2; i++) {
	int type = i ? PM_TEXT_ONELINE : PM_TEXT_HELP;

	help_metric(handle, PMID(9, 0, 1), type);
	help_metric(handle, PMID(9, 1, 0), type);
	help_metric(handle, PMID(9, 2, 0), type);
	help_metric(handle, PMID(8, 0, 0), type);
	/* a metric argument with the flag bit finds instance domains, from the front */
	help_metric(handle, HELP_INDOM | INDOM(9, 0), type);
	help_metric(handle, PM_ID_NULL, type);
	/* an instance domain argument may bring the flag bit along, from the back */
	help_indom(handle, HELP_INDOM | INDOM(9, 0), type);
	help_indom(handle, INDOM(9, 4), type);
	help_indom(handle, PMID(9, 0, 1), type);
	help_indom(handle, PM_INDOM_NULL, type);
    }
    for (i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
	help_metric(handles[i], PMID(9, 0, 0), PM_TEXT_HELP);
	help_indom(handles[i], INDOM(9, 0), PM_TEXT_HELP);
    }

    /* what chkhelp does: walk the index through the table, and the texts are where the offsets say */
    table = __pmdaHelpTab();
    printf("header %08x %08x %u\n", table->index[0].words[0], table->index[0].words[1], table->index[0].words[2]);
    for (i = 1; i <= (unsigned int)table->numidx; i++)
	printf("entry %u: key %08x, \"%s\"\n", i, table->index[i].words[0], table->text + table->index[i].words[1]);
    kept = pmdaGetHelp(handle, PMID(9, 0, 0), PM_TEXT_HELP);
    printf("offset %d\n", (int)(kept - table->text) == (int)help_offset("long text of a"));

    /* opening more files keeps the text where it is */
    for (i = 0; i < 40; i++)
	handle = pmdaOpenHelp("good");
    printf("last handle %d, text kept %d: %s\n", handle,
	kept == pmdaGetHelp(0, PMID(9, 0, 0), PM_TEXT_HELP), kept);
    help_metric(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);
    help_table(41);
    return 0;
}
