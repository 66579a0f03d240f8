/*
 * Fetches of many metrics in an unsorted table over many domains, which the agent rewrites between the fetches and from inside its
 * callback; profiles come, go and change. Left out is what ours does otherwise: the callback's own metric stays (F-14), and no metric is
 * written twice (FETCH-20). FETCH-14, FETCH-20, FETCH-31, F-18, INST-41, INST-51.
 * memory: nothing is lost on ours
 */
#include "fetch.h"

#define METRICS 120
#define DOMAINS 40
#define INSTANCES 30

static unsigned int seed = 4711;
static unsigned int
any(unsigned int n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static pmdaMetric tables[2][METRICS];
static pmdaIndom indoms[2][DOMAINS];
static pmdaInstid sets[DOMAINS][INSTANCES];
static pmdaExt *ext;
/* The metric of the callback that runs, which must stay where it is. */
static const pmdaMetric *own;
static pmInDomProfile elements[DOMAINS];
static pmProfile profile = { PM_PROFILE_INCLUDE, DOMAINS, elements };
/* The profile that clients without a profile of their own send, and its opposite. */
static pmProfile everything = { PM_PROFILE_INCLUDE, 0, NULL }, nothing = { PM_PROFILE_EXCLUDE, 0, NULL };
static pmProfile *const profiles[] = { NULL, &profile, &everything, &nothing };

static int
is_known(pmID pmid)
{
    int i;

    for (i = 0; i < METRICS; i++)
	if (ext->e_metrics[i].m_desc.pmid == pmid)
	    return 1;
    return 0;
}

static void
change(void)
{
    unsigned int i = any(METRICS), j = any(METRICS), d = any(DOMAINS), e = any(DOMAINS);
    pmdaMetric metric, *table = ext->e_metrics;
    pmdaIndom indom, *domains = ext->e_indoms;
    unsigned int what = any(11);
    pmID pmid;

    if (own == &table[i] || own == &table[j])
	return;
    switch (what) {
    case 10:
	ext->e_prof = profiles[any(4)];
	break;
    case 0:
	metric = table[i], table[i] = table[j], table[j] = metric;
	break;
    case 1:
	indom = domains[d], domains[d] = domains[e], domains[e] = indom;
	break;
    case 2:
	domains[d].it_numinst = (int)any(INSTANCES + 1);
	break;
    case 3:
	if (domains[d].it_numinst > 0)
	    domains[d].it_set[any((unsigned int)domains[d].it_numinst)].i_inst = (int)any(1000);
	break;
    case 4:
	if (own != NULL)
	    break;
	memcpy(tables[ext->e_metrics == tables[0]], ext->e_metrics, sizeof(tables[0]));
	ext->e_metrics = tables[ext->e_metrics == tables[0]];
	break;
    case 5:
	if (own != NULL)
	    break;
	memcpy(indoms[ext->e_indoms == indoms[0]], ext->e_indoms, sizeof(indoms[0]));
	ext->e_indoms = indoms[ext->e_indoms == indoms[0]];
	break;
    case 6:
	ext->e_nmetrics = METRICS - (int)any(10);
	break;
    case 7:
	ext->e_nindoms = DOMAINS - (int)any(10);
	break;
    case 8:
	pmid = pmID_build(DOMAIN, 5, any(2) ? i : 1000);
	if (!is_known(pmid))
	    table[i].m_desc.pmid = pmid;
	break;
    default:
	break;
    }
}

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    atom->ull = (unsigned long long)metric->m_desc.pmid * 4096 + inst;
    own = metric;
    if (any(20) == 0)
	change();
    own = NULL;
    return any(10) ? PMDA_FETCH_STATIC : any(2) ? PMDA_FETCH_NOVALUES : PM_ERR_AGAIN;
}

int
main(void)
{
    static int lists[DOMAINS][20];
    pmdaInterface dispatch;
    pmID pmids[50];
    pmdaResult *result;
    unsigned int sum = 0, round, d, i;
    int j, k, n;

    for (d = 0; d < DOMAINS; d++) {
	indoms[0][d].it_indom = (d * 7) % DOMAINS + 1;
	indoms[0][d].it_numinst = INSTANCES / 2;
	indoms[0][d].it_set = sets[d];
	for (i = 0; i < INSTANCES; i++) {
	    sets[d][i].i_inst = (int)any(60);
	    sets[d][i].i_name = "x";
	}
    }
    for (i = 0; i < METRICS; i++) {
	tables[0][i].m_desc.pmid = pmID_build(DOMAIN, 1, (i * 11 + 3) % METRICS);
	tables[0][i].m_desc.type = any(2) ? PM_TYPE_U64 : PM_TYPE_U32;
	tables[0][i].m_desc.indom = any(4) ? any(DOMAINS) + 1 : PM_INDOM_NULL;
    }
    agent(&dispatch, 7, value, indoms[0], DOMAINS, tables[0], METRICS);
    ext = CALL(dispatch).ext;
    for (d = 0; d < DOMAINS; d++) {
	elements[d].indom = indoms[0][(d * 3) % DOMAINS].it_indom;
	elements[d].instances = lists[d];
    }
    for (round = 0; round < 2000; round++) {
	change();
	d = any(DOMAINS);
	elements[d].state = (int)any(2);
	elements[d].instances_len = (int)any(20);
	for (i = 0; i < 20; i++)
	    lists[d][i] = (int)any(60);
	lists[any(DOMAINS)][any(20)] = (int)any(60);
	ext->e_prof = any(4) ? &profile : profiles[any(4)];
	n = (int)any(50) + 1;
	for (j = 0; j < n; j++)
	    pmids[j] = any(5) ? pmID_build(DOMAIN, 1, any(METRICS)) : pmID_build(DOMAIN, 5, any(METRICS));
	if (CALL(dispatch).fetch(n, pmids, &result, ext) < 0)
	    return 1;
	for (j = 0; j < n; j++) {
	    pmValueSet *set = result->vset[j];

	    sum = sum * 31 + set->pmid;
	    sum = sum * 31 + (unsigned int)set->numval;
	    for (k = 0; k < set->numval; k++) {
		sum = sum * 31 + (unsigned int)set->vlist[k].inst;
		if (set->valfmt == PM_VAL_INSITU)
		    sum = sum * 31 + (unsigned int)set->vlist[k].value.lval;
		else
		    for (i = 0; i < 8; i++)
			sum = sum * 31 + (unsigned char)set->vlist[k].value.pval->vbuf[i];
	    }
	}
	free_sets(result);
	printf("%u: %d metrics, %u\n", round, n, sum);
    }
    return 0;
}
