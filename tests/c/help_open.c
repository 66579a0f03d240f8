/*
 * pmdaOpenHelp on good, missing, damaged and odd pairs, as far as the C library survives them.
 * HELP-6 HELP-11 HELP-12 HELP-20 HELP-21 HELP-22 and the table of section 3.
 */
#include <sys/stat.h>
#include "help_fixture.h"

static const char pages[] = "PcPh22\n\n@ x one\0long";

static void
attempt(const char *name)
{
    int handle = pmdaOpenHelp(name);

    printf("open %.20s: %d\n", name, handle);
    if (handle < 0)
	return;
    help_metric(handle, PMID(1, 2, 3), PM_TEXT_ONELINE);
    help_metric(handle, PMID(1, 2, 3), PM_TEXT_HELP);
    help_indom(handle, INDOM(1, 2), PM_TEXT_HELP);
    pmdaCloseHelp(handle);
    help_metric(handle, PMID(1, 2, 3), PM_TEXT_HELP);
    help_table(1);
}

int
main(void)
{
    static const char nothing[4096];
    const help_record entry = { { PMID(1, 2, 3), 12, 16 } };
    const help_record far[] = { entry, { { PMID(1, 2, 4), 100, 100 } } };
    help_record header;
    char name[8192];

    attempt("missing");
    printf("table after a failed open: %s\n", __pmdaHelpTab() ? "set" : "NULL");
    help_table(1);

    help_write_dir("nopag", 1, &entry, 1, 0);
    attempt("nopag");

    help_write("nodir", "pag", pages, sizeof(pages));
    attempt("nodir");

    help_write_dir("good", 1, &entry, 1, 0);
    help_write("good", "pag", pages, sizeof(pages));
    attempt("good");

    help_write_dir("unterminated", 1, &entry, 1, 0);
    help_write("unterminated", "pag", pages, sizeof(pages) - 1);
    attempt("unterminated");

    help_write_dir("none", 0, NULL, 0, 0);
    help_write("none", "pag", pages, 7);
    attempt("none");

    help_write("emptydir", "dir", "", 0);
    help_write("emptydir", "pag", pages, sizeof(pages));
    attempt("emptydir");

    help_write("short", "dir", "hPcP", 4);
    help_write("short", "pag", pages, sizeof(pages));
    attempt("short");

    help_write_dir("eleven", 0, NULL, 0, 11);
    help_write("eleven", "pag", pages, sizeof(pages));
    attempt("eleven");

    help_write("zeros", "dir", nothing, sizeof(nothing));
    help_write("zeros", "pag", nothing, sizeof(nothing));
    attempt("zeros");

    header = (help_record){ { HELP_MAGIC + 1, HELP_VERSION, 0 } };
    help_write("magic", "dir", &header, sizeof(header));
    help_write("magic", "pag", pages, sizeof(pages));
    attempt("magic");

    header = (help_record){ { __builtin_bswap32(HELP_MAGIC), __builtin_bswap32(HELP_VERSION), 0 } };
    help_write("swapped", "dir", &header, sizeof(header));
    help_write("swapped", "pag", pages, sizeof(pages));
    attempt("swapped");

    header = (help_record){ { HELP_MAGIC, 0x31310000, 0 } };
    help_write("version1", "dir", &header, sizeof(header));
    help_write("version1", "pag", pages, sizeof(pages));
    attempt("version1");

    header = (help_record){ { HELP_MAGIC, HELP_VERSION | 0xffff, 0 } };
    help_write("lowhalf", "dir", &header, sizeof(header));
    help_write("lowhalf", "pag", pages, sizeof(pages));
    attempt("lowhalf");

    help_write_dir("longer", 1, far, 2, 0);
    help_write("longer", "pag", pages, sizeof(pages));
    attempt("longer");

    help_write_dir("allones", 0xffffffff, &entry, 1, 0);
    help_write("allones", "pag", pages, sizeof(pages));
    attempt("allones");

    help_write_dir("emptypag", 1, &entry, 1, 0);
    help_write("emptypag", "pag", "", 0);
    attempt("emptypag");

    mkdir("dirs.dir", 0777);
    help_write("dirs", "pag", pages, sizeof(pages));
    attempt("dirs");

    help_write_dir("pagdir", 1, &entry, 1, 0);
    mkdir("pagdir.pag", 0777);
    attempt("pagdir");

    attempt("good.dir/x");
    attempt("");
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    attempt(name);
    name[300] = '\0';
    attempt(name);

    /* closing what is not open */
    pmdaCloseHelp(0);
    pmdaCloseHelp(-1);
    pmdaCloseHelp(1);
    pmdaCloseHelp(12345);
    pmdaCloseHelp(-2147483647 - 1);
    attempt("good");
    help_table(1);
    return 0;
}
