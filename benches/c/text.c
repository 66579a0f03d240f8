/* Help texts and labels. */
#include <unistd.h>
#include "bench.h"

/* The instance domain that has a text. */
#define HELP_INDOM	5

/*
 * A help database with n metrics, each with a text of at least so many bytes, and an instance domain, written as
 * newhelp does.
 */
static int
help(long n, int length)
{
    char path[1024], file[1100];
    FILE *dir, *pag;
    uint32_t word[3] = { 0x50635068, 0x31320000, (uint32_t)n + 1 };
    long i;

    snprintf(path, sizeof(path), "%s/help", getenv("PCP_VAR_DIR"));
    snprintf(file, sizeof(file), "%s.dir", path);
    must((dir = fopen(file, "w")) != NULL, file);
    snprintf(file, sizeof(file), "%s.pag", path);
    must((pag = fopen(file, "w")) != NULL, file);
    fputs("PcPh22\n", pag);
    fwrite(word, sizeof(word), 1, dir);
    for (i = 0; i <= n; i++) {
	word[0] = i < n ? (DOMAIN << 22) | PMDA_PMID(i / 1000, i % 1000) : indom(HELP_INDOM) | 0x80000000u;
	fprintf(pag, "\n@ m%ld ", i);
	word[1] = ftell(pag);
	fprintf(pag, "one line of %0*ld%c", length, i, 0);
	word[2] = ftell(pag);
	fprintf(pag, "long text of %ld%c", i, 0);
	fwrite(word, sizeof(word), 1, dir);
    }
    must(fclose(dir) == 0 && fclose(pag) == 0, path);
    i = pmdaOpenHelp(path);
    must(i >= 0, "pmdaOpenHelp");
    return i;
}

static void
text(long n, int length, struct outcome *out, unsigned int id, int kind)
{
    int handle = help(n, length);
    pmdaInterface *dispatch = agent(NULL, 0, metric_table(1, PM_TYPE_U64, PM_INDOM_NULL, 1), 1, 0, (pmdaFetchCallBack)abort);
    long i, count = rounds(100000);
    char *answer;
    double start;

    dispatch->version.any.ext->e_help = handle;
    start = now();
    for (i = 0; i < count; i++) {
	add(out, pmdaText(id, kind | PM_TEXT_ONELINE, &answer, dispatch->version.any.ext));
	add(out, answer ? (unsigned char)answer[0] : 0);
    }
    took(out, now() - start, count);
}

static void
metric_text(long n, struct outcome *out, int cluster, int item)
{
    text(n, 0, out, (DOMAIN << 22) | PMDA_PMID(cluster, item), PM_TEXT_PMID);
}

static void text_first(long n, struct outcome *out) { metric_text(n, out, 0, 0); }
static void text_last(long n, struct outcome *out) { metric_text(n, out, (n - 1) / 1000, (n - 1) % 1000); }
static void text_miss(long n, struct outcome *out) { metric_text(n, out, 4000, 1); }
static void text_indom(long n, struct outcome *out) { text(n, 0, out, indom(HELP_INDOM), PM_TEXT_INDOM); }
static void text_bytes(long n, struct outcome *out) { text(10, n, out, (DOMAIN << 22) | 3, PM_TEXT_PMID); }

/* How many labels of 200 bytes an instance gets, and how long the value of its only one is. */
static int three, many, length;
static char *long_value;

static int
labels(pmInDom domain, unsigned int inst, pmLabelSet **set)
{
    int i, sts = 0;

    (void)domain;
    if (length)
	return pmdaAddLabels(set, "{\"device\":\"%s\"}", long_value);
    for (i = 0; i < many && sts >= 0; i++)
	sts = pmdaAddLabels(set, "{\"label%03d\":\"%s\"}", i, long_value);
    if (many)
	return sts;
    if (three)
	return pmdaAddLabels(set, "{\"device\":\"sd%u\",\"kind\":\"disk\",\"slot\":%u}", inst, inst);
    return pmdaAddLabels(set, "{\"device\":\"sd%u\"}", inst);
}

static void
instance_labels(long n, struct outcome *out)
{
    pmdaInterface *dispatch = agent(NULL, 0, metric_table(1, PM_TYPE_U64, 1, 1), 1, 0, (pmdaFetchCallBack)abort);
    long i, turn, turns = rounds(length ? 10000 : 100000) / n / (many ? many : 1) + 1;
    pmLabelSet *sets;
    double start;

    pmdaSetLabelCallBack(dispatch, labels);
    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), NULL);
    start = now();
    for (turn = 0; turn < turns; turn++) {
	int count = pmdaLabel(indom(1), PM_LABEL_INSTANCES, &sets, dispatch->version.any.ext);

	must(count == n, "pmdaLabel");
	for (i = 0; i < n; i++) {
	    add(out, sets[i].inst);
	    add_bytes(out, sets[i].json, sets[i].jsonlen);
	    add_bytes(out, sets[i].labels, sets[i].nlabels * sizeof(pmLabel));
	}
	pmFreeLabelSets(sets, count);
    }
    took(out, now() - start, turns * n);
}

static void
value_of(int bytes)
{
    long_value = calloc(bytes + 1, 1);
    memset(long_value, 'v', bytes);
}

static void one_label(long n, struct outcome *out) { instance_labels(n, out); }
static void three_labels(long n, struct outcome *out) { three = 1; instance_labels(n, out); }
static void label_bytes(long n, struct outcome *out) { value_of(length = n); instance_labels(10, out); }
static void many_labels(long n, struct outcome *out) { many = n; value_of(200); instance_labels(10, out); }

const struct scenario text_scenarios[] = {
    { "pmdaText, first", text_first },
    { "pmdaText, last", text_last },
    { "pmdaText, miss", text_miss },
    { "pmdaText, instance domain", text_indom },
    { "pmdaText, a text of n bytes", text_bytes },
    { "instance labels, one each", one_label },
    { "instance labels, three each", three_labels },
    { "instance labels, a value of n bytes", label_bytes },
    { "instance labels, n of 200 bytes each", many_labels },
    { NULL, NULL },
};
