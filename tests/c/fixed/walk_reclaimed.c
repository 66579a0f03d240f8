/*
 * If the entry that a walk has noted is reclaimed meanwhile, the walk goes on with the next listed entry after it, and never returns an
 * entry twice: DEF-4, CACHE-35, CACHE-36, INST-43.
 * c-library: not run, it goes on at freed memory
 */
#include "../fetch.h"

#define D pmInDom_build(DOMAIN, 1)

static pmdaInterface dispatch;
static pmdaExt *ext;
static int again;

static void
add(const char *name, const char *key)
{
    printf("%s = %d\n", name, pmdaCacheStoreKey(D, PMDA_CACHE_ADD, name, 1, key, NULL));
}

static void
fill(void)
{
    pmdaCacheOp(D, PMDA_CACHE_CULL);
    pmdaCacheOp(D, PMDA_CACHE_REORG);
    add("a", "k");
    pmdaCacheStore(D, PMDA_CACHE_CULL, "a", NULL);
    add("b", "k");
}

/* After the first one: a, which has the same identifier and is culled, goes for good. */
static void
reclaim(int inst)
{
    (void)inst;
    printf("REORG %d\n", pmdaCacheOp(D, PMDA_CACHE_REORG));
    if (again) {
	/* And then b, which was given, has a successor with the same identifier. */
	pmdaCacheStore(D, PMDA_CACHE_CULL, "b", NULL);
	pmdaCacheOp(D, PMDA_CACHE_REORG);
	add("c", "k");
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = (int)inst;
    reclaim((int)inst);
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    static pmdaMetric metrics[1] = { { NULL, { 0, PM_TYPE_32, 1, PM_SEM_INSTANT, { 0 } } } };
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    pmID pmid;
    int i, more, inst;

    agent(&dispatch, 7, value, indoms, 1, metrics, 1);
    ext = CALL(dispatch).ext;
    pmid = metrics[0].m_desc.pmid;
    for (more = 0; more < 2; more++) {
	for (again = 0; again < 2; again++) {
	    printf("%s\n", more ? "another one behind it" : "alone");
	    fill();
	    if (more)
		add("last", "u");
	    fetch(&dispatch, 1, &pmid);
	    fill();
	    if (more)
		add("last", "u");
	    pmdaCacheOp(D, PMDA_CACHE_WALK_REWIND);
	    for (i = 0; i < 4; i++) {
		inst = pmdaCacheOp(D, PMDA_CACHE_WALK_NEXT);
		printf("walk %d\n", inst);
		if (i == 0)
		    reclaim(inst);
	    }
	    fill();
	    if (more)
		add("last", "u");
	    __pmdaStartInst(D, ext);
	    for (i = 0; __pmdaNextInst(&inst, ext) && i < 4; i++) {
		printf("next %d\n", inst);
		if (i == 0)
		    reclaim(inst);
	    }
	}
    }
    return 0;
}
