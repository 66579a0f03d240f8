/*
 * The messages of pmdaRootConnect when it gets no socket. ROOT-30
 */
#include <stdio.h>
#include <sys/resource.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

int
main(void)
{
    struct rlimit none = { 0, 0 };

    pmSetProgname("tester");
    pmSetDebug("libpmda");
    setrlimit(RLIMIT_NOFILE, &none);
    printf("root: %d\n", pmdaRootConnect("root.socket"));
    return 0;
}
