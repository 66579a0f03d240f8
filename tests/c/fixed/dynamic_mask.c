/*
 * The mask goes to the registration with exactly this prefix; only global registrations have one (DYN-30, DYN-31, N-1).
 */
#include "dynamic.h"

int
main(void)
{
    static pmdaInterface	dispatch;

    printf("none: %d\n", pmdaDynamicSetClusterMask("x", 1));
    agent(&dispatch);
    add(0, "own", NULL, 0, dispatch.version.any.ext);
    add(1, "x", NULL, 0, NULL);
    printf("own %d\n", pmdaDynamicSetClusterMask("own", 1));
    printf("x %d\n", pmdaDynamicSetClusterMask("x", 0xfff));
    printf("y %d\n", pmdaDynamicSetClusterMask("y", 1));
    printf("NULL %d\n", pmdaDynamicSetClusterMask(NULL, 1));
    return 0;
}
