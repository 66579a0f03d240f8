/* An agent whose metrics all have the same event array of high resolution as their value. Include it after loop.h. */
static int handle;

static inline int
array_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    int i, status = own_fetch(n, pmids, result, ext);

    for (i = 0; status >= 0 && i < n; i++) {
	pmValueSet *set = (*result)->vset[i];

	set->numval = 1;
	set->valfmt = PM_VAL_DPTR;
	set->vlist[0].inst = PM_IN_NULL;
	set->vlist[0].value.pval = (pmValueBlock *)pmdaEventGetHighResAddr(handle);
    }
    return status;
}

/* The array stays the agent's. */
static inline void
array_result(pmdaResult *result)
{
    int i;

    for (i = 0; i < result->numpmid; i++)
	free(result->vset[i]);
}

static inline void
array_agent(int (*fetch)(int, pmID *, pmdaResult **, pmdaExt *))
{
    agent(7);
    dispatch.version.seven.fetch = fetch;
    extension.e_resultCallBack = array_result;
    handle = pmdaEventNewHighResArray();
}
