/*
 * pmdaGetOptions and pmdaGetOpt: every built-in option, clashes, errors, order, the override callback, long options
 * (INIT-3, INIT-20, INIT-21, INIT-22, INIT-23, INIT-24, INIT-25).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static pmLongOptions longopts[] = {
    PMDA_OPTIONS_HEADER("Options"), PMDAOPT_DEBUG, PMDAOPT_DOMAIN, PMDAOPT_HELPTEXT, PMDAOPT_INET, PMDAOPT_IPV6,
    PMDAOPT_LOGFILE, PMDAOPT_PIPE, PMDAOPT_UNIX, PMDAOPT_USERNAME,
    PMDA_OPTIONS_TEXT("Others"), { "extra", 1, 'x', "X", "something of the agent's own" },
    { "only-long", 0, 1001, NULL, "a long option without a letter" }, PMDA_OPTIONS_END
};

static int
override(int c, pmdaOptions *opts)
{
    printf("  override asked for %d %s\n", c, opts->optarg ? opts->optarg : "-");
    return c == 'h';
}

static const char *
text(const char *s)
{
    return s ? s : "null";
}

static void
show(pmdaInterface *d)
{
    pmdaExt *e = d->version.any.ext;

    printf("  domain %d %d help %s log %s io %d port %d sock %s\n", d->domain, e->e_domain, text(e->e_helptext),
	text(e->e_logfile), e->e_io, e->e_port, text(e->e_sockname));
}

static void
options(const char *line, int flags, int with_override)
{
    static char storage[40][256];
    char *argv[40], copy[256], *word;
    int argc = 0, c, i;
    pmdaInterface d;
    pmdaOptions opts;

    memset(&opts, 0, sizeof(opts));
    opts.flags = flags;
    opts.short_options = "D:d:h:i:l:pu:U:6:x:?";
    opts.long_options = longopts;
    opts.short_usage = "[options]";
    opts.override = with_override ? override : NULL;
    printf("options: %s\n", line);
    strcpy(copy, line);
    for (word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
	strcpy(storage[argc], strcmp(word, "EMPTY") == 0 ? "" : word);
	argv[argc] = storage[argc];
	argc++;
    }
    argv[argc] = NULL;
    memset(&d, 0, sizeof(d));
    pmdaDaemon(&d, PMDA_INTERFACE_7, "test", 250, "old.log", "oldhelp");
    optind = 77;
    for (i = 0; i < 10; i++) {
	c = pmdaGetOptions(argc, argv, &opts, &d);
	printf("  -> %d optarg %s index %d optind %d optopt %d errors %d\n", c, text(c == -1 ? NULL : opts.optarg),
	    opts.index, opts.optind, opts.optopt, opts.errors);
	if (c == -1)
	    break;
    }
    printf("  again %d, optind of getopt %d\n", pmdaGetOptions(argc, argv, &opts, &d), optind);
    show(&d);
    printf("  user %s flags %d version %d, arguments now:", text(opts.username), opts.flags, opts.version);
    for (i = 0; i < argc; i++)
	printf(" %s", argv[i]);
    printf("\n");
    fflush(stdout);
    pmflush();
    if (opts.errors && strstr(line, "usage"))
	pmdaUsageMessage(&opts);
}

static void
bad_dispatch(void)
{
    static char *argv[] = { "prog", "-d", "5", NULL };
    pmdaOptions opts;
    pmdaInterface d;
    int err = 3;

    memset(&opts, 0, sizeof(opts));
    opts.short_options = "d:";
    memset(&d, 0, sizeof(d));
    pmdaDaemon(&d, PMDA_INTERFACE_7, "test", 250, NULL, NULL);
    d.status = -1;
    printf("bad status %d", pmdaGetOptions(3, argv, &opts, &d));
    printf(" errors %d\n", opts.errors);
    d.status = 0;
    d.comm.pmda_interface = 8;
    printf("bad interface %d", pmdaGetOptions(3, argv, &opts, &d));
    printf(" errors %d\n", opts.errors);
    printf("getopt, bad interface %d", pmdaGetOpt(3, argv, "d:", &d, &err));
    printf(" err %d\n", err);
}

/* One process-wide state, so one command line only. */
static void
getopt_style(void)
{
    static char *argv[] = { "prog", "-d", "5x", "-U", "joe", "-p", "-i", "44", "-q", "-x", "val", "rest", "-d", "6", NULL };
    pmdaInterface d;
    int c, err = 0, i;

    memset(&d, 0, sizeof(d));
    pmdaDaemon(&d, PMDA_INTERFACE_7, "test", 250, "log", "help");
    optind = 9;
    opterr = 1;
    for (i = 0; i < 12; i++) {
	c = pmdaGetOpt(14, argv, "D:d:h:i:l:pu:U:x:", &d, &err);
	printf("getopt %d optarg %s optind %d opterr %d optopt %d err %d\n", c, text(optarg), optind, opterr, optopt, err);
    }
    show(&d);
    pmflush();
}

int
main(int argc, char **argv)
{
    (void)argc;
    pmSetProgname(argv[0] ? "prog" : NULL);
    bad_dispatch();
    options("prog", 0, 0);
    options("prog -d 12 -h help -l log -U joe -x 1", 0, 0);
    options("prog -d 12x", 0, 0);
    options("prog -d EMPTY", 0, 0);
    options("prog -d -99999", 0, 0);
    options("prog -d 99999999999999999999", 0, 0);
    options("prog -p -p", 0, 0);
    options("prog -i 4000 -i name -i 5000", 0, 0);
    options("prog -i name -i 5000x", 0, 0);
    options("prog -6 4000", 0, 0);
    options("prog -6 name -u path", 0, 0);
    options("prog -u path -u other -i 5 -p", 0, 0);
    options("prog -p -i 5 -6 7 -u x usage", 0, 0);
    options("prog -D nosuchflag", 0, 0);
    options("prog -q -x", 0, 0);
    options("prog --domain=33 --extra=e --only-long --user joe", 0, 0);
    options("prog --dom 44 --nosuch --inet=5", 0, 0);
    options("prog one -d 3 two -x y three", 0, 0);
    options("prog one -d 3 two -x y three", PM_OPTFLAG_POSIX, 0);
    options("prog -d 3 -- -x y", 0, 0);
    options("prog -d 3 -h new -q -x y", 0, 1);
    getopt_style();
    return 0;
}
