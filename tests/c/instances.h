/* Helpers of the programs about instances: each makes a call, and prints the call with its whole result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

/* Frees a list block by block. */
static inline void
free_list(pmInResult *list)
{
    int i;

    for (i = 0; list->namelist && i < list->numinst; i++)
	free(list->namelist[i]);
    free(list->instlist);
    free(list->namelist);
    free(list);
}

/* Asks pmdaInstance, prints the whole answer, and frees it. */
static inline void
ask(pmInDom indom, int inst, const char *name, pmdaExt *ext)
{
    static pmInResult untouched;
    pmInResult *result = &untouched;
    char *copy = name ? strdup(name) : NULL;
    int i, sts;

    sts = pmdaInstance(indom, inst, copy, &result, ext);
    printf("instance(%x, %d, %s%s%s) = %d", indom, inst, name ? "\"" : "", name ? name : "NULL", name ? "\"" : "", sts);
    free(copy);
    if (result == &untouched) {
	printf(", untouched\n");
	return;
    }
    printf(", indom %x, %d:", result->indom, result->numinst);
    for (i = 0; i < result->numinst; i++) {
	if (result->instlist)
	    printf(" %d", result->instlist[i]);
	if (result->namelist)
	    printf(" \"%s\"", result->namelist[i]);
    }
    printf("%s%s\n", result->instlist ? " ids" : "", result->namelist ? " names" : "");
    free_list(result);
}

/* Prints the public state of an iteration. */
static inline void
state(const char *what, pmdaExt *ext)
{
    printf("%s: singular %d ordinal %d idp %s", what, ext->e_singular, ext->e_ordinal, ext->e_idp ? "" : "NULL");
    if (ext->e_idp)
	printf("indom %x numinst %d set %s", ext->e_idp->it_indom, ext->e_idp->it_numinst, ext->e_idp->it_set ? "yes" : "no");
    printf("\n");
}

/* Goes over a domain as pmdaFetch does, and prints every step. */
static inline void
iterate(pmInDom indom, pmdaExt *ext)
{
    int inst = -77, n = 0;

    printf("count(%x) = %d\n", indom, __pmdaCntInst(indom, ext));
    __pmdaStartInst(indom, ext);
    state("start", ext);
    while (__pmdaNextInst(&inst, ext) == 1 && n++ < 100)
	printf(" %d@%d/%d", inst, ext->e_ordinal, ext->e_singular);
    printf("\n");
    inst = -77;
    printf("again %d, inst %d; ", __pmdaNextInst(&inst, ext), inst);
    state("end", ext);
}
