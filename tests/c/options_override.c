/*
 * pmdaGetOptions: the agent's own hand in it, tables without letters, POSIX order, refused agents, the usage message.
 * INIT-20 INIT-23 INIT-25
 */
#include "options_common.h"

static pmLongOptions longs[] = {
    PMDA_OPTIONS_HEADER("General options"),
    PMDAOPT_DOMAIN,
    PMDAOPT_PIPE,
    PMDA_OPTIONS_HEADER("Other options"),
    { "verbose", 0, 'v', NULL, "say more" },
    { "count", 1, 1000, "N", "a number" },
    PMDA_OPTIONS_TEXT(""),
    PMDA_OPTIONS_TEXT("A last line."),
    PMDA_OPTIONS_END
};

/* Takes 'd' and 'v' and errors for itself, and lets the rest go on. */
static int
takes(int c, pmdaOptions *opts)
{
    printf("  override %d optarg %s errors %d\n", c, setup_text(opts->optarg), opts->errors);
    if (c == 'e')
	opts->errors += 10;
    return c == 'd' || c == 'v' || c == '?';
}

/* Sees everything and takes nothing. */
static int
sees(int c, pmdaOptions *opts)
{
    printf("  seen %d index %d\n", c, opts->index);
    return 0;
}

static int
negative(int c, pmdaOptions *opts)
{
    (void)opts;
    return c == 'd' ? -1 : 0;
}

static void
run(const char *letters, pmLongOptions *table_of_longs, int flags, pmdaOptionOverride override, char **argv)
{
    pmdaInterface table;
    pmdaOptions opts = { .short_options = letters, .long_options = table_of_longs, .flags = flags, .override = override,
	.short_usage = "[options] file", .version = 99 };

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    options_run(&table, &opts, argv);
}

static void
refused(int status, int interface)
{
    pmdaInterface table;
    pmdaOptions opts = { .short_options = "d:", .version = 99 };

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    table.status = status;
    table.comm.pmda_interface = interface;
    printf("status %d interface %d\n", status, interface);
    options_run(&table, &opts, OPTIONS_ARGV("-d", "5"));
}

int
main(void)
{
    pmdaOptions usage = { .short_options = "d:v", .long_options = longs, .short_usage = "[options] file", .flags = 0 };

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    run("d:ipve", longs, 0, takes, OPTIONS_ARGV("-d", "5", "-v", "-p", "-e", "-q", "-i", "--count=9", "--nope"));
    run("d:pv", longs, 0, sees, OPTIONS_ARGV("-d", "5", "-v", "-p", "-q", "--count=9"));
    run("d:pv", longs, 0, negative, OPTIONS_ARGV("-d", "5", "-v", "-p"));
    run("v", NULL, 0, NULL, OPTIONS_ARGV("-v", "-d", "5", "--domain=7"));
    run("", longs, 0, NULL, OPTIONS_ARGV("-v", "--pipe", "--domain=7"));
    run("+dv", longs, 0, NULL, OPTIONS_ARGV("a", "-v"));
    run("d:v", longs, PM_OPTFLAG_POSIX, NULL, OPTIONS_ARGV("-v", "a", "-d", "5"));
    run("d:v", longs, PM_OPTFLAG_LONG_ONLY, NULL, OPTIONS_ARGV("-domain=5", "-v", "-verbose"));
    refused(0, 1);
    refused(0, 8);
    refused(-1, 7);
    refused(1, 7);
    refused(-1, 9);

    pmprintf("collected before\n");
    pmdaUsageMessage(&usage);
    usage.short_usage = NULL;
    usage.flags = PM_OPTFLAG_POSIX;
    pmdaUsageMessage(&usage);
    return 0;
}
