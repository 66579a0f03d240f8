/*
 * A handle is the slot that was really used, and a failed open leaves the other handles alone.
 * HELP-10 HELP-11 HELP-12 HELP-43 H-1 H-2 H-5 H-8 H-9
 */
#include "help_fixture.h"

static void
make(const char *name, const char *text)
{
    const help_record record = { { PMID(9, 0, 0), 0, 0 } };

    help_write_dir(name, 1, &record, 1, 0);
    help_write(name, "pag", text, strlen(text) + 1);
}

static void
show(void)
{
    int handle;

    for (handle = 0; handle < 4; handle++)
	help_metric(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);
}

int
main(void)
{
    make("a", "text of a");
    make("b", "text of b");
    make("c", "text of c");
    printf("a: %d\n", pmdaOpenHelp("a"));
    printf("b: %d\n", pmdaOpenHelp("b"));
    pmdaCloseHelp(0);
    printf("missing: %d\n", pmdaOpenHelp("missing"));
    show();
    printf("c: %d\n", pmdaOpenHelp("c"));
    show();
    pmdaCloseHelp(0);
    pmdaCloseHelp(0);
    pmdaCloseHelp(1);
    show();
    printf("b: %d\n", pmdaOpenHelp("b"));
    printf("a: %d\n", pmdaOpenHelp("a"));
    printf("c: %d\n", pmdaOpenHelp("c"));
    show();
    help_table(3);
    help_remove("a");
    help_remove("b");
    help_remove("c");
    return 0;
}
