/*
 * Help databases that lie about their size or point outside: refused at open, or the one text is missing; the
 * C library accepts them and dies with a signal at the lookup. HELP-30 HELP-31 HELP-33 H-3 H-4 H-6
 */
#include <dirent.h>
#include "help_fixture.h"

static void
attempt(const char *name, uint32_t count, const help_record *records, int have)
{
    int handle;

    help_write_dir(name, count, records, have, 0);
    help_write(name, "pag", help_pages, sizeof(help_pages));
    handle = pmdaOpenHelp(name);
    printf("open %s: %d\n", name, handle);
    help_remove(name);
    if (handle < 0)
	return;
    help_metric(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);
    help_metric(handle, PMID(9, 0, 0), PM_TEXT_HELP);
    help_indom(handle, INDOM(9, 0), PM_TEXT_ONELINE);
    help_indom(handle, INDOM(9, 0), PM_TEXT_HELP);
    pmdaCloseHelp(handle);
}

static int
descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(directory) != NULL)
	count++;
    closedir(directory);
    return count;
}

int
main(void)
{
    uint32_t far = sizeof(help_pages);
    const help_record good = { { PMID(9, 0, 0), help_offset("first"), help_offset("long text of a") } };
    const help_record outside[] = {
	{ { PMID(9, 0, 0), help_offset("first"), far } },
	{ { HELP_INDOM | INDOM(9, 0), 0xffffffff, help_offset("long indom zero") } },
    };
    const help_record zeros[3] = { good };
    const help_record edge[] = { { { PMID(9, 0, 0), far - 1, far - 2 } } };
    int before = descriptors();
    int handle;
    const char *text;

    attempt("good", 1, &good, 1);
    attempt("one_missing", 2, &good, 1);
    attempt("many_missing", 100000, &good, 1);
    attempt("top_bit", 0x80000001, &good, 1);
    attempt("wraps", 0x15555555, &good, 1);
    attempt("largest", 0x7fffffff, &good, 1);
    attempt("outside", 2, outside, 2);
    attempt("zeros", 3, zeros, 3);
    attempt("edge", 1, edge, 1);
    printf("open NULL: %d\n", pmdaOpenHelp(NULL));
    printf("descriptors left open: %d\n", descriptors() - before);

    /* newhelp runs again while the agent is up */
    help_write_good("good");
    handle = pmdaOpenHelp("good");
    text = pmdaGetHelp(handle, PMID(9, 0, 0), PM_TEXT_HELP);
    help_write("good", "pag", "", 0);
    help_write("good", "dir", "", 0);
    printf("rewritten: %d %s\n", handle, text);
    help_metric(handle, PMID(9, 0, 0), PM_TEXT_ONELINE);
    help_remove("good");
    return 0;
}
