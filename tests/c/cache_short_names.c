/*
 * Names that share only their short name with an instance: lookups tell whose it is, stores are refused. CACHE-10, CACHE-11,
 * CACHE-30, INST-65. pmdaproc's cgroup code looks a name up in that way, and allocates on any other answer.
 */
#include "instances.h"

#define D 0x3e800001

static void
look(pmInDom d, const char *name)
{
    int inst = -7;
    void *private = (void *)0x7;
    int sts = pmdaCacheLookupName(d, name, &inst, &private);

    printf("lookup \"%s\": %d inst %d private %p\n", name, sts, inst, private);
    printf("  without outputs %d\n", pmdaCacheLookupName(d, name, NULL, NULL));
    ask(d, PM_IN_NULL, name, NULL);
}

static void
store(pmInDom d, const char *name)
{
    static const int flags[] = { PMDA_CACHE_ADD, PMDA_CACHE_HIDE, PMDA_CACHE_CULL, PMDA_CACHE_REUSE };
    unsigned int i;

    printf("store \"%s\":", name);
    for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
	printf(" %d", pmdaCacheStore(d, flags[i], name, (void *)0x99));
    printf(" key %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, 3, "key", (void *)0x99));
}

/* The empty name counts. */
static int
ends_in(const char *name, const char *characters)
{
    size_t length = strlen(name);

    return length == 0 || strchr(characters, name[length - 1]) != NULL;
}

int
main(void)
{
    static const char *names[] = { "foo", "foo ", "foo bar", "foo blah", "foo bar ", "foo  bar", " ", " x", " lead", "", "foodle", "plain x", "key y", "tab\tx" };
    unsigned int i, round;

    pmSetProgname("short");
    pmdaCacheStore(D, PMDA_CACHE_ADD, "other", (void *)0x10);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "foo bar", (void *)0x11);
    pmdaCacheStore(D, PMDA_CACHE_ADD, " lead", (void *)0x12);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "plain", (void *)0x13);
    pmdaCacheStoreKey(D, PMDA_CACHE_ADD, "key x", 3, "key", (void *)0x14);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "tab", (void *)0x15);
    pmSetDebug("indom");
    for (round = 0; round < 3; round++) {
	printf("round %d\n", round);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
	    look(D, names[i]);
	    if (round == 2 && ends_in(names[i], "b \tx") && names[i][0] != 't' && strcmp(names[i], "foo bar") != 0)
		store(D, names[i]);
	}
	pmdaCacheOp(D, round == 0 ? PMDA_CACHE_INACTIVE : PMDA_CACHE_ACTIVE);
    }
    pmdaCacheStore(D, PMDA_CACHE_CULL, "foo", NULL);
    look(D, "foo blah");
    printf("new %d\n", pmdaCacheStore(D, PMDA_CACHE_ADD, "foo blah", (void *)0x16));
    look(D, "foo bar");
    pmdaCacheOp(D + 1, PMDA_CACHE_STRINGS);
    pmdaCacheStore(D + 1, PMDA_CACHE_ADD, "foo bar", (void *)0x17);
    look(D + 1, "foo bar");
    look(D + 1, "foo blah");
    look(D + 1, "foo");
    __pmdaCacheDump(stdout, D, 1);
    return 0;
}
