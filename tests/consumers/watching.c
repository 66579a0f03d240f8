/*
 * A client of the agent "changing" (changing.c): stores each kind of change and prints what the following fetches report.
 */
#include <pcp/pmapi.h>

static void
report(const char *when, pmID pmid)
{
    pmResult	*result;
    int		status = pmFetch(1, &pmid, &result);

    printf("%s: status %d names %d labels %d", when, status < 0 ? status : 0,
	   status > 0 && (status & PMCD_NAMES_CHANGE), status > 0 && (status & PMCD_LABEL_CHANGE));
    if (status >= 0) {
	printf(" value %d", result->vset[0]->numval > 0 ? result->vset[0]->vlist[0].value.lval : -1);
	pmFreeResult(result);
    }
    putchar('\n');
}

int
main(int argc, char **argv)
{
    const char	*names[] = { "changing.how", "changing.count" };
    pmID	pmids[2];
    int		status = pmNewContext(PM_CONTEXT_HOST, argc > 1 ? argv[1] : "local:");

    if (status < 0 || (status = pmLookupName(2, names, pmids)) < 0) {
	fprintf(stderr, "watching: %s\n", pmErrStr(status));
	return 1;
    }
    report("first", pmids[1]);
    for (int how = 1; how <= 3; how++) {
	pmValueSet	set = { .pmid = pmids[0], .numval = 1, .valfmt = PM_VAL_INSITU };
	pmResult	result = { .numpmid = 1, .vset = { &set } };

	set.vlist[0].inst = PM_IN_NULL;
	set.vlist[0].value.lval = how;
	printf("store %d: %d\n", how, pmStore(&result));
	report("next", pmids[1]);
	report("after", pmids[1]);
    }
    return 0;
}
