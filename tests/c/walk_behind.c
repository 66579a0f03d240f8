/*
 * A walk goes on at the entry that it has noted, not at a newer entry with the same identifier that is listed before it. CACHE-35,
 * CACHE-44
 */
#include "fetch.h"

#define D pmInDom_build(DOMAIN, 1)

static pmdaInterface dispatch;
static pmdaExt *ext;

static void
key(const char *name, const char *key)
{
    printf("%s = %d\n", name, pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 1, key, NULL));
}

/* The second one gives its identifier to another. */
static void
exchange(void)
{
    pmdaCacheStore(D, PMDA_CACHE_CULL, "b", NULL);
    key("c", "k");
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = (int)inst;
    if (inst == 1)
	exchange();
    return PMDA_FETCH_STATIC;
}

static void
fill(void)
{
    pmdaCacheStore(D, PMDA_CACHE_CULL, "c", NULL);
    key("b", "k");
}

int
main(void)
{
    static pmdaMetric metrics[1] = { { NULL, { 0, PM_TYPE_32, 1, PM_SEM_INSTANT, { 0 } } } };
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    pmID pmid;
    int i, inst;

    agent(&dispatch, 7, value, indoms, 1, metrics, 1);
    ext = CALL(dispatch).ext;
    pmid = metrics[0].m_desc.pmid;
    pmdaCacheStore(D, PMDA_CACHE_ADD, "first", NULL);
    pmdaCacheStore(D, PMDA_CACHE_ADD, "second", NULL);
    /* The last one stays: else the C library's list goes wrong (DEF-3). */
    key("last", "u");
    fill();
    fetch(&dispatch, 1, &pmid);
    fetch(&dispatch, 1, &pmid);
    fill();
    pmdaCacheOp(D, PMDA_CACHE_WALK_REWIND);
    for (i = 0; i < 5; i++) {
	inst = pmdaCacheOp(D, PMDA_CACHE_WALK_NEXT);
	printf("walk %d\n", inst);
	if (inst == 1)
	    exchange();
    }
    fill();
    __pmdaStartInst(D, ext);
    while (__pmdaNextInst(&inst, ext)) {
	printf("next %d\n", inst);
	if (inst == 1)
	    exchange();
    }
    return 0;
}
