/*
 * pmdaGetOptions: the options that every agent has, one by one and against each other.
 * INIT-3 INIT-20 INIT-21 INIT-22 INIT-23 MAIN-50
 */
#include "options_common.h"

static pmLongOptions longs[] = {
    PMDA_OPTIONS_HEADER("Options"),
    PMDAOPT_DEBUG,
    PMDAOPT_DOMAIN,
    PMDAOPT_HELPTEXT,
    PMDAOPT_INET,
    PMDAOPT_LOGFILE,
    PMDAOPT_PIPE,
    PMDAOPT_UNIX,
    PMDAOPT_USERNAME,
    PMDAOPT_IPV6,
    { "count", 1, 'c', "N", "a number" },
    { "verbose", 0, 'v', NULL, "say more" },
    { "version-only", 0, 1000, NULL, "no letter" },
    PMDA_OPTIONS_END
};

static void
run(char **argv)
{
    pmdaInterface table;
    pmdaOptions opts = { .short_options = "c:D:d:h:i:l:pu:U:6:vx", .long_options = longs };

    setup_daemon(&table, PMDA_INTERFACE_7, 30);
    options_run(&table, &opts, argv);
}

int
main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    optind = 17;
    opterr = 5;
    optopt = 'z';
    run(OPTIONS_ARGV());
    run(OPTIONS_ARGV("-d", "250", "-l", "x.log", "-h", "help/x"));
    run(OPTIONS_ARGV("-d250", "-lx.log", "-hhelp/x", "-d", "251"));
    run(OPTIONS_ARGV("-d", "12abc", "-d", "abc", "-d", ""));
    run(OPTIONS_ARGV("-d", "-5", "-d", " 7", "-d", "7 ", "-d", "0x10"));
    run(OPTIONS_ARGV("-d", "4294967299"));
    run(OPTIONS_ARGV("-d", "99999999999999999999"));
    run(OPTIONS_ARGV("-D", "fetch,pdu", "-D", "nonsense,x"));
    run(OPTIONS_ARGV("-p"));
    run(OPTIONS_ARGV("-p", "-p"));
    run(OPTIONS_ARGV("-i", "1234"));
    run(OPTIONS_ARGV("-i", "name"));
    run(OPTIONS_ARGV("-i", "12name"));
    run(OPTIONS_ARGV("-i", ""));
    run(OPTIONS_ARGV("-i", "name", "-i", "4321"));
    run(OPTIONS_ARGV("-6", "1234"));
    run(OPTIONS_ARGV("-6", "name", "-6", "name2"));
    run(OPTIONS_ARGV("-u", "/socket", "-u", "/other"));
    run(OPTIONS_ARGV("-i", "1", "-p", "-u", "/socket", "-6", "2", "-i", "3"));
    run(OPTIONS_ARGV("-p", "-i", "1", "-u", "/socket", "-6", "2"));
    run(OPTIONS_ARGV("-u", "/socket", "-p", "-i", "1", "-6", "2"));
    run(OPTIONS_ARGV("-6", "1", "-p", "-u", "/socket", "-i", "2"));
    run(OPTIONS_ARGV("-U", "somebody", "-U", ""));
    run(OPTIONS_ARGV("-c", "5", "-v", "-x"));
    run(OPTIONS_ARGV("-vxvd", "9", "-q", "-vq"));
    run(OPTIONS_ARGV("-d"));
    run(OPTIONS_ARGV("-c"));
    run(OPTIONS_ARGV("-?"));
    run(OPTIONS_ARGV("a", "-v", "b", "-d", "9", "c"));
    run(OPTIONS_ARGV("a", "-v", "--", "b", "-d", "9", "c"));
    run(OPTIONS_ARGV("-", "-v"));
    run(OPTIONS_ARGV("--domain", "77", "--domain=78", "--log=long.log", "--helpfile=long/help"));
    run(OPTIONS_ARGV("--domain=x7"));
    run(OPTIONS_ARGV("--dom=5", "--verb", "--vers", "--count", "7"));
    run(OPTIONS_ARGV("--ver"));
    run(OPTIONS_ARGV("--d=5"));
    run(OPTIONS_ARGV("--nonsense", "--verbose=5", "--count"));
    run(OPTIONS_ARGV("--inet=1", "--pipe", "--ipv6=5", "--unix=/s", "--username=me", "--debug=pdu"));
    run(OPTIONS_ARGV("--version-only"));
    return 0;
}
