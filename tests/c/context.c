/* pmdaGetContext, __pmdaSetContext: one number for the process, -1 at first (MAIN-25). */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

int
main(void)
{
    static const int contexts[] = { 0, 7, -1, -12345, 2147483647 };
    unsigned int i;

    printf("first %d\n", pmdaGetContext());
    for (i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
	__pmdaSetContext(contexts[i]);
	printf("set %d: %d\n", contexts[i], pmdaGetContext());
    }
    return 0;
}
