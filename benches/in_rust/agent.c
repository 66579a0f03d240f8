/*
 * The agent of src/lib.rs in C, as a daemon and as a DSO: one value, fixed rows with three values each, and jobs of which 1 % are
 * replaced with each fetch. The variables ROWS and JOBS say how many there are. With the variable METRICS so many metrics are declared
 * anew by each fetch of the metric 2.0.
 */
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../../tests/c/generation.h"

struct row {
    unsigned int	number;
    unsigned long long	bytes;
    char		text[32];
};

enum { ROWS, JOBS };

static struct row	*rows;
static unsigned int	*jobs;
static unsigned int	row_count, job_count, oldest, many;
static pmdaMetric	*all;
static pmdaNameSpace	*names;

static pmdaIndom domains[] = {
    [ROWS] = { ROWS, 0, NULL },
    [JOBS] = { JOBS, 0, NULL },
};

#define METRIC(cluster, item, type, domain) \
    { NULL, { PMDA_PMID(cluster, item), type, domain, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } }

static pmdaMetric metrics[] = {
    METRIC(0, 0, PM_TYPE_U32, PM_INDOM_NULL),
    METRIC(0, 1, PM_TYPE_U32, ROWS),
    METRIC(0, 2, PM_TYPE_U64, ROWS),
    METRIC(0, 3, PM_TYPE_STRING, ROWS),
    METRIC(1, 0, PM_TYPE_U32, JOBS),
    METRIC(2, 0, PM_TYPE_U32, PM_INDOM_NULL),
};

enum { FEW = sizeof(metrics) / sizeof(metrics[0]), CLUSTER = 100 };

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    void *job;

    if (pmID_cluster(metric->m_desc.pmid) == 1) {
	int status = pmdaCacheLookup(domains[JOBS].it_indom, inst, NULL, &job);

	if (status < 0)
	    return status;
	if (status != PMDA_CACHE_ACTIVE)
	    return PMDA_FETCH_NOVALUES;
	atom->ul = *(unsigned int *)job;
	return PMDA_FETCH_STATIC;
    }
    if (pmID_cluster(metric->m_desc.pmid) == 2) {
	atom->ul = many;
	return PMDA_FETCH_STATIC;
    }
    if (pmID_cluster(metric->m_desc.pmid) >= CLUSTER) {
	atom->ul = pmID_item(metric->m_desc.pmid);
	return PMDA_FETCH_STATIC;
    }
    switch (pmID_item(metric->m_desc.pmid)) {
    case 0:
	atom->ul = row_count;
	return PMDA_FETCH_STATIC;
    case 1:
	atom->ul = rows[inst].number;
	return PMDA_FETCH_STATIC;
    case 2:
	atom->ull = rows[inst].bytes;
	return PMDA_FETCH_STATIC;
    case 3:
	atom->cp = rows[inst].text;
	return PMDA_FETCH_STATIC;
    default:
	return PM_ERR_PMID;
    }
}

static void
work(void)
{
    pmInDom	domain = domains[JOBS].it_indom;
    unsigned int number;
    char	name[32];

    oldest += job_count / 100;
    pmdaCacheOp(domain, PMDA_CACHE_INACTIVE);
    for (number = oldest; number < oldest + job_count; number++) {
	unsigned int *job = &jobs[number % job_count];

	*job = number;
	snprintf(name, sizeof(name), "job-%u", number);
	pmdaCacheStore(domain, PMDA_CACHE_ADD, name, job);
    }
}

/* Names and descriptions of many metrics, in place of those that were there. */
static void
declare(pmdaExt *ext)
{
    unsigned int i;
    char	name[64];

    if (names != NULL)
	pmdaTreeRelease(names);
    free(all);
    all = calloc(FEW + many, sizeof(all[0]));
    memcpy(all, metrics, sizeof(metrics));
    pmdaTreeCreate(&names);
    for (i = 0; i < many; i++) {
	pmID id = pmID_build(250, CLUSTER + i / 1000, i % 1000);

	snprintf(name, sizeof(name), "rows.c%u.group%u.m%u", i / 1000, i % 1000 / 100, i);
	pmdaTreeInsert(names, id, name);
	all[FEW + i].m_desc = (pmDesc){ id, PM_TYPE_U32, PM_INDOM_NULL, PM_SEM_COUNTER, PMDA_PMUNITS(0, 0, 1, 0, 0, PM_COUNT_ONE) };
    }
    pmdaTreeRebuildHash(names, many);
    pmdaRehash(ext, all, FEW + many);
}

static int
fetch(int count, pmID *ids, pmdaResult **result, pmdaExt *ext)
{
    int i;

    for (i = 0; i < count; i++) {
	if (pmID_cluster(ids[i]) == 1) {
	    work();
	    break;
	}
	if (pmID_cluster(ids[i]) == 2)
	    declare(ext);
    }
    return pmdaFetch(count, ids, result, ext);
}

static unsigned int
number_of(const char *variable)
{
    const char	*text = getenv(variable);

    return text ? strtoul(text, NULL, 10) : 0;
}

static void
begin(pmdaInterface *dispatch)
{
    unsigned int i;

    row_count = number_of("ROWS");
    job_count = number_of("JOBS");
    many = number_of("METRICS");
    rows = calloc(row_count + 1, sizeof(rows[0]));
    jobs = calloc(job_count + 1, sizeof(jobs[0]));
    domains[ROWS].it_set = calloc(row_count + 1, sizeof(pmdaInstid));
    domains[ROWS].it_numinst = row_count;
    for (i = 0; i < row_count; i++) {
	char name[32];

	rows[i] = (struct row){ .number = i, .bytes = (unsigned long long)i << 32 };
	snprintf(rows[i].text, sizeof(rows[i].text), "text of row %u", i);
	snprintf(name, sizeof(name), "row-%u", i);
	domains[ROWS].it_set[i] = (pmdaInstid){ i, strdup(name) };
    }
    dispatch->version.any.fetch = fetch;
    pmdaSetFetchCallBack(dispatch, value);
    if (many > 0)
	pmdaSetFlags(dispatch, PMDA_EXT_FLAG_HASHED);
    pmdaInit(dispatch, domains, 2, metrics, FEW);
}

void rows_init(pmdaInterface *dispatch);

void
rows_init(pmdaInterface *dispatch)
{
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "rows", NULL);
    if (dispatch->status == 0)
	begin(dispatch);
}

int
main(int argc, char **argv)
{
    pmdaInterface	dispatch = { 0 };
    pmdaOptions		options = { .short_options = "d:l:" };

    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "rows", 250, "rows.log", NULL);
    pmdaGetOptions(argc, argv, &options, &dispatch);
    begin(&dispatch);
    pmdaOpenLog(&dispatch);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
