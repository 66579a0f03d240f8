/*
 * pmdaInstance on cached domains; a cache hides the table of the same domain. INST-10, INST-12, INST-61, INST-62, INST-64, INST-65,
 * INST-68.
 */
#include "instances.h"

#define D 0x3e800001

static void
all(pmdaExt *ext)
{
    static const char *names[] = { "foo", "foo bar", "foodle", "gone", "hid", "x", "", "abc def" };
    unsigned int i;
    int id;

    ask(D, PM_IN_NULL, NULL, ext);
    for (id = -2; id < 8; id++)
	ask(D, id, NULL, ext);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	ask(D, PM_IN_NULL, names[i], ext);
    ask(D, 0, "foo", ext);
}

int
main(void)
{
    static pmdaInstid table[] = { { 3, "x" }, { 4, "foo" } };
    static pmdaIndom indoms[] = { { D, 2, table } };
    static pmProfile nothing = { PM_PROFILE_EXCLUDE, 0, NULL };
    static pmdaExt ext;

    ext.e_indoms = indoms;
    ext.e_nindoms = 1;
    ext.e_prof = &nothing;
    all(&ext);
    printf("an empty cache hides the table\n");
    printf("%d\n", pmdaCacheOp(D, PMDA_CACHE_SIZE));
    all(&ext);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "foo bar", NULL);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "foodle", NULL);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "gone", NULL);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "hid", NULL);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "abc def", NULL);
    pmdaCacheStore(D, PMDA_CACHE_CULL, "gone", NULL);
    pmdaCacheStore(D, PMDA_CACHE_HIDE, "hid", NULL);
    all(&ext);
    all(NULL);
    pmdaCacheOp(D, PMDA_CACHE_INACTIVE);
    all(&ext);
    printf("strings\n");
    pmdaCacheOp(D + 1, PMDA_CACHE_STRINGS);
    pmdaCacheStore(D + 1, PMDA_CACHE_ADD, "", NULL);
    pmdaCacheStore(D + 1, PMDA_CACHE_ADD, "a b", NULL);
    ask(D + 1, PM_IN_NULL, NULL, NULL);
    ask(D + 1, PM_IN_NULL, "a", NULL);
    ask(D + 1, PM_IN_NULL, "a b", NULL);
    ask(D + 1, PM_IN_NULL, "", NULL);
    ask(D + 1, 0, NULL, NULL);
    return 0;
}
