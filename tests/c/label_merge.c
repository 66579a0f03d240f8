/*
 * Sets that grow: labels and notes over each other, zeroed slots, flags, formats, debug output.
 * LABEL-11 LABEL-30 LABEL-31 LABEL-36 LABEL-37 LABEL-38 LABEL-39 LABEL-45
 */
#include <wchar.h>
#include "label_fixture.h"

static pmLabelSet	*set;

static void
show(const char *what, int status)
{
    printf("%s: %d\n", what, status);
    label_dump(set);
    if (!pmDebugOptions.labels)	/* libpcp would show addresses */
	label_show(set);
    fflush(stdout);
}

static void
start(int zeroed)
{
    if (set != NULL)
	pmFreeLabelSets(set, 1);
    set = zeroed ? calloc(1, sizeof(*set)) : NULL;
    printf("--\n");
}

int
main(void)
{
    int zeroed, count = 0;

    pmSetProgname("label_merge");
    for (zeroed = 0; zeroed < 2; zeroed++) {
	start(zeroed);
	show("two", pmdaAddLabels(&set, "{\"b\":1,\"a\":2}"));
	show("note over label", pmdaAddNotes(&set, "{\"b\":5,\"c\":\"x\"}"));
	show("label over note", pmdaAddLabels(&set, "{\"c\":[1,2],\"aa\":null}"));
	show("nothing", pmdaAddLabels(&set, "{}"));
	show("bad", pmdaAddLabels(&set, "{\"d\":}"));
	show("twice", pmdaAddNotes(&set, "{\"d\":1,\"d\":2}"));
	show("unfinished", pmdaAddLabels(&set, "{\"d\":1,\"e\""));
	show("empty text", pmdaAddNotes(&set, "%s", ""));
	show("flags", pmdaAddLabelFlags(set, PM_LABEL_ITEM));
	show("keep flags", pmdaAddLabels(&set, "{\"a\":3}"));
	set->inst = 42;
	show("inst", pmdaAddLabels(&set, "{\"%s\":%d,\"%c\":\"%-5s|\"}", "fmt", 12, 'y', "ab"));

	start(zeroed);
	show("nothing", pmdaAddLabels(&set, "{}"));
	show("nothing again", pmdaAddNotes(&set, "{}"));
	show("flags of none", pmdaAddLabelFlags(set, 0xff));
	show("one", pmdaAddNotes(&set, "{\"a\":\"%%\"}"));

	start(zeroed);
	show("order in the text", pmdaAddLabels(&set, "{\"b\":1,\"a\":2,\"c\":3}"));
	start(zeroed);
	show("in order", pmdaAddLabels(&set, "{\"a\":1,\"b\":2,\"c\":3}"));
	start(zeroed);
	show("white space", pmdaAddLabels(&set, " { \"b\" : \"x  y\" , \"a\" : 2 } "));
	start(zeroed);
	show("not an object", pmdaAddLabels(&set, "[1]"));
	start(zeroed);
	show("bad", pmdaAddLabels(&set, "}"));
	start(zeroed);
	show("empty object", pmdaAddLabels(&set, "{\"a\":{}}"));
    }

    /* nested names in slots, which libpcp flattens */
    start(1);
    show("nested", pmdaAddLabels(&set, "{\"dev\":\"d0\",\"x\":{\"y\":1}}"));
    show("flat over nested", pmdaAddNotes(&set, "{\"dev\":\"d1\",\"w\":0}"));
    show("another", pmdaAddLabels(&set, "{\"v\":{\"y\":[1,\"z\"]}}"));

    start(0);
    show("flags of NULL", pmdaAddLabelFlags(NULL, 1));
    set = calloc(1, sizeof(*set));
    set->nlabels = -12;
    show("flags of an error", pmdaAddLabelFlags(set, 1));
    set->nlabels = 0;
    show("nothing in it", pmdaAddLabelFlags(set, 1));
    show("two", pmdaAddLabels(&set, "{\"b\":1,\"a\":2}"));
    show("low bits", pmdaAddLabelFlags(set, 0x101));
    show("more", pmdaAddLabelFlags(set, -1));

    /* the format itself fails: a wide character that the C locale cannot show */
    show("wide", pmdaAddLabels(&set, "{\"a\":\"%lc\"}", (wint_t)0x20ac));
    show("count", pmdaAddLabels(&set, "{\"n\":1%n}", &count));
    printf("count %d\n", count);

    pmSetDebug("labels");
    show("debug", pmdaAddLabels(&set, "{\"a\":%d}", 7));
    show("debug", pmdaAddNotes(&set, "{\"n\":"));
    show("debug", pmdaAddNotes(&set, "{\"n\":1}"));
    start(0);
    return 0;
}
