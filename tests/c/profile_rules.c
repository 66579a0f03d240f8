/*
 * Which instances a profile selects: long lists, lists that change in place, move, shrink, and elements that appear and disappear.
 * INST-3, INST-50, INST-51, INST-52, INST-53.
 */
#include "instances.h"

#define N 400
static pmdaInstid table[N];
static pmdaIndom indoms[] = { { 0x3e800001, N, table }, { 0x3e800002, N, table } };
static pmdaExt ext;

static void
show(const char *what)
{
    unsigned int domain, sum;
    int inst, n, first, last;

    for (domain = 0x3e800001; domain < 0x3e800004; domain++) {
	sum = n = 0;
	first = last = -77;
	__pmdaStartInst(domain, &ext);
	while (__pmdaNextInst(&inst, &ext)) {
	    if (n++ == 0)
		first = inst;
	    last = inst;
	    sum = sum * 31 + (unsigned int)inst;
	}
	printf("%s %x: %d from %d to %d, %u\n", what, domain, n, first, last, sum);
    }
}

int
main(void)
{
    static int list[N], other[N];
    static pmInDomProfile elements[30];
    static pmProfile profile = { PM_PROFILE_INCLUDE, 0, elements };
    static char name[] = "x";
    static const int states[] = { PM_PROFILE_INCLUDE, PM_PROFILE_EXCLUDE, 2, -1 };
    int i, length, s, g;

    for (i = 0; i < N; i++) {
	table[i].i_inst = (i * 7919) % 1000 - 300;
	table[i].i_name = name;
	list[i] = (i * 31) % 900 - 250;
	other[i] = i * 1000003;
    }
    ext.e_indoms = indoms;
    ext.e_nindoms = 2;
    show("no profile");
    ext.e_prof = &profile;
    for (g = 0; g < 4; g++) {
	profile.state = states[g];
	profile.profile_len = 0;
	show("no element");
	profile.profile_len = -1;
	show("negative length");
	for (s = 0; s < 4; s++) {
	    for (length = 0; length <= N; length = length * 3 + 1) {
		profile.profile_len = 2;
		elements[0].indom = 0x3e800001;
		elements[0].state = states[s];
		elements[0].instances_len = length;
		elements[0].instances = length ? list : NULL;
		elements[1] = elements[0];	/* a second one is never looked at */
		elements[1].state = !elements[0].state;
		show("element");
	    }
	}
    }
    printf("changes in place\n");
    profile.state = PM_PROFILE_EXCLUDE;
    elements[0].state = PM_PROFILE_EXCLUDE;
    elements[0].instances_len = 50;
    elements[0].instances = list;
    show("before");
    for (i = 0; i < 50; i++)
	list[i] = i;
    show("new list");
    list[49] = 77;
    show("new id");
    elements[0].instances = other;
    show("other list");
    elements[0].instances_len = 3;
    show("shorter");
    elements[0].state = PM_PROFILE_INCLUDE;
    show("turned around");
    elements[0].instances_len = -3;
    show("negative list");
    elements[0].indom = 0x3e800002;
    show("other domain");
    printf("many elements\n");
    profile.profile_len = 30;
    for (i = 0; i < 30; i++) {
	elements[i].indom = 0x3e800010 - i;
	elements[i].state = PM_PROFILE_EXCLUDE;
	elements[i].instances = list;
	elements[i].instances_len = i;
    }
    show("many");
    show("many");
    elements[14].indom = 0x3e800055;
    show("one gone");
    elements[20].indom = 0x3e800002;
    show("one come");
    printf("pmdaProfile: %d", pmdaProfile(NULL, &ext));
    printf(" %s", ext.e_prof ? "set" : "NULL");
    printf(" %d", pmdaProfile(&profile, &ext));
    printf(" %s\n", ext.e_prof == &profile ? "set" : "wrong");
    return 0;
}
