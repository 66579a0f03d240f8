/*
 * pmdaInstance on classic tables, which the agent rewrites between the calls. INST-1, INST-2, INST-5, INST-10, INST-60, INST-61,
 * INST-62, INST-64, INST-66, INST-67, INST-68.
 * memory: nothing is lost on ours
 */
#include "instances.h"

static pmdaInstid mixed[] = {
    { 3, "one two" }, { 1, "one" }, { 7, "tab\tbed x" }, { 7, "seven again" }, { -5, "negative" },
    { 2147483647, "" }, { 0, " lead" }, { 12, "one two" }, { 13, "two  words" }, { 14, "tail " },
};
static pmdaInstid one[] = { { 42, "the one" } };

static pmdaIndom indoms[] = {
    { 0x3e800001, sizeof(mixed) / sizeof(mixed[0]), mixed },
    { 0x3e800002, 1, one },
    { 0x3e800003, 0, NULL },
    { 0x3e800001, 1, one },		/* a second one of the same domain: never looked at */
};

static const char *names[] = {
    "one two", "one", "one ", "tab\tbed", "tab\tbed x", "tab", "seven", "seven again", "negative", "", " ", " lead",
    "two", "two ", "two  words", "tail", "tail ", "the", "the one", "the oneX", "absent",
};

static void
all(pmdaExt *ext)
{
    static const int ids[] = { 3, 1, 7, -5, 2147483647, 0, 12, 13, 14, 42, 99, -2 };
    unsigned int domain, i;

    for (domain = 0x3e800000; domain < 0x3e800005; domain++) {
	ask(domain, PM_IN_NULL, NULL, ext);
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
	    ask(domain, ids[i], NULL, ext);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	    ask(domain, PM_IN_NULL, names[i], ext);
    }
}

int
main(void)
{
    static pmdaExt ext;
    static pmProfile none = { PM_PROFILE_EXCLUDE, 0, NULL };
    static char same[] = "one two";

    ext.e_indoms = indoms;
    ext.e_nindoms = 4;
    all(&ext);

    printf("both an id and a name\n");
    ask(0x3e800002, 42, "the one", &ext);
    ask(0x3e800002, 42, "", &ext);
    ask(0x3e800009, 42, "x", &ext);

    printf("the profile plays no part\n");
    ext.e_prof = &none;
    ask(0x3e800001, PM_IN_NULL, NULL, &ext);
    ask(0x3e800002, 42, NULL, &ext);

    printf("fewer, other, and moved instances\n");
    indoms[0].it_numinst = 3;
    mixed[1].i_name = "uno";
    mixed[2].i_inst = 99;
    all(&ext);
    indoms[0].it_set = mixed + 5;
    indoms[0].it_numinst = 5;
    mixed[7].i_name = same;
    all(&ext);

    printf("other domains\n");
    indoms[1].it_indom = 0x3e800004;
    ext.e_nindoms = 2;
    all(&ext);
    ext.e_indoms = NULL;
    ext.e_nindoms = 0;
    all(&ext);

    printf("-Dlibpmda\n");
    ext.e_indoms = indoms;
    ext.e_nindoms = 4;
    pmSetDebug("libpmda");
    fflush(stdout);
    ask(0x3e800001, PM_IN_NULL, "one", &ext);
    ask(0x3e800001, PM_IN_NULL, "one two", &ext);
    ask(0x3e800001, PM_IN_NULL, "absent", &ext);
    ask(0x3e800001, 12, NULL, &ext);
    return 0;
}
