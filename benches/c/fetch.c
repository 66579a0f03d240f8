/* Fetching values. */
#include "bench.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    if (metric->m_desc.type == PM_TYPE_STRING)
	atom->cp = "a string value";
    else
	atom->ull = pmID_item(metric->m_desc.pmid) + inst;
    return PMDA_FETCH_STATIC;
}

static int
cached_value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    void *private;

    (void)metric;
    if (pmdaCacheLookup(indom(1), inst, NULL, &private) != PMDA_CACHE_ACTIVE)
	return PM_ERR_INST;
    atom->ull = (uintptr_t)private;
    return PMDA_FETCH_STATIC;
}

/* One fetch, freed as the receiver does; returns the number of values. */
static long
fetch(pmdaInterface *dispatch, int n, pmID *ids, struct outcome *out)
{
    pmdaResult *result;
    long values = 0;
    int i;

    must(dispatch->version.any.fetch(n, ids, &result, dispatch->version.any.ext) >= 0, "fetch");
    for (i = 0; i < n; i++) {
	pmValueSet *set = result->vset[i];

	add(out, set->numval);
	if (set->numval > 0) {
	    values += set->numval;
	    add(out, set->vlist[set->numval - 1].inst);
	    if (set->valfmt != PM_VAL_INSITU)
		add_bytes(out, set->vlist[set->numval - 1].value.pval->vbuf, 8);
	}
    }
    free_values(dispatch, result);
    return values;
}

/* An agent with n metrics, of which each fetch asks for some. */
static void
singular(long n, struct outcome *out, int metrics, int type, int stride, int flags)
{
    pmdaMetric *table = metric_table(n, type, PM_INDOM_NULL, stride);
    pmdaInterface *dispatch = agent(NULL, 0, table, n, flags, value);
    pmID ids[100];
    long i, turn, turns = rounds(n > 1000 && stride != 1 && !flags ? 500 : 2000000 / metrics);
    uint32_t state = 1;
    double start = now();

    for (turn = 0; turn < turns; turn++) {
	for (i = 0; i < metrics; i++)
	    ids[i] = table[next_random(&state) % n].m_desc.pmid;
	fetch(dispatch, metrics, ids, out);
    }
    took(out, now() - start, turns * metrics);
}

#define HASHED	PMDA_EXT_FLAG_HASHED

static void direct_64(long n, struct outcome *out) { singular(n, out, 100, PM_TYPE_U64, 1, 0); }
static void direct_string(long n, struct outcome *out) { singular(n, out, 100, PM_TYPE_STRING, 1, 0); }
static void hashed_64(long n, struct outcome *out) { singular(n, out, 100, PM_TYPE_U64, 7, HASHED); }
static void hashed_string(long n, struct outcome *out) { singular(n, out, 100, PM_TYPE_STRING, 7, HASHED); }
static void unsorted(long n, struct outcome *out) { singular(n, out, 100, PM_TYPE_U64, 7, 0); }

/* Tables of a hundred metrics: what a fetch costs that asks for n of them. */
static void n_direct(long n, struct outcome *out) { singular(100, out, n, PM_TYPE_U64, 1, 0); }
static void n_hashed(long n, struct outcome *out) { singular(100, out, n, PM_TYPE_U64, 7, HASHED); }
static void n_unsorted(long n, struct outcome *out) { singular(100, out, n, PM_TYPE_U64, 7, 0); }

static pmdaIndom *
classic(unsigned int serial, long n)
{
    pmdaIndom *table = calloc(1, sizeof(*table));
    long i;

    table->it_indom = serial;
    table->it_numinst = n;
    table->it_set = calloc(n, sizeof(*table->it_set));
    for (i = 0; i < n; i++) {
	table->it_set[i].i_inst = i;
	table->it_set[i].i_name = strdup(name_of(i));
    }
    return table;
}

static void
fill_cache(long n)
{
    long i;

    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), (void *)(i + 1));
}

/* One metric over a whole domain, or over the instances that a profile selects. */
static void
domain(long n, struct outcome *out, int cached, long selected)
{
    pmdaMetric *table = metric_table(1, PM_TYPE_U64, 1, 1);
    pmdaIndom *set = cached ? NULL : classic(1, n);
    pmdaInterface *dispatch;
    pmInDomProfile part = { .state = PM_PROFILE_EXCLUDE, .instances_len = selected };
    pmProfile profile = { .state = PM_PROFILE_EXCLUDE, .profile_len = 1, .profile = &part };
    long i, turn, turns = rounds(selected ? 2000 : 2000000 / n + 1), values = 0;
    double start;

    if (cached)
	fill_cache(n);
    dispatch = agent(set, cached ? 0 : 1, table, 1, 0, cached ? cached_value : value);
    if (selected) {
	part.indom = indom(1);
	part.instances = malloc(selected * sizeof(int));
	for (i = 0; i < selected; i++)
	    part.instances[i] = (i * 7919) % n;
	dispatch->version.any.profile(&profile, dispatch->version.any.ext);
    }
    start = now();
    for (turn = 0; turn < turns; turn++)
	values += fetch(dispatch, 1, &table[0].m_desc.pmid, out);
    took(out, now() - start, values);
}

