/*
 * The table of a local context grows and moves, and nobody calls pmdaInterfaceMoved: the stock methods of agents that were
 * loaded before must not look where it was.
 * c-library: not run, it reads freed memory
 * MAIN-41 MAIN-56 INIT-51
 */
#include <sys/mman.h>
#include "setup.h"

static pmdaMetric metric = { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } };

int
main(void)
{
    pmdaInterface moved, *table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pmID pmids[] = { pmID_build(30, 0, 0), pmID_build(30, 0, 9) };
    pmDesc desc;
    pmdaResult *result;
    char *text;
    int sts;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (table == MAP_FAILED)
	return 1;
    memset(table, 0, sizeof(*table));
    table->domain = 30;
    pmdaDSO(table, PMDA_INTERFACE_7, "agent", NULL);
    pmdaSetFetchCallBack(table, setup_fetch);
    table->version.any.text = NULL;
    pmdaInit(table, NULL, 0, &metric, 1);
    moved = *table;
    munmap(table, sizeof(*table));

    moved.version.any.ext->e_context = 3;
    sts = moved.version.any.fetch(2, pmids, &result, moved.version.any.ext);
    printf("fetch %d: %d and %d\n", sts, result->vset[0]->numval, result->vset[1]->numval);
    moved.version.any.ext->e_resultCallBack(result);
    printf("desc %d\n", moved.version.any.desc(pmids[0], &desc, moved.version.any.ext));
    printf("desc %d\n", moved.version.any.desc(pmids[1], &desc, moved.version.any.ext));
    printf("text %d\n", pmdaText(pmids[0], PM_TEXT_PMID | PM_TEXT_ONELINE, &text, moved.version.any.ext));
    printf("store %d\n", moved.version.any.store(NULL, moved.version.any.ext));
    printf("context %d\n", pmdaGetContext());
    return 0;
}
