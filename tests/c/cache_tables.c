/*
 * Names, states and keys: CACHE-1, CACHE-2, CACHE-3, CACHE-4, CACHE-5, CACHE-6, CACHE-10, CACHE-11, CACHE-20, CACHE-21,
 * CACHE-22, CACHE-23, CACHE-24, CACHE-30, CACHE-31, CACHE-32, CACHE-33, CACHE-34, CACHE-35, CACHE-40, CACHE-42, CACHE-43, CACHE-50,
 * CACHE-51, CACHE-52, CACHE-53, CACHE-54, CACHE-56, CACHE-57, CACHE-60, CACHE-61, CACHE-65, CACHE-100, CACHE-101, CACHE-102, DEF-15.
 */
#include "cache.h"

static void
show(const char *name)
{
    int inst = -7, sts;
    char *text = "untouched";
    void *priv = (void *)0x77;

    sts = pmdaCacheLookup(d, 0, &text, &priv);
    printf("  id 0: %d %s %p", sts, text, priv);
    text = "untouched";
    priv = (void *)0x77;
    sts = pmdaCacheLookupKey(d, name, 0, NULL, &text, &inst, &priv);
    printf(" key: %d %s %d %p\n", sts, text, inst, priv);
    OP(SIZE);
    OP(SIZE_ACTIVE);
    OP(SIZE_INACTIVE);
}

static void
names(void)
{
    static const char *in[] = { "foodle", "foo", "foo bar", "foo ", " lead", "tab\tname", "\303\251t\303\251" };
    static const char *text[] = { "foo", "foodle", "fo", "foo bar", "foo ", "foo bar ", " lead", " ", " x", "tab", "\303\251t\303\251 x", NULL };
    static const int flags[] = { PMDA_CACHE_ADD, PMDA_CACHE_HIDE, PMDA_CACHE_CULL, 0, 8, 99 };
    unsigned int i, j, k;

    d = 0x3e800010;
    for (i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
	for (j = 0; j < sizeof(text) / sizeof(text[0]); j++) {
	    for (k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
		d++;
		pmdaCacheStore(d, PMDA_CACHE_ADD, in[i], (void *)0x10);
		printf("%s|%s|%d: ", in[i], text[j] ? text[j] : "NULL", flags[k]);
		SHOW(pmdaCacheStore(d, flags[k], text[j], (void *)0x20));
		if (text[j] != NULL)
		    show(text[j]);
	    }
	}
    }
}

static void
states(void)
{
    int i;

    d = 0x3e900001;
    OP(CHECK);
    SHOW(pmdaCacheOp(PM_INDOM_NULL, PMDA_CACHE_CHECK) < 0);
    SHOW(pmdaCacheLookup(d, 3, NULL, NULL));
    OP(CHECK);
    for (i = 0; i < 6; i++) {
	char name[8];
	snprintf(name, sizeof(name), "n%d", i);
	SHOW(pmdaCacheStore(d, PMDA_CACHE_ADD, name, (void *)(long)(i + 1)));
    }
    STORE(HIDE, "n1");
    STORE(CULL, "n2");
    STORE(CULL, "n2");
    OP(WALK_REWIND);
    for (i = 0; i < 8; i++)
	OP(WALK_NEXT);
    __pmdaCacheDump(stdout, d, 1);
    OP(INACTIVE);
    OP(ACTIVE);
    OP(REORG);
    STORE(ADD, "n2");
    OP(REUSE);
    STORE(ADD, "n9");
    OP(STRINGS);
    SHOW(pmdaCacheResize(d, -1));
    SHOW(pmdaCacheResize(d, 5));
    SHOW(pmdaCacheResize(d, 6));
    /* The C library of PCP 7 stores one more here (DEF-21), so nothing is stored. */
    SHOW(pmdaCacheOp(d, 0));
    OP(ADD);
    SHOW(pmdaCacheOp(d, 99));
    SHOW(pmdaCacheOp(d, -1));
    OP(CULL);
    OP(DUMP_ALL);
    OP(DUMP);
    SHOW(pmdaCacheStore(PM_INDOM_NULL, PMDA_CACHE_ADD, "x", NULL));
    SHOW(pmdaCacheLookup(PM_INDOM_NULL, 0, NULL, NULL));
    SHOW(pmdaCacheLookupName(PM_INDOM_NULL, "x", NULL, NULL));
    SHOW(pmdaCacheResize(PM_INDOM_NULL, 1));
    SHOW(pmdaCachePurge(PM_INDOM_NULL, 1));
}

static void
keys(void)
{
    unsigned char key[40];
    int i, inst;
    char name[16];

    d = 0x3ea00001;
    for (i = 0; i < 40; i++)
	key[i] = i * 37 + 1;
    for (i = 1; i < 40; i++) {
	snprintf(name, sizeof(name), "k%d tail", i);
	printf("%s: ", name);
	SHOW(pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, i, key, (void *)(long)i));
    }
    KEYED(ADD, "k5", 5, key);
    KEYED(ADD, "k5 other", 5, key);
    KEYED(ADD, "k5", 6, key);
    KEYED(ADD, "new", 6, key);
    KEYED(HIDE, "k7", 1, key);
    KEYED(CULL, "k8", 1, key);
    SHOW(pmdaCacheLookupKey(d, NULL, 7, key, NULL, &inst, NULL));
    SHOW(pmdaCacheLookupKey(d, "x", 8, key, NULL, NULL, NULL));
    printf("inst %d\n", inst);
    KEYED(ADD, "", 3, "xyz");
    KEYED(ADD, NULL, 3, "xyz");
    KEYED(ADD, "foo", 0, NULL);
    KEYED(ADD, "bar", -1, "x");
    __pmdaCacheDump(stdout, d, 1);
    d++;
    OP(STRINGS);
    KEYED(ADD, "", 0, NULL);
    STORE(ADD, "a b");
    SHOW(pmdaCacheLookupName(d, "a", NULL, NULL));
    SHOW(pmdaCacheLookupName(d, "a b", NULL, NULL));
    __pmdaCacheDumpAll(stdout, 0);
}

int
main(void)
{
    pmSetProgname("cache");
    pmSetDebug("indom");
    names();
    states();
    keys();
    return 0;
}
