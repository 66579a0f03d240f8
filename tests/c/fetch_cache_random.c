/*
 * Fetches over cached domains and classic tables; instances are hidden, culled and added again between the fetches and from inside
 * the callback, and the profile changes in both places. FETCH-31, FETCH-34, FETCH-36, INST-41, INST-51.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define DOMAINS 4
#define INSTANCES 120

static unsigned int seed = 815;
static unsigned int
any(unsigned int n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static pmdaExt *ext;
static pmdaInstid table[INSTANCES];
static pmdaIndom classic = { DOMAINS, INSTANCES, table };
static int lists[DOMAINS + 1][40];
static pmInDomProfile elements[DOMAINS + 1];
static pmProfile some = { PM_PROFILE_INCLUDE, DOMAINS, elements };
static pmProfile everything = { PM_PROFILE_INCLUDE, 0, NULL }, nothing = { PM_PROFILE_EXCLUDE, 0, NULL };
static pmProfile *const profiles[] = { NULL, &some, &everything, &some, &nothing, NULL, &everything };
static int most = INSTANCES;

static void
change(void)
{
    static const int flags[] = { PMDA_CACHE_ADD, PMDA_CACHE_HIDE, PMDA_CACHE_CULL, PMDA_CACHE_ADD };
    unsigned int d = any(DOMAINS);
    char name[20];

    switch (any(8)) {
    case 0:
	ext->e_prof = profiles[any(LENGTH(profiles))];
	break;
    case 1:
	classic.it_numinst = (int)any(INSTANCES);
	break;
    case 2:
	table[any(INSTANCES)].i_inst = (int)any(200);
	break;
    case 3:
	elements[d].state = (int)any(2);
	elements[d].instances_len = (int)any(40);
	break;
    default:
	snprintf(name, sizeof(name), "i%u", any((unsigned int)most));
	pmdaCacheStore(pmInDom_build(DOMAIN, d), flags[any(4)], name, NULL);
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static void *private;
    pmInDom indom = metric->m_desc.indom;

    if (any(15) == 0)
	change();
    if (pmInDom_serial(indom) < DOMAINS && any(3) == 0)
	printf(" %d", pmdaCacheLookup(indom, (int)inst, NULL, &private));
    atom->ull = (unsigned long long)metric->m_desc.pmid * 4096 + inst;
    return any(12) ? PMDA_FETCH_STATIC : any(2) ? PMDA_FETCH_NOVALUES : PM_ERR_AGAIN;
}

int
main(void)
{
    static pmdaMetric metrics[DOMAINS + 1];
    static pmdaIndom indoms[DOMAINS + 1];
    pmdaInterface dispatch;
    pmID pmids[DOMAINS + 1];
    char name[20];
    unsigned int i, j;
    int round;

    for (i = 0; i <= DOMAINS; i++) {
	metrics[i].m_desc.pmid = pmids[i] = pmID_build(DOMAIN, 1, i);
	metrics[i].m_desc.type = i % 2 ? PM_TYPE_U64 : PM_TYPE_U32;
	metrics[i].m_desc.indom = i;
	indoms[i].it_indom = i;
	elements[i].indom = pmInDom_build(DOMAIN, i);
	elements[i].instances = lists[i];
	for (j = 0; j < 40; j++)
	    lists[i][j] = (int)any(INSTANCES + 20);
    }
    classic.it_indom = DOMAINS;
    for (i = 0; i < INSTANCES; i++) {
	table[i].i_inst = (int)any(200);
	table[i].i_name = "x";
    }
    some.profile_len = DOMAINS + 1;
    indoms[DOMAINS] = classic;
    agent(&dispatch, 7, value, indoms, DOMAINS + 1, metrics, DOMAINS + 1);
    ext = CALL(dispatch).ext;
    for (i = 0; i < DOMAINS; i++) {
	for (j = 0; j < INSTANCES; j++) {
	    snprintf(name, sizeof(name), "i%u", j);
	    if (i % 2 == 0 || j < 3)
		pmdaCacheStore(pmInDom_build(DOMAIN, i), PMDA_CACHE_ADD, name, NULL);
	}
    }
    for (round = 0; round < 60; round++) {
	for (i = 0; i < 5; i++)
	    change();
	indoms[DOMAINS].it_numinst = classic.it_numinst;
	elements[any(DOMAINS + 1)].instances_len = (int)any(40);
	lists[any(DOMAINS + 1)][any(40)] = (int)any(INSTANCES);
	printf("round %d\n", round);
	fetch(&dispatch, 1 + (int)any(DOMAINS + 1), pmids);
    }
    return 0;
}
