/* Runs one scenario with one size and prints: time per operation, number of operations, checksum, peak memory in KiB. */
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include "bench.h"

/* Where instructions are counted, only what lies between two looks at the clock counts. */
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

static double
clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

double
now(void)
{
    CALLGRIND_TOGGLE_COLLECT;
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double
wall(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

long
rounds(long often)
{
    if (getenv("BENCH_SHORT") == NULL)
	return often;
    return often > 200 ? often / 200 : 1;
}

void
took(struct outcome *out, double ns, double count)
{
    out->ns = ns / count;
    out->count = count;
}

int
repeats(long size)
{
    return size < 1000 ? REPEATS : 1;
}

void
add(struct outcome *out, uint64_t value)
{
    out->sum = (out->sum ^ value) * 0x100000001b3ULL;
}

void
add_bytes(struct outcome *out, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;

    while (length-- > 0)
	add(out, *p++);
}

const char *
name_of(long number)
{
    static char name[32];

    snprintf(name, sizeof(name), "instance%ld", number);
    return name;
}

uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

pmInDom
indom(unsigned int serial)
{
    return (DOMAIN << 22) | serial;
}

void
must(int holds, const char *what)
{
    if (!holds) {
	fprintf(stderr, "bench: failed: %s\n", what);
	exit(2);
    }
}

pmdaInterface *
agent(pmdaIndom *indoms, int nindoms, pmdaMetric *metrics, int nmetrics, int flags, pmdaFetchCallBack callback)
{
    pmdaInterface *dispatch = calloc(1, sizeof(*dispatch));

    dispatch->domain = DOMAIN;
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "bench", "");
    dispatch->version.any.ext->e_helptext = NULL;
    dispatch->version.any.text = NULL;
    if (flags)
	pmdaSetFlags(dispatch, flags);
    pmdaSetFetchCallBack(dispatch, callback);
    pmdaInit(dispatch, indoms, nindoms, metrics, nmetrics);
    must(dispatch->status == 0, "pmdaInit");
    return dispatch;
}

pmdaMetric *
metric_table(int count, int type, pmInDom domain, int stride)
{
    pmdaMetric *table = calloc(count, sizeof(*table));
    int i;

    /* A stride other than 1 makes the item differ from the position: no direct mapping. */
    for (i = 0; i < count; i++) {
	long number = (long)i * stride % count;

	table[i].m_desc.pmid = PMDA_PMID(number / 1000, number % 1000);
	table[i].m_desc.type = type;
	table[i].m_desc.indom = domain;
	table[i].m_desc.sem = PM_SEM_INSTANT;
    }
    return table;
}

void
free_values(pmdaInterface *dispatch, pmdaResult *result)
{
    dispatch->version.any.ext->e_resultCallBack(result);
}

int
main(int argc, char **argv)
{
    static const struct scenario *const families[] = {
	cache_scenarios, cache_file_scenarios, fetch_scenarios, instance_scenarios, text_scenarios, event_scenarios, tree_scenarios,
	daemon_scenarios, process_scenarios, thread_scenarios,
    };
    struct outcome out = { 0, 1, 0xcbf29ce484222325ULL };
    struct rusage usage;
    unsigned int f;
    const struct scenario *s;

    must(argc == 3, "usage: bench SCENARIO SIZE");
    for (f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
	for (s = families[f]; s->name != NULL; s++) {
	    if (strcmp(s->name, argv[1]) != 0)
		continue;
	    s->run(atol(argv[2]), &out);
	    getrusage(RUSAGE_SELF, &usage);
	    printf("%.3f %.0f %016llx %ld\n", out.ns, out.count, (unsigned long long)out.sum, usage.ru_maxrss);
	    return 0;
	}
    }
    must(0, "no such scenario");
    return 1;
}
