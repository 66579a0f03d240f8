/*
 * Objects that are added to a set. The C library loses labels whose names have the length of an object's last part, has names twice,
 * and takes one label for another. L-9 LABEL-4 LABEL-37
 */
#include "label_fixture.h"

static pmLabelSet *set;

static void
add(const char *text)
{
    int status = pmdaAddLabels(&set, "%s", text);

    printf("%s: %d\n", text, status);
    label_dump(set);
}

int
main(void)
{
    pmSetProgname("label_nested");
    set = label_renew(set, 1);
    add("{\"a\":1,\"ab\":2}");
    add("{\"ab\":{\"c\":3}}");
    set = label_renew(set, 1);
    add("{\"b\":1}");
    add("{\"b\":{\"a\":true}}");
    add("{\"b\":{\"a\":false}}");
    set = label_renew(set, 0);
    add("{\"bb\":{\"z\":1}}");
    add("{\"a\":1,\"b\":{\"y\":2}}");
    add("{\"bb\":{\"z\":5}}");
    set = label_renew(set, 0);
    return 0;
}
