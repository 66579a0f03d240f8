/*
 * A result whose parts are at odd addresses, as an agent's own fetch method may have packed them: the structure, the value sets
 * and the blocks. FETCH-3 WIRE-50
 * also on a debug build, in which Rust checks addresses
 * differs on arm: the processor refuses some of these addresses, in the C library as well
 */
#include "loop.h"

static char *
odd_copy(const void *data, size_t size)
{
    char *copy = (char *)calloc(1, size + 64) + 1;

    memcpy(copy, data, size);
    return copy;
}

static int
odd_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    int i, j, status = own_fetch(n, pmids, result, ext);

    for (i = 0; status >= 0 && i < n; i++) {
	pmValueSet *set = (*result)->vset[i];

	for (j = 0; set->valfmt != PM_VAL_INSITU && set->valfmt < 7 && j < set->numval; j++) {
	    pmValueBlock *block = set->vlist[j].value.pval;
	    set->vlist[j].value.pval = (pmValueBlock *)odd_copy(block, block->vlen);
	}
	(*result)->vset[i] = (pmValueSet *)odd_copy(set, sizeof(*set) + 3 * sizeof(pmValue));
    }
    if (status >= 0)
	*result = (pmdaResult *)odd_copy(*result, sizeof(**result) + n * sizeof(pmValueSet *));
    return status;
}

/* Nothing is freed: none of these addresses is malloc's. */
static void
odd_result(pmdaResult *result)
{
    say("result callback %d", result->numpmid);
}

static void
body(void)
{
    agent(7);
    dispatch.version.seven.fetch = odd_fetch;
    extension.e_resultCallBack = odd_result;
    run_loop();
}

int
main(void)
{
    start(body);
    ask("00000020 00007003 00000000 00000000 00000000 00000000 00000001 3f400000");
    ask("00000040 00007003 00000000 00000000 00000000 00000000 00000009 3f400000 3f400001 3f400002 3f400003 3f400004 3f400005"
	" 3f400006 3f400008 3f400009");
    finish();
    return 0;
}
