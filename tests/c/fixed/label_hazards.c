/*
 * The C library's defects about labels: NULL arguments, more than 255 labels by merging, white space in lists, lists in
 * lists, deep nesting, names that grow too long by nesting, a nested name that is added twice, a name that is dropped because a
 * nested one starts with it. L-5 L-6 L-7 L-8 L-9 L-10 L-13
 */
/* c-library: not run, it reads and writes beyond arrays */
#include "label_fixture.h"

static pmLabelSet	*set;

static void
add(const char *text)
{
    int status = pmdaAddLabels(&set, "%s", text);

    printf("%.100s: %d\n", text, status);
    label_dump(set);
    if (set != NULL && set->nlabels < 20)
	label_show(set);
    fflush(stdout);
}

static const char *
many(int first, int count)
{
    static char text[8192];
    char *out = text;
    int i;

    *out++ = '{';
    for (i = first; i < first + count; i++)
	out += sprintf(out, "%s\"n%d\":%d", i > first ? "," : "", i, i);
    strcpy(out, "}");
    return text;
}

static const char *
deep(int levels, const char *open, const char *close)
{
    static char text[4096];
    int i;

    strcpy(text, "{\"top\":");
    for (i = 0; i < levels; i++)
	strcat(text, open);
    strcat(text, "1");
    for (i = 0; i < levels; i++)
	strcat(text, close);
    return strcat(text, "}");
}

int
main(void)
{
    const char *no_format = NULL;
    char name[300];
    int status;

    pmSetProgname("label_hazards");
    printf("NULL set: %d", pmdaAddLabels(NULL, "{}"));
    printf(" %d\n", pmdaAddNotes(NULL, "{}"));
    status = pmdaAddLabels(&set, no_format, 0);
    printf("NULL format: %d %d\n", status, pmdaAddNotes(&set, no_format, 0));

    /* the union counts, not the sum */
    add(many(0, 200));
    status = pmdaAddLabels(&set, "%s", many(200, 56));
    printf("256: %d\n", status);
    add(many(200, 55));
    add(many(0, 255));

    set = label_renew(set, 0);
    add("{\"a\":[ ]}");
    add("{\"b\": [ 1 ,\"x , y\", 2 ] }");
    set = label_renew(set, 1);
    add("{\"a\" : [ {} , 1 ] }");
    add("{\"n\": {\"l\": [ 1, 2 ] } , \"z\":1}");

    set = label_renew(set, 0);
    add("{\"a\":[[]]}");
    add("{\"b\":[ 1, [ 2, [ \"]\" ] ], 3 ]}");
    add("{\"c\":{\"d\":[[1]]}}");

    set = label_renew(set, 0);
    add(deep(58, "[", "]"));
    add(deep(60, "[", "]"));
    add(deep(61, "{\"d\":", "}"));
    add(deep(255, "{\"d\":", "}"));

    set = label_renew(set, 1);
    add("{\"n\":{\"x\":1}}");
    add("{\"m\":1}");
    add("{\"n\":{\"x\":2}}");
    set = label_renew(set, 0);
    add("{\"n\":{\"x\":1},\"m\":1}");
    add("{\"n\":{\"x\":2}}");
    add("{\"n\":{\"x\":3}}");
    set = label_renew(set, 0);
    add("{\"b\":\"kept\"}");
    add("{\"bb\":{\"c\":0}}");

    set = label_renew(set, 0);
    memset(name, 'n', sizeof(name));
    strcpy(name, "{\"a\":{\"");
    memset(name + 7, 'n', 254);
    strcpy(name + 7 + 254, "\":1}}");
    add("{\"old\":1}");
    add(name);

    /* labels are announced and there are none */
    set = label_renew(set, 1);
    set->nlabels = 3;
    printf("flags: %d\n", pmdaAddLabelFlags(set, 1));
    add("{\"a\":1}");
    set = label_renew(set, 0);
    return 0;
}
