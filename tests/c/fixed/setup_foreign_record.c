/*
 * A pmdaExt made by hand, whose private pointer was never set or points to something else: no function reads through it.
 * INIT-2 MAIN-56
 * c-library: not run, it reads through the pointer
 */
#include <stdint.h>
#include "setup.h"
#include "foreign.h"

int
main(void)
{
    static char other[4096];
    void *records[] = { NULL, (void *)(uintptr_t)0x10, (void *)(uintptr_t)0xdeadbeefcafe0000, other };
    pmID pmids[] = { pmID_build(7, 0, 0), pmID_build(7, 0, 9) };
    pmLabelSet *set = NULL;
    pmdaResult *result;
    pmDesc desc;
    char *text;
    int i;

    for (i = 0; i < 4; i++) {
	pmdaExt *ext = foreign_ext(records[i]);
	printf("record %d\n", i);
	printf("desc %d", pmdaDesc(pmids[0], &desc, ext));
	printf(" %d\n", pmdaDesc(pmids[1], &desc, ext));
	printf("text %d\n", pmdaText(pmids[0], PM_TEXT_PMID | PM_TEXT_ONELINE, &text, ext));
	printf("store %d\n", pmdaStore(NULL, ext));
	printf("label %d\n", pmdaLabel(pmids[0], PM_LABEL_ITEM, &set, ext));
	printf("fetch %d\n", pmdaFetch(1, pmids, &result, ext));
	printf("values %d\n", result->vset[0]->numval);
	pmdaExtSetData(ext, ext);
	printf("data %d\n", pmdaExtGetData(ext) != NULL);
	pmdaRehash(ext, foreign_metrics, 1);
	printf("flags 0x%x\n", ext->e_flags);
	printf("unchanged %d\n", ext->e_ext == records[i] && other[0] == 0);
    }
    return 0;
}
