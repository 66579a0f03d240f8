/*
 * pmdaInit puts the domain into both tables, and matches the metrics' instance domains.
 * INIT-41 INIT-42 INIT-44 INIT-45 INIT-46 MAIN-50
 */
#include "setup.h"

#define METRIC(cluster, item, indom) { NULL, { PMDA_PMID(cluster, item), PM_TYPE_32, indom, PM_SEM_INSTANT, { 0 } } }

static void
init(const char *what, int domain, int flags, pmdaIndom *indoms, int nindoms, pmdaMetric *metrics, int nmetrics, int times)
{
    pmdaInterface table;
    int i;

    setup_daemon(&table, PMDA_INTERFACE_7, domain);
    pmdaSetFlags(&table, flags);
    table.version.any.ext->e_direct = 55;
    printf("%s, domain %d\n", what, domain);
    for (i = 0; i < times; i++) {
	pmdaInit(&table, indoms, nindoms, metrics, nmetrics);
	printf("  status %d flags 0x%x direct %d help %d\n", table.status, table.version.any.ext->e_flags,
	    table.version.any.ext->e_direct, table.version.any.ext->e_help);
    }
    for (i = 0; i < nindoms; i++)
	printf("  indom 0x%x\n", indoms[i].it_indom);
    for (i = 0; i < nmetrics; i++) {
	pmDesc desc = { 0 };

	printf("  metric 0x%x indom 0x%x", metrics[i].m_desc.pmid, metrics[i].m_desc.indom);
	if (table.status == 0) {
	    int sts = pmdaDesc(metrics[i].m_desc.pmid, &desc, table.version.any.ext);

	    printf(": found %d 0x%x", sts, desc.pmid);
	}
	printf("\n");
    }
}

int
main(void)
{
    static pmdaInstid set[] = { { 0, "a" }, { 1, "b" } };

    setvbuf(stdout, NULL, _IONBF, 0);
    if (dup2(1, 2) < 0)
	return 1;
    {
	pmdaIndom indoms[] = { { 0, 2, set }, { 4194303, 0, NULL }, { 0x80000007, 0, NULL }, { (9 << 22) | 8, 0, NULL } };
	pmdaMetric metrics[] = { METRIC(0, 0, 0), METRIC(0, 1, 4194303), METRIC(4095, 2, 7), METRIC(5, 3, PM_INDOM_NULL),
	    METRIC(0, 4, (77 << 22) | 8) };

	metrics[2].m_desc.pmid |= 0x80000000u;
	metrics[3].m_desc.pmid |= 66u << 22;
	init("direct over clusters, three times", 30, 0, indoms, 4, metrics, 5, 3);
	init("another domain", 511, 0, indoms, 4, metrics, 5, 1);
	init("domain zero", 0, PMDA_EXT_FLAG_DIRECT, indoms, 4, metrics, 5, 1);
	init("a large domain", 0x12345, 0, indoms, 4, metrics, 5, 1);
	init("a negative domain", -1, 0, indoms, 4, metrics, 5, 1);
    }
    {
	pmdaIndom indoms[] = { { 3, 2, set }, { 3, 1, set }, { PM_INDOM_NULL, 0, NULL }, { 5, 0, NULL } };
	pmdaMetric metrics[] = { METRIC(0, 0, 3), METRIC(0, 1, 5), METRIC(0, 2, 4194303) };

	init("a domain twice, a domain named none", 30, 0, indoms, 4, metrics, 3, 2);
    }
    {
	pmdaIndom indoms[] = { { 3, 2, set } };
	pmdaMetric metrics[] = { METRIC(0, 0, 3), METRIC(0, 7, 4), METRIC(0, 2, 5) };

	init("undefined serial", 30, 0, indoms, 1, metrics, 3, 2);
	init("undefined serial, hash wanted", 30, PMDA_EXT_FLAG_HASHED, indoms, 1, metrics, 3, 1);
	init("no indoms: no check", 30, 0, NULL, 0, metrics, 3, 1);
    }
    {
	pmdaMetric metrics[] = { METRIC(0, 1, PM_INDOM_NULL), METRIC(0, 0, PM_INDOM_NULL), METRIC(3, 2, PM_INDOM_NULL) };

	init("linear", 30, 0, NULL, 0, metrics, 3, 1);
	init("direct wanted", 30, PMDA_EXT_FLAG_DIRECT, NULL, 0, metrics, 3, 1);
	init("hash wanted", 30, PMDA_EXT_FLAG_HASHED, NULL, 0, metrics, 3, 2);
	init("both wanted", 30, PMDA_EXT_FLAG_HASHED | PMDA_EXT_FLAG_DIRECT, NULL, 0, metrics, 3, 1);
    }
    {
	pmdaMetric metrics[] = { METRIC(0, 0, PM_INDOM_NULL), METRIC(0, 1, PM_INDOM_NULL) };

	init("direct anyway, hash wanted", 30, PMDA_EXT_FLAG_HASHED, NULL, 0, metrics, 2, 1);
	init("direct", 30, PMDA_EXT_FLAG_DIRECT, NULL, 0, metrics, 2, 1);
	init("nothing, hash wanted", 30, PMDA_EXT_FLAG_HASHED, NULL, 0, NULL, 0, 1);
	init("nothing", 30, PMDA_EXT_FLAG_DIRECT, NULL, 0, NULL, 0, 1);
    }
    return 0;
}
