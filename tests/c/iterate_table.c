/*
 * __pmdaStartInst, __pmdaNextInst, __pmdaCntInst on classic tables; tables, state and profile change during the iteration. INST-4,
 * INST-20, INST-21, INST-30, INST-31, INST-40, INST-41, INST-42, INST-44.
 */
#include "instances.h"

static pmdaInstid five[] = { { 3, "c" }, { 1, "a" }, { 7, "g" }, { 3, "c2" }, { -5, "n" } };
static pmdaInstid two[] = { { 20, "x" }, { 21, "y" } };
static pmdaIndom indoms[] = {
    { 0x3e800001, 5, five }, { 0x3e800002, 2, two }, { 0x3e800003, 0, five }, { 0x3e800004, -3, five },
    { 0x3e800001, 2, two }, { PM_INDOM_NULL, 2, two },
};

int
main(void)
{
    static pmdaExt ext;
    static int without[] = { 7, 1, 1, 99 };
    static pmInDomProfile element = { 0x3e800001, PM_PROFILE_INCLUDE, 4, without };
    static pmProfile profile = { PM_PROFILE_INCLUDE, 1, &element };
    static pmProfile nothing = { PM_PROFILE_EXCLUDE, 0, NULL };
    unsigned int domain;
    int inst = 0;

    ext.e_indoms = indoms;
    ext.e_nindoms = 6;
    ext.e_singular = ext.e_ordinal = -1;
    for (domain = 0x3e800000; domain < 0x3e800006; domain++)
	iterate(domain, &ext);
    iterate(PM_INDOM_NULL, &ext);
    ext.e_prof = &nothing;
    printf("nothing selected, but the singular value\n");
    iterate(PM_INDOM_NULL, &ext);
    iterate(0x3e800001, &ext);
    ext.e_prof = &profile;
    iterate(0x3e800001, &ext);

    printf("the profile changes on the way\n");
    __pmdaStartInst(0x3e800001, &ext);
    printf("%d", __pmdaNextInst(&inst, &ext));
    printf(" %d\n", inst);
    ext.e_prof = NULL;
    while (__pmdaNextInst(&inst, &ext))
	printf(" %d", inst);
    printf("\n");

    printf("the table grows, shrinks and moves on the way\n");
    __pmdaStartInst(0x3e800002, &ext);
    printf("%d", __pmdaNextInst(&inst, &ext));
    indoms[1].it_set = five;
    indoms[1].it_numinst = 4;
    printf(" %d", __pmdaNextInst(&inst, &ext));
    printf(" %d", inst);
    indoms[1].it_numinst = 2;
    printf(" %d", __pmdaNextInst(&inst, &ext));
    printf(" %d\n", inst);
    state("after", &ext);

    printf("the agent moves on by itself\n");
    __pmdaStartInst(0x3e800001, &ext);
    ext.e_ordinal = 3;
    while (__pmdaNextInst(&inst, &ext))
	printf(" %d", inst);
    printf("\n");
    ext.e_idp = &indoms[0];
    ext.e_ordinal = 0;
    ext.e_direct = 0;
    while (__pmdaNextInst(&inst, &ext))
	printf(" %d", inst);
    printf("\n");
    ext.e_singular = 0;
    printf("%d", __pmdaNextInst(&inst, &ext));
    printf(" %d\n", inst);

    printf("-Dindom\n");
    fflush(stdout);
    pmSetDebug("indom");
    ext.e_prof = &profile;
    iterate(0x3e800001, &ext);
    iterate(PM_INDOM_NULL, &ext);
    iterate(0x3e800009, &ext);
    return 0;
}
