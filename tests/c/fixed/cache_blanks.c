/*
 * Names of blanks only, and with blanks in front, survive a save and never end a load. The C library loses the blanks, or the rest of
 * the file. DEF-9
 */
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static void
load(pmInDom from, pmInDom to)
{
    char command[256], *name;
    int inst, sts;

    snprintf(command, sizeof(command), "cp \"$PCP_VAR_DIR\"/config/pmda/%d.%d \"$PCP_VAR_DIR\"/config/pmda/%d.%d", pmInDom_domain(from),
	(int)pmInDom_serial(from), pmInDom_domain(to), (int)pmInDom_serial(to));
    if (system(command) != 0)
	printf("cannot copy\n");
    printf("load %d\n", pmdaCacheOp(to, PMDA_CACHE_LOAD));
    pmdaCacheOp(to, PMDA_CACHE_ACTIVE);
    pmdaCacheOp(to, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(to, PMDA_CACHE_WALK_NEXT)) >= 0) {
	sts = pmdaCacheLookup(to, inst, &name, NULL);
	printf("  %d %d \"%s\"\n", inst, sts, name);
    }
}

int
main(void)
{
    static const char *names[] = { "plain", " ", "  ", "\t", " lead", "\tlead", "  two words", "\v", "\r", "[] x", "[]\t x", "[aa]\t x", " [aa] x", "tail " };
    pmInDom d = pmInDom_build(251, 1);
    unsigned int i;

    pmSetProgname("blanks");
    /* Whole names count here, so that all of them are names of their own. */
    pmdaCacheOp(d, PMDA_CACHE_STRINGS);
    pmdaCacheOp(d + 1, PMDA_CACHE_STRINGS);
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	printf(" %d", pmdaCacheStore(d, PMDA_CACHE_ADD, names[i], NULL));
    printf(" %d", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, " keyed", 3, "key", NULL));
    printf(" %d\n", pmdaCacheStoreKey(d, PMDA_CACHE_ADD, "   ", 3, "kex", NULL));
    printf("save %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    load(d, d + 1);
    printf("keys %d", pmdaCacheLookupKey(d + 1, NULL, 3, "key", NULL, NULL, NULL));
    printf(" %d\n", pmdaCacheLookupKey(d + 1, NULL, 3, "kex", NULL, NULL, NULL));
    /* Short names count: all of these have the same, which is empty. */
    d += 2;
    printf("blanks %d", pmdaCacheStore(d, PMDA_CACHE_ADD, "  ", NULL));
    printf(" %d", pmdaCacheStore(d, PMDA_CACHE_ADD, " other", NULL));
    printf(" %d\n", pmdaCacheStore(d, PMDA_CACHE_ADD, "last", NULL));
    printf("save %d\n", pmdaCacheOp(d, PMDA_CACHE_SAVE));
    load(d, d + 1);
    return 0;
}
