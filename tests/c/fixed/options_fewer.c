/*
 * pmdaGetOpt for a second agent with fewer arguments than were read for the first one: the end of the options, and an error. libpcp
 * reads behind the list. INIT-24
 */
/* c-library: not run, libpcp reads behind the list of arguments */
#include "../options_common.h"

int
main(void)
{
    char **argv = OPTIONS_ARGV("-d", "77", "-v", "-d", "78", "-v", "rest");
    char **fewer = OPTIONS_ARGV("-v");
    pmdaInterface first, second;
    int errors = 0, i;

    setup_daemon(&first, PMDA_INTERFACE_5, 30);
    setup_daemon(&second, PMDA_INTERFACE_5, 31);
    for (i = 0; i < 3; i++)
	printf("%d", pmdaGetOpt(options_count(argv), argv, "d:v", &first, &errors)), printf(", errors %d\n", errors);
    for (i = 0; i < 2; i++)
	printf("%d", pmdaGetOpt(options_count(fewer), fewer, "d:v", &second, &errors)), printf(", errors %d\n", errors);
    printf("domains %d %d\n", first.domain, second.domain);
    return 0;
}
