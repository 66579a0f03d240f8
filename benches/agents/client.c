/*
 * Fetches all metrics of an agent again and again.
 *
 *	client HOST ROUNDS NAME...
 *
 * Prints how long a fetch takes in microseconds, and how many metrics and values it brings. Metrics that pmcd has no agent for, or that
 * the agent refuses, are left out before it begins.
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

int
main(int argc, char **argv)
{
    pmResult	*result;
    pmID	*ids, id;
    int		n = 0, i, rounds, values = 0;
    double	start;

    if (argc < 4)
	return 2;
    rounds = atoi(argv[2]);
    must(pmNewContext(PM_CONTEXT_HOST, argv[1]), argv[1]);
    for (i = 3; i < argc; i++)
	must(pmTraversePMNS(argv[i], found), argv[i]);
    ids = calloc(n_names, sizeof(ids[0]));
    for (i = 0; i < n_names; i++) {
	if (pmLookupName(1, &names[i], &id) < 0)
	    continue;
	must(pmFetch(1, &id, &result), names[i]);
	if (result->vset[0]->numval >= 0)
	    ids[n++] = id;
	pmFreeResult(result);
    }
    start = now();
    for (i = 0; i < rounds; i++) {
	int j;

	must(pmFetch(n, ids, &result), "pmFetch");
	for (values = j = 0; j < n; j++)
	    if (result->vset[j]->numval > 0)
		values += result->vset[j]->numval;
	pmFreeResult(result);
    }
    printf("%.1f %d %d\n", (now() - start) / rounds, n, values);
    return 0;
}
