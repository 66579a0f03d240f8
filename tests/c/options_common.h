/* Runs a command line through the option functions, and shows all that they change. */
#ifndef OPTIONS_COMMON_H
#define OPTIONS_COMMON_H

#include "setup.h"

static inline void
options_agent(const pmdaInterface *table, const pmdaOptions *opts)
{
    const pmdaExt *ext = table->version.any.ext;

    printf("  agent: domain %d/%d io %d port %d sockname %s log %s help %s status %d\n", table->domain, ext->e_domain, (int)ext->e_io,
	ext->e_port, setup_text(ext->e_sockname), setup_text(ext->e_logfile), setup_text(ext->e_helptext), table->status);
    if (opts)
	printf("  opts: version %d flags 0x%x errors %d username %s\n", opts->version, opts->flags, opts->errors,
	    setup_text(opts->username));
}

static inline int
options_count(char **argv)
{
    int argc = 0;

    while (argv[argc])
	argc++;
    return argc;
}

/* The command line as given or, afterwards, as reordered. */
static inline void
options_line(const char *what, char **argv)
{
    printf("%s:", what);
    for (; *argv; argv++)
	printf(" [%s]", *argv);
    printf("\n");
}

static inline void
options_run(pmdaInterface *table, pmdaOptions *opts, char **argv)
{
    int argc = options_count(argv), c, ends = 0, calls = 0;

    options_line("line", argv);
    while (ends < 2 && calls++ < 40) {
	c = pmdaGetOptions(argc, argv, opts, table);
	printf("  %d '%c' index %d optind %d opterr %d optopt %d optarg %s errors %d\n", c, c > 32 && c < 127 ? c : ' ', opts->index,
	    opts->optind, opts->opterr, opts->optopt, setup_text(c == EOF ? NULL : opts->optarg), opts->errors);
	ends += c == EOF;
    }
    options_line("  now", argv);
    options_agent(table, opts);
    printf("  globals: optind %d opterr %d optopt %d optarg %s\n", optind, opterr, optopt, setup_text(optarg));
    pmflush();
    fflush(stderr);
}

#define OPTIONS_ARGV(...) (char *[]){ "agent-x", __VA_ARGS__ __VA_OPT__(,) NULL }

#endif
