/*
 * Memory runs out while the result, a value set, or room for more values is asked for. The fetch fails, keeps the change flags, and
 * the next one works. The C library reads through NULL afterwards. F-5, F-6, F-17, FETCH-10, FETCH-53, FETCH-74
 * not below an emulator: the limit of memory is the emulator's as well
 */
#include <sys/resource.h>
#include "fetch.h"

#define MANY 1000000
static pmdaInstid few[] = { { 1, "a" } }, many[MANY];
static pmdaIndom indoms[] = { { 1, 1, few }, { 2, 1, few } };
static int grow;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    if (grow) {
	indoms[0].it_set = many;
	indoms[0].it_numinst = MANY;
    }
    if (metric->m_desc.type == PM_TYPE_64)
	atom->ll = inst;
    else
	atom->l = (int)inst;
    return 1;
}

static void
small(pmdaInterface *dispatch, pmID *pmids)
{
    indoms[0].it_set = few;
    indoms[0].it_numinst = 1;
    grow = 0;
    fetch(dispatch, 3, pmids);
}

int
main(void)
{
    static pmdaMetric metrics[] = {
	{ NULL, { 0, PM_TYPE_64, 2, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
	{ NULL, { 1, PM_TYPE_32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
	{ NULL, { 2, PM_TYPE_64, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    };
    struct rlimit limit;
    unsigned long pages = 0;
    pmdaInterface dispatch;
    pmdaResult *result = NULL;
    pmID pmids[3];
    FILE *f;
    int i;

    setvbuf(stdout, NULL, _IONBF, 0);
    for (i = 0; i < MANY; i++)
	many[i].i_inst = i;
    agent(&dispatch, 7, value, indoms, 2, metrics, 3);
    for (i = 0; i < 3; i++)
	pmids[i] = metrics[i].m_desc.pmid;
    small(&dispatch, pmids);
    if ((f = fopen("/proc/self/statm", "r")) == NULL || fscanf(f, "%lu", &pages) != 1)
	return 1;
    fclose(f);
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (sizeof(void *) << 20);
    if (setrlimit(RLIMIT_AS, &limit) < 0)
	return 1;

    CALL(dispatch).ext->e_flags |= PMDA_EXT_NAMES_CHANGE;
    printf("a result too large: %d %s\n", CALL(dispatch).fetch(0x7fffffff, pmids, &result, CALL(dispatch).ext),
	result ? "set" : "untouched");
    small(&dispatch, pmids);
    CALL(dispatch).ext->e_flags |= PMDA_EXT_LABEL_CHANGE;
    grow = 1;
    printf("a set that grows too large: %d %s\n", CALL(dispatch).fetch(2, pmids, &result, CALL(dispatch).ext),
	result ? "set" : "untouched");
    small(&dispatch, pmids);
    indoms[0].it_set = many;
    indoms[0].it_numinst = MANY;
    printf("a set too large from the start: %d %s\n", CALL(dispatch).fetch(3, pmids, &result, CALL(dispatch).ext),
	result ? "set" : "untouched");
    small(&dispatch, pmids);
    return 0;
}
