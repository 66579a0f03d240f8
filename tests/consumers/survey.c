/*
 * Asks the agents in this process (a local context) everything that a client can ask, and prints each answer as a line
 * "KEY <tab> ANSWER", so that two surveys can be compared answer by answer.
 *
 *	survey NAMESPACE
 */
#include "survey.h"

static char **names;
static int n_names;

static void
remember(const char *name)
{
    names = realloc(names, (n_names + 1) * sizeof(names[0]));
    names[n_names++] = strdup(name);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
labels(const char *what, int status, pmLabelSet **found)
{
    pmLabelSet *sets = *found;

    key("%s count", what);
    printf("%d\n", status);
    for (int i = 0; i < status; i++) {
	pmLabelSet *set = &sets[i];
	key("%s set %d", what, (int)set->inst);
	if (set->nlabels < 0) {
	    printf("error %d\n", set->nlabels);
	    continue;
	}
	for (int j = 0; j < set->nlabels; j++)
	    printf("%.*s flags %x, ", set->labels[j].namelen, set->json + set->labels[j].name, set->labels[j].flags);
	quoted(set->json ? set->json : "", set->json ? strlen(set->json) : 0);
    }
    if (status > 0)
	pmFreeLabelSets(sets, status);
}

/* The records of an event array, and the parameters in each. */
static void
events(const char *name, pmValueSet *set, int i)
{
    int inst = set->vlist[i].inst, n;

    if (set->vlist[i].value.pval->vtype == PM_TYPE_HIGHRES_EVENT) {
	pmHighResResult **records;
	n = pmUnpackHighResEventRecords(set, i, &records);
	key("%s records %d", name, inst);
	printf("%d\n", n);
	for (int r = 0; r < n; r++) {
	    for (int p = 0; p < records[r]->numpmid; p++) {
		pmValueSet *param = records[r]->vset[p];
		key("%s record %d of %d parameter %d", name, r, inst, p);
		printf("%s ", pmIDStr(param->pmid));
		if (param->numval > 0)
		    value(param, 0, param->valfmt == PM_VAL_INSITU ? PM_TYPE_32 : param->vlist[0].value.pval->vtype);
		else
		    printf("values %d\n", param->numval);
	    }
	}
	if (n >= 0)
	    pmFreeHighResEventResult(records);
    }
    else {
	pmdaResult **records;
	n = pmUnpackEventRecords(set, i, &records);
	key("%s records %d", name, inst);
	printf("%d\n", n);
	for (int r = 0; r < n; r++) {
	    for (int p = 0; p < records[r]->numpmid; p++) {
		pmValueSet *param = records[r]->vset[p];
		key("%s record %d of %d parameter %d", name, r, inst, p);
		printf("%s ", pmIDStr(param->pmid));
		if (param->numval > 0)
		    value(param, 0, param->valfmt == PM_VAL_INSITU ? PM_TYPE_32 : param->vlist[0].value.pval->vtype);
		else
		    printf("values %d\n", param->numval);
	    }
	}
	if (n >= 0)
	    pmFreeEventResult(records);
    }
}

static pmResult *
fetch(pmID pmid, int *status)
{
    pmResult *result = NULL;

    *status = pmFetch(1, &pmid, &result);
    return *status < 0 ? NULL : result;
}

static void
values(const char *name, const char *how, const pmDesc *desc)
{
    int		status;
    pmResult	*result = fetch(desc->pmid, &status);

    key("%s %s", name, how);
    if (result == NULL) {
	printf("error %d\n", status);
	return;
    }
    pmValueSet *set = result->vset[0];
    printf("values %d\n", set->numval);
    for (int i = 0; i < set->numval; i++) {
	key("%s %s value %d", name, how, set->vlist[i].inst);
	value(set, i, desc->type);
	if (desc->type == PM_TYPE_EVENT || desc->type == PM_TYPE_HIGHRES_EVENT)
	    events(name, set, i);
    }
    pmFreeResult(result);
}

/* An instance domain is surveyed once, by the first metric that uses it. */
static int
first_use(pmInDom indom)
{
    static pmInDom	*known;
    static int		n_known;

    for (int i = 0; i < n_known; i++)
	if (known[i] == indom)
	    return 0;
    known = realloc(known, (n_known + 1) * sizeof(known[0]));
    known[n_known++] = indom;
    return 1;
}

static void
domain(const char *name, const pmDesc *desc)
{
    int		*insts, n;
    char	**inst_names, *text, label[64];
    pmLabelSet	*sets;
    pmInDom	indom = desc->indom;

    snprintf(label, sizeof(label), "indom %s", pmInDomStr(indom));
    n = pmGetInDom(indom, &insts, &inst_names);
    key("%s instances", label);
    printf("%d\n", n);
    for (int i = 0; i < n; i++) {
	key("%s instance %d", label, insts[i]);
	quoted(inst_names[i], strlen(inst_names[i]));
	if (i < 1000) {
	    int status = pmNameInDom(indom, insts[i], &text);
	    key("%s name of %d", label, insts[i]);
	    answer(status, status < 0 ? "" : text);
	    if (status >= 0)
		free(text);
	    key("%s find %s", label, inst_names[i]);
	    printf("%d\n", pmLookupInDom(indom, inst_names[i]));
	}
    }
    key("%s find none", label);
    printf("%d\n", pmLookupInDom(indom, "no such instance"));
    key("%s name of none", label);
    int status = pmNameInDom(indom, 0x7ffffff0, &text);
    answer(status, status < 0 ? "" : text);

    for (int kind = PM_TEXT_ONELINE; kind <= PM_TEXT_HELP; kind++) {
	status = pmLookupInDomText(indom, kind, &text);
	key("%s text %d", label, kind);
	answer(status, status < 0 ? "" : text);
	if (status >= 0)
	    free(text);
    }
    char what[128];
    snprintf(what, sizeof(what), "%s labels", label);
    labels(what, pmGetInDomLabels(indom, &sets), &sets);
    snprintf(what, sizeof(what), "%s instance labels", label);
    labels(what, pmGetInstancesLabels(indom, &sets), &sets);

    if (n > 1) {
	pmDelProfile(indom, 0, NULL);
	pmAddProfile(indom, 1, &insts[n - 1]);
	values(name, "last only", desc);
	pmAddProfile(indom, 0, NULL);
	pmDelProfile(indom, 1, &insts[0]);
	values(name, "without the first", desc);
	pmAddProfile(indom, 0, NULL);
    }
    if (n >= 0) {
	free(insts);
	free(inst_names);
    }
}

static void
metric(const char *name)
{
    pmID	pmid;
    pmDesc	desc;
    char	*text, what[512];
    pmLabelSet	*sets;
    int		status = pmLookupName(1, (const char **)&name, &pmid);

    key("%s pmid", name);
    if (status < 0) {
	printf("error %d\n", status);
	return;
    }
    printf("%s\n", pmIDStr(pmid));

    status = pmLookupDesc(pmid, &desc);
    key("%s desc", name);
    if (status < 0)
	printf("error %d\n", status);
    else
	printf("pmid %s type %d indom %s sem %d units %s\n", pmIDStr(desc.pmid), desc.type, pmInDomStr(desc.indom),
	       desc.sem, pmUnitsStr(&desc.units));
    int known = status >= 0;

    char **all;
    status = pmNameAll(pmid, &all);
    key("%s names", name);
    printf("%d\n", status);
    if (status > 0)
	free(all);

    for (int kind = PM_TEXT_ONELINE; kind <= PM_TEXT_HELP; kind++) {
	status = pmLookupText(pmid, kind, &text);
	key("%s text %d", name, kind);
	answer(status, status < 0 ? "" : text);
	if (status >= 0)
	    free(text);
    }
    snprintf(what, sizeof(what), "%s labels", name);
    labels(what, pmGetItemLabels(pmid, &sets), &sets);
    snprintf(what, sizeof(what), "%s cluster labels", name);
    labels(what, pmGetClusterLabels(pmid, &sets), &sets);
    if (!known)
	return;
    values(name, "fetch", &desc);
    if (desc.indom != PM_INDOM_NULL && first_use(desc.indom))
	domain(name, &desc);
}

/* All metrics in one fetch: the agents see long lists, and identifiers that they do not know. */
static void
together(void)
{
    pmID	*pmids = calloc(n_names + 1, sizeof(pmID));
    pmResult	*result;
    int		n = 0;

    for (int i = 0; i < n_names; i++)
	if (pmLookupName(1, (const char **)&names[i], &pmids[n]) >= 0)
	    n++;
    if (n > 0) {
	pmids[n] = pmID_build(pmID_domain(pmids[0]), 4095, 1023);
	n++;
	int status = pmFetch(n, pmids, &result);
	key("together");
	printf("%d\n", status);
	if (status >= 0) {
	    for (int i = 0; i < result->numpmid; i++) {
		key("together %s", pmIDStr(result->vset[i]->pmid));
		printf("values %d\n", result->vset[i]->numval);
	    }
	    pmFreeResult(result);
	}
    }
    free(pmids);
}

int
main(int argc, char **argv)
{
    int status;

    if (argc != 2)
	return 2;
    if ((status = pmLoadASCIINameSpace(argv[1], 1)) < 0) {
	fprintf(stderr, "survey: name space: %s\n", pmErrStr(status));
	return 1;
    }
    if ((status = pmNewContext(PM_CONTEXT_LOCAL, NULL)) < 0) {
	fprintf(stderr, "survey: no context: %s\n", pmErrStr(status));
	return 1;
    }
    status = pmTraversePMNS("", remember);
    key("traverse all");
    printf("%d\n", status);
    qsort(names, n_names, sizeof(names[0]), by_name);
    for (int i = 0; i < n_names; i++)
	metric(names[i]);
    together();
    return 0;
}
