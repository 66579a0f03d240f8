/*
 * A profile that takes the place of another: at the same address, with lists of the same length at the same address, in
 * the middle of an iteration and between two. INST-50 INST-53 MAIN-42 FETCH-100
 */
#include "instances.h"

#define N 300
static pmdaInstid table[N];
static pmdaIndom indoms[12];
static pmdaExt ext;

/* One block: the profile, its elements, their lists. The domains that it lists, and the instances, start at `first`. */
struct whole {
    pmProfile profile;
    pmInDomProfile elements[12];
    int lists[12][100];
};

static void
fill(struct whole *whole, int first, int states)
{
    int i, j;

    whole->profile.state = PM_PROFILE_EXCLUDE;
    whole->profile.profile_len = 12;
    whole->profile.profile = whole->elements;
    for (i = 0; i < 12; i++) {
	whole->elements[i].indom = indoms[(i + first) % 12].it_indom;
	whole->elements[i].state = states;
	whole->elements[i].instances_len = 100;
	whole->elements[i].instances = whole->lists[i];
	for (j = 0; j < 100; j++)
	    whole->lists[i][j] = first + j * (i % 3 + 1);
    }
}

static void
show(const char *what, pmInDom indom)
{
    int inst, n = 0, sum = 0;

    __pmdaStartInst(indom, &ext);
    while (__pmdaNextInst(&inst, &ext)) {
	sum += inst;
	n++;
    }
    printf("%s %x: %d sum %d\n", what, indom, n, sum);
}

/* The first instances under one profile, the rest under its successor. */
static void
across(const char *what, pmInDom indom, struct whole *whole, int first, int by_method)
{
    int inst, n = 0, sum = 0;

    __pmdaStartInst(indom, &ext);
    while (__pmdaNextInst(&inst, &ext)) {
	sum += inst;
	if (++n != 20)
	    continue;
	fill(whole, first, PM_PROFILE_EXCLUDE);
	if (by_method)
	    printf("profile: %d\n", pmdaProfile(&whole->profile, &ext));
    }
    printf("%s %x: %d sum %d\n", what, indom, n, sum);
}

int
main(void)
{
    static char name[] = "x";
    struct whole *whole = malloc(sizeof *whole);
    uintptr_t before;
    int i, round;

    for (i = 0; i < N; i++) {
	table[i].i_inst = i;
	table[i].i_name = name;
    }
    for (i = 0; i < 12; i++) {
	indoms[i].it_indom = pmInDom_build(253, i + 1);
	indoms[i].it_numinst = N;
	indoms[i].it_set = table;
    }
    ext.e_indoms = indoms;
    ext.e_nindoms = 12;

    /* in place, told and untold */
    fill(whole, 0, PM_PROFILE_EXCLUDE);
    printf("profile: %d\n", pmdaProfile(&whole->profile, &ext));
    for (round = 1; round < 8; round++) {
	for (i = 0; i < 12; i++)
	    show("all", indoms[i].it_indom);
	fill(whole, round * 5, round % 2);
	if (round > 4)
	    printf("profile: %d\n", pmdaProfile(&whole->profile, &ext));
    }
    /* an element of the same domain is put in front */
    fill(whole, 0, PM_PROFILE_EXCLUDE);
    pmdaProfile(&whole->profile, &ext);
    for (i = 0; i < 12; i++)
	show("ordered", indoms[i].it_indom);
    whole->elements[0].indom = whole->elements[11].indom;
    pmdaProfile(&whole->profile, &ext);
    show("put in front", indoms[11].it_indom);
    show("without", indoms[0].it_indom);
    /* in the middle */
    for (i = 0; i < 12; i += 3) {
	fill(whole, i, PM_PROFILE_EXCLUDE);
	pmdaProfile(&whole->profile, &ext);
	across("across", indoms[i].it_indom, whole, i + 24, 1);
    }
    /* freed, and made anew at the same address, as loaders do; the loader tells of it by the method */
    for (round = 0; round < 6; round++) {
	before = (uintptr_t)whole;
	free(whole);
	whole = malloc(sizeof *whole);
	fill(whole, 7 * round, round % 2);
	printf("profile: %d, same address %d\n", pmdaProfile(&whole->profile, &ext), (uintptr_t)whole == before);
	for (i = 0; i < 12; i++)
	    show("anew", indoms[i].it_indom);
    }
    /* the agent's own profile method only stores the address */
    for (round = 0; round < 6; round++) {
	free(whole);
	whole = malloc(sizeof *whole);
	fill(whole, 3 * round + 1, round % 2);
	ext.e_prof = &whole->profile;
	for (i = 0; i < 12; i++)
	    show("own method", indoms[i].it_indom);
    }
    return 0;
}
