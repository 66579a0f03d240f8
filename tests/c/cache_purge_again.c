/*
 * A purge notes the oldest stamp of the instances that it leaves, and a later purge with a later limit culls those: CACHE-62, CACHE-63.
 * The result of the C library's second purge also counts the instances that the first one has culled (DEF-11), so it is not printed.
 */
#include "cache.h"

int
main(void)
{
    domain(1);
    OP(LOAD);
    file("1 0\n0 100 a\n1 1000000000 b\n2 1300000000 c\n");
    OP(LOAD);
    SHOW(pmdaCachePurge(d, time(NULL) - 500000000));
    OP(SIZE_INACTIVE);
    pmdaCachePurge(d, time(NULL) - 1200000000);
    OP(SIZE_INACTIVE);
    SHOW(pmdaCacheLookupName(d, "b", NULL, NULL));
    SHOW(pmdaCacheLookupName(d, "c", NULL, NULL));
    OP(SAVE);
    saved();
    return 0;
}
