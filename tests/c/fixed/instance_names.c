/*
 * Single requests in tables with a negative count, missing names, and a null domain. INST-63, INST-69, INST-70, INST-71, IDEF-1, IDEF-3,
 * IDEF-4, IDEF-6
 * c-library: not run, it lists the null domain for ever
 */
#include "../instances.h"

#define D 0x3e800001

int
main(void)
{
    static pmdaInstid table[] = { { 3, NULL }, { 4, "four" }, { 5, NULL } };
    static pmdaIndom indoms[] = { { D, 3, table }, { D + 1, -3, table }, { D + 2, -12360, table } };
    static pmdaExt ext;

    ext.e_indoms = indoms;
    ext.e_nindoms = 3;
    ask(PM_INDOM_NULL, PM_IN_NULL, NULL, &ext);
    ask(PM_INDOM_NULL, 3, NULL, &ext);
    ask(PM_INDOM_NULL, PM_IN_NULL, "four", &ext);
    ask(PM_INDOM_NULL, PM_IN_NULL, "", &ext);
    ask(D, PM_IN_NULL, NULL, &ext);
    ask(D, 3, NULL, &ext);
    ask(D, 4, NULL, &ext);
    ask(D, PM_IN_NULL, "four", &ext);
    ask(D, PM_IN_NULL, "five", &ext);
    ask(D + 1, PM_IN_NULL, NULL, &ext);
    ask(D + 1, 4, NULL, &ext);
    ask(D + 1, PM_IN_NULL, "four", &ext);
    ask(D + 2, PM_IN_NULL, NULL, &ext);
    ask(D + 9, PM_IN_NULL, NULL, NULL);
    printf("no place for the answer %d\n", pmdaInstance(D, 4, NULL, NULL, &ext));
    return 0;
}
