/*
 * pmdaGetOpt: one state for the process, getopt's global variables as the result.
 * INIT-24 INIT-20 INIT-21
 */
#include "options_common.h"

static void
step(pmdaInterface *table, char **argv, const char *letters, int *errors)
{
    int c = pmdaGetOpt(options_count(argv), argv, letters, table, errors);

    printf("  %d '%c' err %d optind %d opterr %d optopt %d optarg %s\n", c, c > 32 && c < 127 ? c : ' ', *errors, optind, opterr, optopt,
	setup_text(c == EOF ? NULL : optarg));
}

int
main(void)
{
    char **argv = OPTIONS_ARGV("-d", "77", "-v", "-U", "me", "-q", "-i", "5", "-p", "-lfile", "-c", "3", "-d", "x", "rest", "-v");
    char **other = OPTIONS_ARGV("-d", "88", "-v", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "-d", "99", "-v");
    pmdaInterface table, second;
    int errors = 5, i;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    setup_daemon(&table, PMDA_INTERFACE_5, 30);
    setup_daemon(&second, PMDA_INTERFACE_5, 31);
    second.status = -3;
    optind = 3;
    opterr = 7;
    step(&second, argv, "d:v", &errors);
    second.status = 0;
    second.comm.pmda_interface = 9;
    step(&second, argv, "d:v", &errors);
    second.comm.pmda_interface = PMDA_INTERFACE_5;
    optind = 3;
    opterr = 7;
    for (i = 0; i < 10; i++)
	step(&table, argv, "D:d:h:i:l:pu:U:c:v", &errors);
    options_line("now", argv);
    options_agent(&table, NULL);
    options_agent(&second, NULL);
    for (i = 0; i < 3; i++)
	step(&second, other, "d:v", &errors);
    options_agent(&second, NULL);
    pmflush();
    return 0;
}
