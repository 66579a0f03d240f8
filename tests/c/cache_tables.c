/*
 * Names, states and keys, one call a line: CACHE-1, CACHE-2, CACHE-3, CACHE-4, CACHE-5, CACHE-6, CACHE-10, CACHE-11, CACHE-20, CACHE-21,
 * CACHE-22, CACHE-23, CACHE-24, CACHE-30, CACHE-31, CACHE-32, CACHE-33, CACHE-34, CACHE-35, CACHE-40, CACHE-42, CACHE-43, CACHE-50,
 * CACHE-51, CACHE-52, CACHE-53, CACHE-54, CACHE-56, CACHE-57, CACHE-60, CACHE-61, CACHE-65, CACHE-100, CACHE-101, CACHE-102, DEF-15.
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static void
show(pmInDom d, const char *name)
{
    int inst = -7, sts;
    char *text = "untouched";
    void *priv = (void *)0x77;

    sts = pmdaCacheLookup(d, 0, &text, &priv);
    printf("  id 0: %d %s %p", sts, text, priv);
    text = "untouched";
    priv = (void *)0x77;
    sts = pmdaCacheLookupKey(d, name, 0, NULL, &text, &inst, &priv);
    printf(" key: %d %s %d %p", sts, text, inst, priv);
    printf(" size %d %d %d\n", pmdaCacheOp(d, PMDA_CACHE_SIZE), pmdaCacheOp(d, PMDA_CACHE_SIZE_ACTIVE), pmdaCacheOp(d, PMDA_CACHE_SIZE_INACTIVE));
}

static void
names(void)
{
    static const char *in[] = { "foodle", "foo", "foo bar", "foo ", " lead", "tab\tname", "\303\251t\303\251" };
    static const char *text[] = { "foo", "foodle", "fo", "foo bar", "foo ", "foo bar ", " lead", " ", " x", "tab", "\303\251t\303\251 x", NULL };
    static const int flags[] = { PMDA_CACHE_ADD, PMDA_CACHE_HIDE, PMDA_CACHE_CULL, 0, 8, 99 };
    unsigned int i, j, k;
    pmInDom d = 0x3e800010;

    for (i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
	for (j = 0; j < sizeof(text) / sizeof(text[0]); j++) {
	    for (k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
		d++;
		pmdaCacheStore(d, PMDA_CACHE_ADD, in[i], (void *)0x10);
		printf("%s|%s|%d: %d\n", in[i], text[j] ? text[j] : "NULL", flags[k], pmdaCacheStore(d, flags[k], text[j], (void *)0x20));
		if (text[j] != NULL)
		    show(d, text[j]);
	    }
	}
    }
}

static void
states(void)
{
    pmInDom d = 0x3e900001;
    int i;

    printf("check %d %d\n", pmdaCacheOp(d, PMDA_CACHE_CHECK), pmdaCacheOp(PM_INDOM_NULL, PMDA_CACHE_CHECK) < 0);
    printf("lookup %d check %d\n", pmdaCacheLookup(d, 3, NULL, NULL), pmdaCacheOp(d, PMDA_CACHE_CHECK));
    for (i = 0; i < 6; i++) {
	char name[8];
	snprintf(name, sizeof(name), "n%d", i);
	printf("store %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, name, (void *)(long)(i + 1)));
    }
    printf("hide %d cull %d again %d\n", pmdaCacheStore(d, PMDA_CACHE_HIDE, "n1", NULL), pmdaCacheStore(d, PMDA_CACHE_CULL, "n2", NULL),
	pmdaCacheStore(d, PMDA_CACHE_CULL, "n2", NULL));
    printf("rewind %d\n", pmdaCacheOp(d, PMDA_CACHE_WALK_REWIND));
    for (i = 0; i < 8; i++)
	printf("next %d\n", pmdaCacheOp(d, PMDA_CACHE_WALK_NEXT));
    __pmdaCacheDump(stdout, d, 1);
    printf("inactive %d active %d reorg %d\n", pmdaCacheOp(d, PMDA_CACHE_INACTIVE), pmdaCacheOp(d, PMDA_CACHE_ACTIVE), pmdaCacheOp(d, PMDA_CACHE_REORG));
    printf("new %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, "n2", NULL));
    printf("reuse %d new %d\n", pmdaCacheOp(d, PMDA_CACHE_REUSE), pmdaCacheStore(d, PMDA_CACHE_ADD, "n9", NULL));
    printf("strings %d\n", pmdaCacheOp(d, PMDA_CACHE_STRINGS));
    printf("resize %d %d %d\n", pmdaCacheResize(d, -1), pmdaCacheResize(d, 5), pmdaCacheResize(d, 6));
    printf("full %d %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, "x", NULL), pmdaCacheStore(d, PMDA_CACHE_ADD, "y", NULL));
    printf("ops %d %d %d %d\n", pmdaCacheOp(d, 0), pmdaCacheOp(d, PMDA_CACHE_ADD), pmdaCacheOp(d, 99), pmdaCacheOp(d, -1));
    printf("cull %d\n", pmdaCacheOp(d, PMDA_CACHE_CULL));
    pmdaCacheOp(d, PMDA_CACHE_DUMP_ALL);
    pmdaCacheOp(d, PMDA_CACHE_DUMP);
    printf("null %d %d %d %d %d\n", pmdaCacheStore(PM_INDOM_NULL, PMDA_CACHE_ADD, "x", NULL), pmdaCacheLookup(PM_INDOM_NULL, 0, NULL, NULL),
	pmdaCacheLookupName(PM_INDOM_NULL, "x", NULL, NULL), pmdaCacheResize(PM_INDOM_NULL, 1), pmdaCachePurge(PM_INDOM_NULL, 1));
}

static void
keys(void)
{
    pmInDom d = 0x3ea00001;
    unsigned char key[40];
    int i, inst;
    char name[16];

    for (i = 0; i < 40; i++)
	key[i] = i * 37 + 1;
    for (i = 1; i < 40; i++) {
	snprintf(name, sizeof(name), "k%d tail", i);
	printf("%d: %d\n", i, pmdaCacheStoreKey(d, PMDA_CACHE_ADD, name, i, key, (void *)(long)i));
    }
    for (i = 0; i < 12; i++) {
	pmInDom one = d + 1;
	int id;
	unsigned char k = 1;
	static const int chain[] = { 960041896, 110628505, 1321687207, 977985088, 469351851, 1149066169, 1280430053, 393515261, 840649480, 399057241 };
	snprintf(name, sizeof(name), "same%d", i);
	id = pmdaCacheStoreKey(one, PMDA_CACHE_ADD, name, 1, &k, NULL);
	printf("first %d %d\n", id, i < 10 && id == chain[i]);
	/* Without its key the instance keeps the id: the next one has to try again. */
	pmdaCacheStore(one, PMDA_CACHE_ADD, name, NULL);
    }
    printf("match %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "k5", 5, key, NULL));
    printf("bad %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "k5 other", 5, key, NULL));
    printf("other key %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "k5", 6, key, NULL));
    printf("same key %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "new", 6, key, NULL));
    printf("hide %d cull %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_HIDE, "k7", 1, key, NULL), pmdaCacheStoreKey(d, PMDA_CACHE_CULL, "k8", 1, key, NULL));
    printf("find %d %d %d\n", pmdaCacheLookupKey(d, NULL, 7, key, NULL, &inst, NULL), pmdaCacheLookupKey(d, "x", 8, key, NULL, NULL, NULL), inst);
    printf("empty %d null %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "", 3, "xyz", NULL), pmdaCacheStoreKey(d, PMDA_CACHE_ADD, NULL, 3, "xyz", NULL));
    printf("by name %d %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "foo", 0, NULL, NULL), pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "bar", -1, "x", NULL));
    pmdaCacheOp(d + 2, PMDA_CACHE_STRINGS);
    printf("strings %d %d\n", pmdaCacheStoreKey(d + 2, PMDA_CACHE_ADD, "", 0, NULL, NULL), pmdaCacheStore(d + 2, PMDA_CACHE_ADD, "a b", NULL));
    printf("%d %d\n", pmdaCacheLookupName(d + 2, "a", NULL, NULL), pmdaCacheLookupName(d + 2, "a b", NULL, NULL));
    __pmdaCacheDump(stdout, d, 1);
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
