/*
 * How much fits: characters of a text, of a merged set, labels in a text, characters of a name.
 * LABEL-30 LABEL-31 LABEL-32
 */
#include <fcntl.h>
#include <unistd.h>
#include "label_fixture.h"

static char		text[140000];
static pmLabelSet	*set;

/* {"a":"xxx…"} of `length` characters */
static const char *
sized(const char *name, int length)
{
    int head = sprintf(text, "{\"%s\":\"", name);

    memset(text + head, 'x', length - head - 2);
    strcpy(text + length - 2, "\"}");
    return text;
}

static const char *
many(const char *prefix, int first, int count)
{
    char *out = text;
    int i;

    *out++ = '{';
    for (i = first; i < first + count; i++)
	out += sprintf(out, "%s\"%s%d\":%d", i > first ? "," : "", prefix, i, i);
    strcpy(out, "}");
    return text;
}

static const char *
named(int length, const char *end)
{
    text[0] = '{';
    text[1] = '"';
    memset(text + 2, 'n', length);
    strcpy(text + 2 + length, end);
    return text;
}

/* Ours shows the beginning of a long text in the log (DEF-19): what is said about it is compared. */
static int
add_long(const char *json)
{
    static char log[200000];
    int kept = dup(2), file = open("label_limits.log", O_RDWR | O_CREAT | O_TRUNC, 0600), status;
    ssize_t length;
    char *reason;

    unlink("label_limits.log");
    dup2(file, 2);
    status = pmdaAddLabels(&set, "%s", json);
    dup2(kept, 2);
    length = pread(file, log, sizeof(log) - 1, 0);
    log[length < 0 ? 0 : length] = '\0';
    close(file);
    close(kept);
    if ((reason = strstr(log, "Error: pmdaAddLabels: ")) != NULL)
	printf("%.100s ...%s", reason, strrchr(reason, '(') != NULL ? strrchr(reason, '(') : "\n");
    return status;
}

static void
add(const char *what, int number, const char *json)
{
    int status = strlen(json) > 512 ? add_long(json) : pmdaAddLabels(&set, "%s", json);

    printf("%s %d: %d\n", what, number, status);
    label_dump(set);
    fflush(stdout);
}

static void
start(int zeroed)
{
    if (set != NULL)
	pmFreeLabelSets(set, 1);
    set = zeroed ? calloc(1, sizeof(*set)) : NULL;
}

int
main(void)
{
    static const int lengths[] = { 100, 511, 512, 513, 65000, 65530, 65531, 65532, 65533, 65534, 65535, 65536, 131000 };
    static const int counts[] = { 1, 60, 254, 255, 256, 257, 300 };
    static const int names[] = { 1, 253, 254, 255, 256, 257, 511, 512 };
    unsigned int i;
    int zeroed;

    pmSetProgname("label_limits");
    for (zeroed = 0; zeroed < 2; zeroed++) {
	printf("== %s\n", zeroed ? "zeroed slot" : "new set");
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
	    start(zeroed);
	    add("length", lengths[i], sized("a", lengths[i]));
	}
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
	    start(zeroed);
	    add("labels", counts[i], many("n", 0, counts[i]));
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
	    start(zeroed);
	    add("name", names[i], named(names[i], "\":1}"));
	}
	start(zeroed);
	add("long name behind a good one", 300, named(300, "\":1,\"a\":1}"));
	add("then", 0, "{\"a\":1}");
    }
    printf("== merged\n");
    for (i = 65520; i < 65534; i++) {
	start(0);
	add("first", 0, "{\"a\":1}");
	add("to", i, sized("b", i - 6));
    }
    start(0);
    add("half", 1, sized("a", 33000));
    add("half", 2, sized("b", 33000));
    add("half replaced", 1, sized("a", 34000));
    start(0);
    add("200", 200, many("n", 0, 200));
    add("200 again", 200, many("n", 0, 200));
    add("55 more", 55, many("n", 200, 55));
    add("replace one", 1, many("n", 17, 1));
    start(0);
    return 0;
}
