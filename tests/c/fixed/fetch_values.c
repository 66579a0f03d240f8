/*
 * Values that the C library reads through NULL pointers, copies with wrong lengths, or takes from the instance before (the atom of
 * FETCH-43); no metrics at all; no callback, also in the middle of a fetch; a hash that was never built. F-1, F-2, F-3, F-4, F-7,
 * F-8, F-9, F-17
 * memory: nothing is lost on ours
 */
#include "fetch.h"

static int what;
static char *large;
/* Loses its callback behind an instance. */
static pmdaExt *loses;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static pmValueBlock block;

    if (loses != NULL && inst == 2)
	loses->e_fetchCallBack = NULL;
    if (metric->m_desc.type <= PM_TYPE_DOUBLE) {
	if (inst == 1 || inst == PM_IN_NULL)
	    return 1;	/* no value, but says that it has one */
	if (metric->m_desc.type <= PM_TYPE_U32)
	    atom->ul = inst;
	else
	    atom->ull = 0x1234567800000000ULL + inst;
	return 1;
    }
    block.vlen = (unsigned int)what;
    if (metric->m_desc.type == PM_TYPE_STRING)
	atom->cp = what < 4 ? NULL : large + (what - 4);
    else if (what >= 0)
	atom->vbp = &block;
    return 1;
}

int
main(void)
{
    static pmdaInstid set[] = { { 0, "a" }, { 1, "b" }, { 2, "c" } };
    static pmdaIndom indoms[] = { { 1, 3, set } };
    static pmdaMetric metrics[16];
    static const int types[] = { 0, 3, 5, 6, 7, 8, 9, 10 };
    pmID pmids[16];
    pmdaInterface dispatch;
    pmdaResult *result = NULL;
    int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    large = malloc(0x1000000);
    memset(large, 'x', 0xffffff);
    large[0xffffff] = '\0';
    for (i = 0; i < 16; i++) {
	metrics[i].m_desc.pmid = pmids[i] = pmID_build(DOMAIN, 0, i + 1);
	metrics[i].m_desc.type = types[i / 2];
	metrics[i].m_desc.indom = i & 1 ? 1 : PM_INDOM_NULL;
    }
    agent(&dispatch, 7, value, indoms, 1, metrics, 16);
    fetch(&dispatch, 0, NULL);
    for (what = -1; what < 4; what++)
	fetch(&dispatch, what < 0 ? 6 : 16, pmids);
    what = 5;
    fetch(&dispatch, 1, pmids + 6);
    what = 9;
    if (CALL(dispatch).fetch(1, pmids + 6, &result, CALL(dispatch).ext) == 0) {
	printf("largest %u\n", result->vset[0]->vlist[0].value.pval->vlen);
	free_sets(result);
    }
    result = NULL;
    printf("negative %d", CALL(dispatch).fetch(-1, pmids, &result, CALL(dispatch).ext));
    printf(" %s\n", result ? "set" : "untouched");
    fetch(&dispatch, 0, pmids);
    CALL(dispatch).ext->e_flags |= PMDA_EXT_FLAG_HASHED;
    fetch(&dispatch, 2, pmids);
    CALL(dispatch).ext->e_fetchCallBack = NULL;
    fetch(&dispatch, 2, pmids);
    loses = CALL(dispatch).ext;
    loses->e_fetchCallBack = value;
    fetch(&dispatch, 2, pmids + 3);
    loses->e_fetchCallBack = value;
    loses = NULL;
    fetch(&dispatch, 2, pmids);
    free(large);
    return 0;
}
