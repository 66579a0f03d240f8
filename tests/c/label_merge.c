/*
 * Sets that grow: labels and notes over each other, zeroed slots, flags, formats, debug output.
 * LABEL-11 LABEL-30 LABEL-31 LABEL-36 LABEL-37 LABEL-38 LABEL-39 LABEL-45
 * memory: nothing is lost on ours
 */
#include <wchar.h>
#include "label_fixture.h"

static pmLabelSet	*set;

/* Makes a call, and shows its text, its result and the set. */
#define SHOW_SET(call) show(#call, call)

static void
show(const char *call, int status)
{
    printf("%s = %d\n", call, status);
    label_dump(set);
    if (!pmDebugOptions.labels)	/* libpcp would show addresses */
	label_show(set);
    fflush(stdout);
}

int
main(void)
{
    int zeroed, count = 0;

    pmSetProgname("label_merge");
    for (zeroed = 0; zeroed < 2; zeroed++) {
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "{\"b\":1,\"a\":2}"));
	SHOW_SET(pmdaAddNotes(&set, "{\"b\":5,\"c\":\"x\"}"));
	SHOW_SET(pmdaAddLabels(&set, "{\"c\":[1,2],\"aa\":null}"));
	SHOW_SET(pmdaAddLabels(&set, "{}"));
	SHOW_SET(pmdaAddLabels(&set, "{\"d\":}"));
	SHOW_SET(pmdaAddNotes(&set, "{\"d\":1,\"d\":2}"));
	SHOW_SET(pmdaAddLabels(&set, "{\"d\":1,\"e\""));
	SHOW_SET(pmdaAddNotes(&set, "%s", ""));
	SHOW_SET(pmdaAddLabelFlags(set, PM_LABEL_ITEM));
	SHOW_SET(pmdaAddLabels(&set, "{\"a\":3}"));
	set->inst = 42;
	SHOW_SET(pmdaAddLabels(&set, "{\"%s\":%d,\"%c\":\"%-5s|\"}", "fmt", 12, 'y', "ab"));

	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "{}"));
	SHOW_SET(pmdaAddNotes(&set, "{}"));
	SHOW_SET(pmdaAddLabelFlags(set, 0xff));
	SHOW_SET(pmdaAddNotes(&set, "{\"a\":\"%%\"}"));

	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "{\"b\":1,\"a\":2,\"c\":3}"));
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "{\"a\":1,\"b\":2,\"c\":3}"));
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, " { \"b\" : \"x  y\" , \"a\" : 2 } "));
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "[1]"));
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "}"));
	set = label_renew(set, zeroed);
	SHOW_SET(pmdaAddLabels(&set, "{\"a\":{}}"));
    }

    /* nested names in slots, which libpcp flattens */
    set = label_renew(set, 1);
    SHOW_SET(pmdaAddLabels(&set, "{\"dev\":\"d0\",\"x\":{\"y\":1}}"));
    SHOW_SET(pmdaAddNotes(&set, "{\"dev\":\"d1\",\"w\":0}"));
    SHOW_SET(pmdaAddLabels(&set, "{\"v\":{\"y\":[1,\"z\"]}}"));

    set = label_renew(set, 0);
    SHOW_SET(pmdaAddLabelFlags(NULL, 1));
    set = calloc(1, sizeof(*set));
    set->nlabels = -12;
    SHOW_SET(pmdaAddLabelFlags(set, 1));
    set->nlabels = 0;
    SHOW_SET(pmdaAddLabelFlags(set, 1));
    SHOW_SET(pmdaAddLabels(&set, "{\"b\":1,\"a\":2}"));
    SHOW_SET(pmdaAddLabelFlags(set, 0x101));
    SHOW_SET(pmdaAddLabelFlags(set, -1));

    /* the format itself fails: a wide character that the C locale cannot show */
    SHOW_SET(pmdaAddLabels(&set, "{\"a\":\"%lc\"}", (wint_t)0x20ac));
    SHOW_SET(pmdaAddLabels(&set, "{\"n\":1%n}", &count));
    printf("count %d\n", count);

    pmSetDebug("labels");
    SHOW_SET(pmdaAddLabels(&set, "{\"a\":%d}", 7));
    SHOW_SET(pmdaAddNotes(&set, "{\"n\":"));
    SHOW_SET(pmdaAddNotes(&set, "{\"n\":1}"));
    set = label_renew(set, 0);
    return 0;
}
