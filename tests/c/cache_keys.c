/*
 * Keys whose first hash values are taken: how often each number of attempts was needed, and what is said of a name that
 * another key has.
 */
#include <stdio.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

int
main(void)
{
    pmInDom indom = pmInDom_build(250, 1);
    char name[20];
    unsigned char key = 1;
    int i;

    pmSetProgname("keys");
    pmSetDebug("indom");
    for (i = 0; i < 12; i++) {
	snprintf(name, sizeof(name), "same%d", i);
	printf("%s: %d\n", name, pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, 1, &key, NULL));
	/* Without its key the instance keeps the id: the next one has to try again. */
	pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
	__pmdaCacheDump(stdout, indom, 1);
	fflush(stdout);
    }
    printf("with a key: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "one", 2, "ab", NULL));
    printf("another key: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "one", 2, "cd", NULL));
    printf("a longer key: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "one", 3, "abc", NULL));
    printf("no key: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "same3", 3, "abc", NULL));
    printf("no such: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_HIDE, "two", 2, "ef", NULL));
    printf("another name: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "three", 2, "ab", NULL));
    printf("name of another key: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "four", 2, "cd", NULL));
    printf("both: %d\n", pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "four", 2, "ab", NULL));
    return 0;
}
