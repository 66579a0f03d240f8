/*
 * Thousands of random texts, whole, cut short and damaged, added to new sets, zeroed slots and sets with labels. Left out is
 * what the C library gets wrong: white space in lists, lists in lists, and merging nested names (fixed/label_hazards).
 * LABEL-31 LABEL-32 LABEL-33 LABEL-34 LABEL-35 LABEL-36 LABEL-37 LABEL-38
 */
#include "label_fixture.h"

static uint64_t	seed = 20240607;
static char		text[4096];
static char		*out;

static unsigned int
below(unsigned int limit)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned int)(seed >> 33) % limit;
}

#define PICK(list)	(list)[below(sizeof(list) / sizeof((list)[0]))]

static void
put(const char *part)
{
    out = stpcpy(out, part);
}

static void
space(void)
{
    static const char *const spaces[] = { "", "", "", "", "", "", " ", "\t", "  ", "\n" };

    put(PICK(spaces));
}

static void
scalar(void)
{
    static const char *const good[] = { "0", "1", "-1", "12", "1.5", "-0", "1e5", "1E-3", "1.25e+3", "0.0", "100", "\"x\"", "\"x y\"",
	"\"\"", "\"\\n\"", "\"\\u0041\"", "\"\xc3\xa9\"", "\"[1, 2]\"", "\"\\\"q\\\"\"", "\"{\"", "true", "false", "null" };
    static const char *const odd[] = { "-01", "01", "-00", "-1.", "1e", ".5", "-", "+1", "00.1", "0e", "\"\\u1\"", "\"\\x\"", "\"a\tb\"",
	"\"un", "tru", "True", "nullx", "" };

    put(below(20) ? PICK(good) : PICK(odd));
}

static void	object(int depth);

static void
value(int depth)
{
    unsigned int i, count;

    switch (depth < 3 ? below(6) : 0) {
    case 1:
	put("[");
	for (i = 0, count = below(4); i < count; i++) {
	    put(i ? "," : "");
	    scalar();
	}
	put("]");
	break;
    case 2:
	if (depth > 0) {
	    object(depth + 1);
	    break;
	}
	/* FALLTHROUGH */
    default:
	scalar();
    }
}

/* Members are on level `depth`; 0 keeps the text free of nested names. */
static void
object(int depth)
{
    static const char *const good[] = { "a", "b", "c", "d", "e", "f", "a1", "ab", "B", "a_", "Z9_z" };
    static const char *const odd[] = { "", "_x", "1a", "a.b", "a b", "\xc3\xa9" };
    unsigned int i, count = below(5);

    put("{");
    space();
    for (i = 0; i < count; i++) {
	put(i ? "," : "");
	space();
	put("\"");
	put(below(25) ? PICK(good) : PICK(odd));
	put("\"");
	space();
	put(":");
	space();
	value(depth);
	space();
    }
    put("}");
}

static void
damage(void)
{
    static const char marks[] = "{}]:,\"\\1atx.e-+";
    size_t length = strlen(text), at;

    if (length == 0)
	return;
    at = below(length);
    switch (below(8)) {
    case 0:
	text[at] = '\0';
	break;
    case 1:
	text[at] = marks[below(sizeof(marks) - 1)];
	break;
    case 2:
	memmove(text + at, text + at + 1, length - at);
	break;
    }
}

static const char *
next(int depth)
{
    out = text;
    *out = '\0';
    space();
    object(depth);
    space();
    damage();
    return text;
}

static void
add(pmLabelSet **set, int depth, int notes)
{
    const char *json = next(depth);
    int status = notes ? pmdaAddNotes(set, "%s", json) : pmdaAddLabels(set, "%s", json);

    printf("%s ", notes ? "notes" : "labels");
    label_text(json, strlen(json));
    printf(": %d\n", status);
    label_dump(*set);
}

int
main(void)
{
    int round, step;

    pmSetProgname("label_random");
    for (round = 0; round < 1500; round++) {
	pmLabelSet *set = NULL;
	int zeroed = below(3) == 0;

	printf("== %d\n", round);
	if (zeroed)
	    set = calloc(1, sizeof(*set));
	/* a nested text may only start a set */
	if (below(3) == 0)
	    add(&set, 1, below(2));
	else
	    for (step = below(3); step >= 0; step--)
		add(&set, 0, below(2));
	if (set != NULL)
	    pmFreeLabelSets(set, 1);
    }
    return 0;
}
