/*
 * Fetches all metrics of agents again and again, over one connection.
 *
 *	client HOST NAME...
 *
 * Each line on its stdin, "ROUNDS SECONDS", asks for that many fetches, or for as many as begin within that time. The answer is a
 * line too: microseconds a fetch, how many fetches, metrics and values of one. Metrics that pmcd has no agent for, or that the agent
 * refuses, are left out before it begins.
 */
#include <pcp/pmapi.h>
#include <time.h>

static const char	**names;
static int		n_names;

static void
found(const char *name)
{
    names = realloc(names, (n_names + 1) * sizeof(names[0]));
    names[n_names++] = strdup(name);
}

static void
must(int status, const char *what)
{
    if (status >= 0)
	return;
    fprintf(stderr, "%s: %s\n", what, pmErrStr(status));
    exit(1);
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* The metrics that the agents have, in ids: how many. */
static int
known(pmID *ids)
{
    pmResult	*result;
    int		n = 0, kept = 0, i;

    for (i = 0; i < n_names; i++) {
	if (pmLookupName(1, &names[i], &ids[n]) >= 0)
	    n++;
    }
    must(pmFetch(n, ids, &result), "pmFetch");
    for (i = 0; i < n; i++) {
	if (result->vset[i]->numval >= 0)
	    ids[kept++] = result->vset[i]->pmid;
    }
    pmFreeResult(result);
    return kept;
}

int
main(int argc, char **argv)
{
    pmResult	*result;
    pmID	*ids;
    int		n, i, j, rounds, values = 0;
    double	seconds, start, end;

    if (argc < 3)
	return 2;
    must(pmNewContext(PM_CONTEXT_HOST, argv[1]), argv[1]);
    for (i = 2; i < argc; i++)
	must(pmTraversePMNS(argv[i], found), argv[i]);
    ids = calloc(n_names, sizeof(ids[0]));
    n = known(ids);
    while (scanf("%d %lf", &rounds, &seconds) == 2) {
	start = end = now();
	for (i = 0; i < rounds && end - start < seconds * 1e6; i++) {
	    must(pmFetch(n, ids, &result), "pmFetch");
	    for (values = j = 0; j < n; j++)
		if (result->vset[j]->numval > 0)
		    values += result->vset[j]->numval;
	    pmFreeResult(result);
	    end = now();
	}
	printf("%.1f %d %d %d\n", i > 0 ? (end - start) / i : 0, i, n, values);
	fflush(stdout);
    }
    return 0;
}
