/*
 * The result of a fetch begins where its block begins: what frees it last, with pmFreeResult or with free, is right, as dbpmda
 * does after a store that was refused. FETCH-12 FETCH-71
 * memory: nothing is lost on ours
 */
#include <malloc.h>
#include "setup.h"

#define METRICS	40

#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
# define free_result pmFreeResult
#else
# define free_result pmFreeResult_v2
#endif

static pmdaMetric metrics[METRICS];
static pmdaInterface outer;
static pmID pmids[METRICS];
static int nested;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    pmdaResult *result;

    (void)inst;
    if (nested && pmID_item(metric->m_desc.pmid) == 0) {
	nested = 0;
	printf("inner fetch %d\n", pmdaFetch(3, pmids + 1, &result, outer.version.any.ext));
	outer.version.any.ext->e_resultCallBack(result);
	nested = 1;
    }
    atom->l = 7;
    return PMDA_FETCH_STATIC;
}

static pmdaResult *
fetch(pmdaExt *ext, int count)
{
    pmdaResult *result = NULL;
    int sts = pmdaFetch(count, pmids, &result, ext);

    printf("fetch %d: %d, room %d\n", count, sts,
	malloc_usable_size(result) >= sizeof(*result) + (count - 1) * sizeof(result->vset[0]));
    return result;
}

int
main(void)
{
    pmdaResult *first, *second;
    int i, way;

    setvbuf(stdout, NULL, _IONBF, 0);
    for (i = 0; i < METRICS; i++) {
	metrics[i].m_desc.pmid = PMDA_PMID(0, i);
	metrics[i].m_desc.indom = PM_INDOM_NULL;
	pmids[i] = pmID_build(9, 0, i);
    }
    for (way = 0; way < 4; way++) {
	memset(&outer, 0, sizeof(outer));
	outer.domain = 9;
	pmdaDSO(&outer, PMDA_INTERFACE_7, "agent", NULL);
	outer.version.any.text = NULL;
	pmdaSetFetchCallBack(&outer, value);
	pmdaInit(&outer, NULL, 0, metrics, METRICS);
	nested = way == 3;
	first = fetch(outer.version.any.ext, 1 + 9 * way);
	outer.version.any.ext->e_resultCallBack(first);
	second = fetch(outer.version.any.ext, 1 + 3 * way);
	printf("the same block again: %d\n", first == second);
	if (way & 1) {
	    free_result(second);
	} else {
	    outer.version.any.ext->e_resultCallBack(second);
	    free(second);
	}
	printf("freed\n");
    }
    return 0;
}
