/* Numbers of the instances with these names, after those in the file of the domain 253.1, which is written. */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

int
main(int argc, char **argv)
{
    pmInDom	domain = pmInDom_build(253, 1);
    int		i;

    pmdaCacheOp(domain, PMDA_CACHE_LOAD);
    for (i = 1; i < argc; i++)
	printf("%d, %s\n", pmdaCacheStore(domain, PMDA_CACHE_ADD, argv[i], NULL), argv[i]);
    return pmdaCacheOp(domain, PMDA_CACHE_SAVE) < 0;
}
