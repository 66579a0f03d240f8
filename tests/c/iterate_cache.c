/*
 * Iteration over cached domains under a profile; entries are stored, hidden and culled on the way. INST-4, INST-10, INST-11, INST-12,
 * INST-20, INST-30, INST-31, INST-40, INST-41, INST-42, IDEF-5.
 */
#include "instances.h"

#define D 0x3e800001

int
main(void)
{
    static pmdaInstid table[] = { { 70, "x" }, { 71, "y" } };
    static pmdaIndom indoms[] = { { D, 2, table }, { D + 1, 2, table } };
    static int listed[] = { 9, 2, 4, 4, 77, -1 };
    static pmInDomProfile element = { D, PM_PROFILE_EXCLUDE, 6, listed };
    static pmProfile profile = { PM_PROFILE_INCLUDE, 1, &element };
    static int nine[] = { 9, 10 };
    static pmInDomProfile without = { D, PM_PROFILE_INCLUDE, 2, nine };
    static pmProfile but9 = { PM_PROFILE_EXCLUDE, 1, &without };
    static pmdaExt ext;
    char name[16];
    int i, inst = -77;

    ext.e_indoms = indoms;
    ext.e_nindoms = 2;
    ext.e_singular = ext.e_ordinal = -1;
    iterate(D, &ext);

    printf("a cache that came into being by a lookup\n");
    __pmdaStartInst(D, &ext);
    printf("lookup %d\n", pmdaCacheLookup(D, 1, NULL, NULL));
    printf("next %d", __pmdaNextInst(&inst, &ext));
    printf(" %d\n", inst);
    iterate(D, &ext);
    iterate(D + 1, &ext);

    for (i = 0; i < 12; i++) {
	snprintf(name, sizeof(name), "i%d", i);
	pmdaCacheStore(D, PMDA_CACHE_ADD, name, NULL);
    }
    pmdaCacheStore(D, PMDA_CACHE_HIDE, "i3", NULL);
    pmdaCacheStore(D, PMDA_CACHE_CULL, "i4", NULL);
    iterate(D, &ext);
    printf("without an ext %d\n", __pmdaCntInst(D, NULL));
    ext.e_prof = &profile;
    iterate(D, &ext);
    element.state = PM_PROFILE_INCLUDE;
    iterate(D, &ext);
    element.instances_len = 0;
    iterate(D, &ext);
    element.state = PM_PROFILE_EXCLUDE;
    iterate(D, &ext);
    profile.profile_len = 0;
    profile.state = PM_PROFILE_EXCLUDE;
    iterate(D, &ext);
    ext.e_prof = NULL;

    printf("changes on the way\n");
    __pmdaStartInst(D, &ext);
    for (i = 0; __pmdaNextInst(&inst, &ext); i++) {
	printf(" %d@%d", inst, ext.e_ordinal);
	if (i == 1)
	    pmdaCacheStore(D, PMDA_CACHE_HIDE, "i2", NULL);
	if (i == 2)
	    pmdaCacheStore(D, PMDA_CACHE_CULL, "i6", NULL);
	if (i == 3)
	    pmdaCacheStore(D, PMDA_CACHE_ADD, "i3", NULL);
	if (i == 4)
	    ext.e_prof = &but9;
    }
    printf("\n");
    ext.e_prof = NULL;
    __pmdaStartInst(D, &ext);
    pmdaCacheOp(D, PMDA_CACHE_INACTIVE);
    printf("all hidden: %d\n", __pmdaNextInst(&inst, &ext));
    pmdaCacheOp(D, PMDA_CACHE_ACTIVE);
    iterate(D, &ext);

    printf("-Dindom\n");
    fflush(stdout);
    pmSetDebug("indom");
    profile.profile_len = 1;
    element.instances_len = 6;
    ext.e_prof = &profile;
    iterate(D, &ext);
    return 0;
}
