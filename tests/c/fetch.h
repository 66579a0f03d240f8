/* Helpers of the programs about fetching: an agent as a DSO, and a printer of results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"
#include "order.h"

#define DOMAIN 250
#define CALL(d) ((d).version.any)
#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Sets an agent up as a loader and its init function do. */
static inline void
agent(pmdaInterface *dispatch, int interface, pmdaFetchCallBack callback,
      pmdaIndom *indoms, int nindoms, pmdaMetric *metrics, int nmetrics)
{
    static char name[] = "agent";

    memset(dispatch, 0, sizeof(*dispatch));
    dispatch->domain = DOMAIN;
    pmdaDSO(dispatch, interface, name, NULL);
    CALL(*dispatch).text = pmdaText;
    pmdaSetFetchCallBack(dispatch, callback);
    pmdaInit(dispatch, indoms, nindoms, metrics, nmetrics);
    if (dispatch->status != 0)
	printf("set-up failed: %d\n", dispatch->status);
}

static inline void
print_block(const pmValueBlock *block)
{
    unsigned int length = block->vlen < 4 ? 0 : block->vlen - 4, i;
    unsigned char bytes[40];

    printf(" type %u length %u:", block->vtype, block->vlen);
    if (length > sizeof(bytes))
	length = sizeof(bytes);
    memcpy(bytes, block->vbuf, length);
    if (block->vtype <= PM_TYPE_DOUBLE)
	picture_order(bytes, 1, length);
    for (i = 0; i < length; i++)
	printf(" %02x", bytes[i]);
}

/* The size of a value set without values. */
#define FIRST_VALUE	offsetof(pmValueSet, vlist)

/* Prints one value set. */
static inline void
print_set(const pmValueSet *set)
{
    char text[32];
    int i;

    printf("  %s: numval %d valfmt %d", pmIDStr_r(set->pmid, text, sizeof(text)), set->numval, set->valfmt);
    if (malloc_usable_size((void *)set) < FIRST_VALUE + sizeof(pmValue) * (set->numval > 0 ? set->numval : 0))
	printf(" too small");
    for (i = 0; i < set->numval; i++) {
	printf(" [%d]", set->vlist[i].inst);
	if (set->valfmt == PM_VAL_INSITU)
	    printf(" %d", set->vlist[i].value.lval);
	else
	    print_block(set->vlist[i].value.pval);
    }
    printf("\n");
}

/* Frees what the caller of a fetch has to free. */
static inline void
free_sets(pmdaResult *result)
{
    int i, j;

    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];

	for (j = 0; set->valfmt == PM_VAL_DPTR && j < set->numval; j++)
	    free(set->vlist[j].value.pval);
	free(set);
    }
}

/* Fetches, prints and frees. */
static inline void
fetch(pmdaInterface *dispatch, int n, pmID *pmids)
{
    pmdaResult *result = NULL;
    int i, sts;

    sts = CALL(*dispatch).fetch(n, pmids, &result, CALL(*dispatch).ext);
    printf("fetch of %d = %d", n, sts);
    if (sts < 0 || result == NULL) {
	printf("%s\n", result ? "" : ", no result");
	return;
    }
    printf(", %d sets, time %ld.%06ld\n", result->numpmid, (long)result->timestamp.tv_sec, (long)result->timestamp.tv_usec);
    for (i = 0; i < result->numpmid; i++)
	print_set(result->vset[i]);
    free_sets(result);
}