static void table_all(long n, struct outcome *out) { domain(n, out, 0, 0); }
static void cache_all(long n, struct outcome *out) { domain(n, out, 1, 0); }
static void table_selected(long n, struct outcome *out) { domain(10000, out, 0, n); }
static void cache_selected(long n, struct outcome *out) { domain(10000, out, 1, n); }

static void table_ten(long n, struct outcome *out) { domain(n, out, 0, 10); }
static void cache_ten(long n, struct outcome *out) { domain(n, out, 1, 10); }

static void
many_domains(long n, struct outcome *out)
{
    pmdaMetric *table = metric_table(n, PM_TYPE_U64, 0, 1);
    pmdaIndom *sets = calloc(n, sizeof(*sets));
    pmID *ids = malloc(n * sizeof(*ids));
    pmdaInterface *dispatch;
    long i, turn, turns = rounds(400000) / n + 1, values = 0;
    double start;

    for (i = 0; i < n; i++) {
	sets[i] = *classic(i, 3);
	table[i].m_desc.indom = i;
    }
    dispatch = agent(sets, n, table, n, 0, value);
    for (i = 0; i < n; i++)
	ids[i] = table[i].m_desc.pmid;
    start = now();
    for (turn = 0; turn < turns; turn++)
	values += fetch(dispatch, n, ids, out);
    took(out, now() - start, values);
}

static void
init(long n, struct outcome *out)
{
    long i, turn, turns = rounds(n < 1000 ? 20000 : 200), ndomains = (n + 9) / 10;
    pmdaIndom *sets = calloc(ndomains, sizeof(*sets));
    pmdaMetric *table = metric_table(n, PM_TYPE_U64, 0, 1);
    pmdaInterface dispatch;
    double start, spent = 0;

    for (turn = 0; turn < turns; turn++) {
	for (i = 0; i < ndomains; i++)
	    sets[i].it_indom = i;
	for (i = 0; i < n; i++)
	    table[i].m_desc.indom = i % ndomains;
	memset(&dispatch, 0, sizeof(dispatch));
	dispatch.domain = DOMAIN;
	pmdaDSO(&dispatch, PMDA_INTERFACE_7, "bench", NULL);
	dispatch.version.any.text = NULL;
	pmdaSetFetchCallBack(&dispatch, value);
	start = now();
	pmdaInit(&dispatch, sets, ndomains, table, n);
	spent += now() - start;
	add(out, dispatch.status);
    }
    add_bytes(out, &table[n - 1].m_desc, sizeof(pmDesc));
    took(out, spent, turns * n);
}

/* A hundred metrics, and domains whose serials have gaps. */
static void
init_few(long n, struct outcome *out)
{
    long i, turn, turns = rounds(2000);
    pmdaIndom *sets = calloc(n, sizeof(*sets));
    pmdaMetric *table = metric_table(100, PM_TYPE_U64, 0, 3);
    pmdaInterface dispatch;
    double start, spent = 0;

    for (turn = 0; turn < turns; turn++) {
	for (i = 0; i < n; i++)
	    sets[i].it_indom = i * 3;
	for (i = 0; i < 100; i++)
	    table[i].m_desc.indom = i * 7919 % n * 3;
	memset(&dispatch, 0, sizeof(dispatch));
	dispatch.domain = DOMAIN;
	pmdaDSO(&dispatch, PMDA_INTERFACE_7, "bench", NULL);
	dispatch.version.any.text = NULL;
	pmdaSetFetchCallBack(&dispatch, value);
	start = now();
	pmdaInit(&dispatch, sets, n, table, 100);
	spent += now() - start;
	add(out, dispatch.status);
    }
    add_bytes(out, &table[99].m_desc, sizeof(pmDesc));
    took(out, spent, turns * 100);
}

static void
rehash(long n, struct outcome *out)
{
    pmdaMetric *table = metric_table(n, PM_TYPE_U64, PM_INDOM_NULL, 7);
    pmdaInterface *dispatch = agent(NULL, 0, table, n, 0, value);
    long turn, turns = rounds(50000) / n + 1;
    double start = now();

    for (turn = 0; turn < turns; turn++)
	pmdaRehash(dispatch->version.any.ext, table, n);
    took(out, now() - start, turns * n);
    fetch(dispatch, 1, &table[n / 2].m_desc.pmid, out);
}

const struct scenario fetch_scenarios[] = {
    { "fetch, direct, 64-bit", direct_64 },
    { "fetch, direct, string", direct_string },
    { "fetch, hashed, 64-bit", hashed_64 },
    { "fetch, hashed, string", hashed_string },
    { "fetch, unsorted table", unsorted },
    { "fetch of n metrics, direct", n_direct },
    { "fetch of n metrics, hashed", n_hashed },
    { "fetch of n metrics, unsorted table", n_unsorted },
    { "fetch, instance table", table_all },
    { "fetch, cache with lookup", cache_all },
    { "fetch, selected of 10,000, table", table_selected },
    { "fetch, selected of 10,000, cache", cache_selected },
    { "fetch, ten selected, table", table_ten },
    { "fetch, ten selected, cache", cache_ten },
    { "fetch, many domains", many_domains },
    { "pmdaInit", init },
    { "pmdaInit, 100 metrics, many domains", init_few },
    { "pmdaRehash", rehash },
    { NULL, NULL },
};
