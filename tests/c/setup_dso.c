/*
 * A loader and several agents in one program: the loader opens the program itself as a shared object, finds the init
 * functions by name, gives them a challenge as pmcd does, and calls the methods directly. Its table moves in between.
 * cc: -rdynamic
 * INIT-1 INIT-12 INIT-51 MAIN-40 MAIN-41 MAIN-42 MAIN-43 MAIN-44 MAIN-45 MAIN-56 FETCH-73
 */
#include <dlfcn.h>
#include "setup.h"

static pmdaMetric metrics[2][1] = {
    { { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } },
    { { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } } },
};

void first_init(pmdaInterface *);
void second_init(pmdaInterface *);
void bad_init(pmdaInterface *);

static int
first_value(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    printf("  first: metric 0x%x inst %u context %d\n", metric->m_desc.pmid, inst, pmdaGetContext());
    value->l = 11;
    return PMDA_FETCH_STATIC;
}

static int
second_value(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    printf("  second: metric 0x%x inst %u context %d\n", metric->m_desc.pmid, inst, pmdaGetContext());
    value->l = 22;
    return PMDA_FETCH_STATIC;
}

static int
second_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    printf("  second's own desc\n");
    return pmdaDesc(pmid, desc, ext);
}

static int
first_attribute(int context, int attribute, const char *value, int length, pmdaExt *ext)
{
    printf("  first: context %d attribute %d value %s length %d\n", context, attribute, value, length);
    return pmdaAttribute(context, attribute, value, length, ext);
}

static void
ended(int context)
{
    printf("  context %d has ended\n", context);
}

void
first_init(pmdaInterface *table)
{
    pmdaDSO(table, PMDA_INTERFACE_7, "first", NULL);
    pmdaSetFetchCallBack(table, first_value);
    table->version.six.attribute = first_attribute;
    pmdaSetCommFlags(table, PMDA_FLAG_AUTHORIZE);
    pmdaSetEndContextCallBack(table, ended);
    pmdaInit(table, NULL, 0, metrics[0], 1);
}

void
second_init(pmdaInterface *table)
{
    pmdaDSO(table, PMDA_INTERFACE_3, "second", NULL);
    table->version.any.desc = second_desc;
    pmdaSetFetchCallBack(table, second_value);
    pmdaInit(table, NULL, 0, metrics[1], 1);
}

void
bad_init(pmdaInterface *table)
{
    pmdaDSO(table, 8, "bad", NULL);
}

/* Loads an agent as pmcd does: the table is poisoned but for what the loader fills in. */
static void
load(pmdaInterface *table, const char *name, int domain)
{
    void *self = dlopen(NULL, RTLD_NOW);
    void (*init)(pmdaInterface *) = (void (*)(pmdaInterface *))dlsym(self, name);

    memset(table, 0x5a, sizeof(*table));
    table->domain = domain;
    table->comm.pmda_interface = 255;
    table->comm.pmapi_version = (unsigned char)~2;
    table->comm.flags = 0;
    table->status = 0;
    init(table);
    printf("%s: status %d interface %d pmapi %d domain %d flags 0x%x\n", name, table->status, table->comm.pmda_interface,
	table->comm.pmapi_version, table->domain, table->comm.flags);
}

/* One fetch by the methods alone; the values are the loader's to free. */
static void
fetch(pmdaInterface *table, int context)
{
    pmID pmid = pmID_build(table->domain, 0, 0), unknown = pmID_build(table->domain, 9, 9), pmids[2] = { pmid, unknown };
    pmProfile profile = { PM_PROFILE_INCLUDE, 0, NULL };
    pmdaExt *ext = table->version.any.ext;
    pmDesc desc = { 0 };
    pmdaResult *result, *again;
    int sts, i;

    if (table->comm.pmda_interface >= PMDA_INTERFACE_5)
	ext->e_context = context;
    sts = table->version.any.profile(&profile, ext);
    printf(" profile %d kept %d\n", sts, ext->e_prof == &profile);
    if (table->comm.flags & PMDA_FLAG_AUTHORIZE)
	printf(" attribute %d\n", table->version.six.attribute(context, PMDA_ATTR_USERID, "1000", 5, ext));
    sts = table->version.any.desc(pmid, &desc, ext);
    printf(" desc %d 0x%x\n", sts, desc.pmid);
    sts = table->version.any.fetch(2, pmids, &result, ext);
    printf(" fetch %d, %d sets: 0x%x %d values %d, 0x%x %d values\n", sts, result->numpmid, result->vset[0]->pmid,
	result->vset[0]->numval, result->vset[0]->vlist[0].value.lval, result->vset[1]->pmid, result->vset[1]->numval);
    for (i = 0; i < result->numpmid; i++)
	free(result->vset[i]);
    sts = table->version.any.fetch(1, pmids, &again, ext);
    printf(" fetch %d, the block is reused %d\n", sts, again == result);
    free(again->vset[0]);
    ext->e_prof = NULL;
    if (ext->e_endCallBack)
	ext->e_endCallBack(context);
}

int
main(void)
{
    pmdaInterface *tables = malloc(2 * sizeof(*tables)), *moved, bad;

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0 || tables == NULL)
	return 1;
    load(&bad, "bad_init", 99);
    load(&tables[0], "first_init", 30);
    load(&tables[1], "second_init", 31);
    fetch(&tables[0], 5);
    fetch(&tables[1], 6);

    /* The loader's table grows; pmcd says so. */
    moved = malloc(2 * sizeof(*moved));
    if (moved == NULL)
	return 1;
    memcpy(moved, tables, 2 * sizeof(*moved));
    pmdaInterfaceMoved(&moved[0]);
    pmdaInterfaceMoved(&moved[1]);
    memset(tables, 0xee, 2 * sizeof(*tables));
    free(tables);
    fetch(&moved[0], 7);
    fetch(&moved[1], 8);

    /* pmcd also says so for agents that have no extension. */
    memset(&bad, 0, sizeof(bad));
    pmdaInterfaceMoved(&bad);
    free(moved);
    return 0;
}
