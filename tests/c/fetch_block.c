/*
 * The content of the result block at each moment: the head before the first value, each set when it is complete. dbpmda frees the block
 * after a store that was refused and fetches again, so a value set may be put into the block. FETCH-12, FETCH-13, FETCH-70
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define METRICS 4
static pmdaMetric metrics[METRICS];
static pmdaInterface dispatch;
static pmdaResult *block;
static int watching;

/* Prints the content of the block: P for the pattern, S for a set. */
static void
look(const char *when)
{
    unsigned char bytes[sizeof(*block)];
    void *pattern;
    int i;

    memset(&pattern, 0x5a, sizeof(pattern));
    memcpy(bytes, block, sizeof(bytes));
    printf("    %s: time", when);
    for (i = 0; i < 16; i += 8)
	printf(bytes[i] == 0x5a ? " P" : " %d", bytes[i]);
    printf(" sets");
    printf(block->numpmid == 0x5a5a5a5a ? " P" : " %d", block->numpmid);
    for (i = 0; i < METRICS; i++)
	printf(" %s", (void *)block->vset[i] == pattern || block->vset[i] == NULL ? "-" : "S");
    printf("\n");
}

void *__libc_malloc(size_t);

/* The next value set is made. */
void *
malloc(size_t size)
{
    if (watching) {
	watching = 0;
	look("malloc");
	printf("      of %d\n", (int)size);
	watching = 1;
    }
    return __libc_malloc(size);
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    int was = watching;

    watching = 0;
    look("callback");
    printf("      of %d, instance %d\n", pmID_item(metric->m_desc.pmid), (int)inst);
    watching = was;
    atom->l = 3;
    return pmID_item(metric->m_desc.pmid) == 2 ? PM_ERR_AGAIN : PMDA_FETCH_STATIC;
}

int
main(void)
{
    static pmdaInstid set[] = { { 3, "x" }, { 4, "y" } };
    static pmdaIndom indoms[] = { { 1, 2, set } };
    pmID pmids[METRICS];
    pmdaResult *result;
    int i, n, sts;

    setvbuf(stdout, NULL, _IONBF, 0);
    for (i = 0; i < METRICS; i++) {
	metrics[i].m_desc.pmid = pmID_build(DOMAIN, 0, i);
	metrics[i].m_desc.type = PM_TYPE_32;
	metrics[i].m_desc.indom = i == 1 ? 1 : PM_INDOM_NULL;
    }
    agent(&dispatch, 7, value, indoms, 1, metrics, METRICS);
    for (i = 0; i < METRICS; i++)
	pmids[i] = metrics[i].m_desc.pmid;
    block = calloc(1, sizeof(*block) + METRICS * sizeof(pmValueSet *));
    CALL(dispatch).fetch(METRICS, pmids, &result, CALL(dispatch).ext);
    free_sets(result);
    free(block);
    block = result;
    for (n = 0; n <= METRICS; n++) {
	printf("fetch of %d\n", n);
	/* All that a fetch of so many may have left. */
	memset(block, 0x5a, offsetof(pmdaResult, vset) + METRICS * sizeof(pmValueSet *));
	watching = 1;
	sts = CALL(dispatch).fetch(n, pmids, &result, CALL(dispatch).ext);
	watching = 0;
	printf("  = %d, %s block\n", sts, result == block ? "the same" : "another");
	look("end");
	if (sts >= 0)
	    free_sets(result);
    }
    return 0;
}
