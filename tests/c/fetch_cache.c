/*
 * Fetches of cached domains. The callback looks entries up, stores, hides and culls; profiles select few and many; ids are culled and
 * used again. FETCH-31, FETCH-32, FETCH-34, INST-10, INST-44, INST-53.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

static pmdaInterface dispatch;
static pmdaExt *ext;
static pmInDom indom;
static int what, calls;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    void *private = NULL;
    char *name = NULL, more[16];
    int sts;

    sts = pmdaCacheLookup(metric->m_desc.indom, (int)inst, &name, &private);
    printf("    callback %d %s state %d private %p\n", (int)inst, name ? name : "none", sts, private);
    atom->ll = (long)private;
    calls++;
    switch (what) {
    case 1:	/* what was given and what will be, with something else attached */
	snprintf(more, sizeof(more), "i%d", calls * 5 % 8);
	pmdaCacheStore(indom, PMDA_CACHE_ADD, more, (void *)(long)calls);
	break;
    case 2:
	pmdaCacheStore(indom, PMDA_CACHE_HIDE, "i5", NULL);
	pmdaCacheStore(indom, PMDA_CACHE_CULL, "i7", NULL);
	break;
    case 3:
	if (calls == 2)
	    pmdaCacheOp(indom, PMDA_CACHE_INACTIVE);
	break;
    case 4:
	pmdaCacheStore(indom, PMDA_CACHE_ADD, "i5", (void *)5L);
	break;
    case 5:
	return inst & 1 ? PM_ERR_INST : PMDA_FETCH_STATIC;
    }
    return PMDA_FETCH_STATIC;
}

int
main(void)
{
    static pmdaInstid set[] = { { 3, "x" } };
    static pmdaIndom indoms[] = { { 1, 1, set } };
    static pmdaMetric metrics[1] = { { NULL, { 0, PM_TYPE_64, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } } };
    static int list[] = { 11, 5, 2, 2, 7, 900, -4 };
    static pmInDomProfile element;
    static pmProfile profile = { PM_PROFILE_INCLUDE, 1, &element };
    pmID pmid;
    char name[16];
    int i, n, state;

    setvbuf(stdout, NULL, _IONBF, 0);
    agent(&dispatch, 7, value, indoms, 1, metrics, 1);
    ext = CALL(dispatch).ext;
    pmid = metrics[0].m_desc.pmid;
    indom = indoms[0].it_indom;
    fetch(&dispatch, 1, &pmid);
    pmdaCacheLookup(indom, 0, NULL, NULL);
    fetch(&dispatch, 1, &pmid);
    for (what = 0; what < 6; what++) {
	for (n = 0; n < 9; n++) {
	    pmdaCacheOp(indom, PMDA_CACHE_CULL);
	    for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		pmdaCacheStore(indom, PMDA_CACHE_ADD, name, (void *)(long)(what * 100 + i));
	    }
	    list[0] = -1;
	    pmdaCacheLookupName(indom, "i3", &list[0], NULL);
	    for (i = 1; i < 7; i++)
		list[i] = i == 4 ? list[0] : list[0] + i - 1;
	    state = n & 1 ? PM_PROFILE_EXCLUDE : PM_PROFILE_INCLUDE;
	    element.indom = indom;
	    element.state = state;
	    element.instances = list;
	    element.instances_len = n < 3 ? 3 : n < 5 ? 7 : n < 7 ? 1 : 0;
	    ext->e_prof = n == 8 ? NULL : &profile;
	    printf("case %d profile %d state %d of %d\n", what, n, state, pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE));
	    calls = 0;
	    fetch(&dispatch, 1, &pmid);
	    printf("%d left, ordinal %d\n", pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE), ext->e_ordinal);
	}
    }
    return 0;
}
