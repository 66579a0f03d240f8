/* pmdaInstance on classic tables and on the cache. */
#include "bench.h"

static pmdaIndom set;

static pmdaInterface *
with_table(long n)
{
    static pmdaMetric *table;
    long i;

    table = metric_table(1, PM_TYPE_U64, 1, 1);
    set.it_indom = 1;
    set.it_numinst = n;
    set.it_set = calloc(n, sizeof(*set.it_set));
    for (i = 0; i < n; i++) {
	set.it_set[i].i_inst = i * 3;
	set.it_set[i].i_name = strdup(name_of(i));
    }
    return agent(&set, 1, table, 1, 0, (pmdaFetchCallBack)abort);
}

/* Frees an answer as the main loop does. */
static void
take(pmInResult *result, struct outcome *out)
{
    int i;

    add(out, result->numinst);
    for (i = 0; i < result->numinst; i++) {
	if (result->instlist)
	    add(out, result->instlist[i]);
	if (result->namelist) {
	    add(out, result->namelist[i][strlen(result->namelist[i]) - 1]);
	    free(result->namelist[i]);
	}
    }
    free(result->instlist);
    free(result->namelist);
    free(result);
}

static void
single(long n, struct outcome *out, int by_name)
{
    pmdaInterface *dispatch = with_table(n);
    pmdaExt *ext = dispatch->version.any.ext;
    long i, count = rounds(n <= 100 ? 200000 : n > 1000 && by_name ? 2000 : 20000);
    uint32_t state = 1;
    pmInResult *result;
    double start;

    /* Both implementations may warm up what they remember. */
    for (i = 0; i < 2; i++) {
	pmdaInstid *last = &set.it_set[n - 1];

	must(pmdaInstance(set.it_indom, by_name ? (int)PM_IN_NULL : last->i_inst, by_name ? last->i_name : NULL, &result, ext) == 0,
	     "instance");
	take(result, out);
    }
    start = now();
    for (i = 0; i < count; i++) {
	pmdaInstid *one = &set.it_set[next_random(&state) % n];

	if (by_name)
	    must(pmdaInstance(set.it_indom, PM_IN_NULL, one->i_name, &result, ext) == 0, "by name");
	else
	    must(pmdaInstance(set.it_indom, one->i_inst, NULL, &result, ext) == 0, "by id");
	take(result, out);
    }
    took(out, now() - start, count);
}

static void by_id(long n, struct outcome *out) { single(n, out, 0); }
static void by_name(long n, struct outcome *out) { single(n, out, 1); }

/* The same of a cached domain. */
static void
single_cached(long n, struct outcome *out, int by_name)
{
    long i, count = rounds(200000);
    char (*names)[32] = malloc(n * sizeof(*names));
    uint32_t state = 1;
    pmInResult *result;
    double start;

    for (i = 0; i < n; i++) {
	strcpy(names[i], name_of(i));
	must(pmdaCacheStore(indom(1), PMDA_CACHE_ADD, names[i], NULL) == i, "store");
    }
    start = now();
    for (i = 0; i < count; i++) {
	int inst = next_random(&state) % n;

	must(pmdaInstance(indom(1), by_name ? (int)PM_IN_NULL : inst, by_name ? names[inst] : NULL, &result, NULL) == 0, "cached");
	take(result, out);
    }
    took(out, now() - start, count);
}

static void by_id_cached(long n, struct outcome *out) { single_cached(n, out, 0); }
static void by_name_cached(long n, struct outcome *out) { single_cached(n, out, 1); }

static void
all(pmInDom id, pmdaExt *ext, long n, struct outcome *out)
{
    long turn, turns = rounds(1000000) / n + 1;
    pmInResult *result;
    double start = now();

    for (turn = 0; turn < turns; turn++) {
	must(pmdaInstance(id, PM_IN_NULL, NULL, &result, ext) == 0, "all");
	take(result, out);
    }
    took(out, now() - start, turns * n);
}

static void
all_table(long n, struct outcome *out)
{
    pmdaInterface *dispatch = with_table(n);

    all(set.it_indom, dispatch->version.any.ext, n, out);
}

static void
all_cache(long n, struct outcome *out)
{
    long i;

    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), NULL);
    all(indom(1), NULL, n, out);
}

const struct scenario instance_scenarios[] = {
    { "pmdaInstance by id", by_id },
    { "pmdaInstance by name", by_name },
    { "pmdaInstance by id, cache", by_id_cached },
    { "pmdaInstance by name, cache", by_name_cached },
    { "pmdaInstance, all, table", all_table },
    { "pmdaInstance, all, cache", all_cache },
    { NULL, NULL },
};
