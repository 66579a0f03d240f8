/*
 * A few selected instances of a long classic table, which the agent rewrites in place between the iterations and between their
 * steps: entries change places, disappear, appear and get other ids, also ids that another entry has already; the table shrinks,
 * grows and moves. INST-41, INST-51, INST-54.
 */
#include "instances.h"

#define LONG 700
#define IDS 2000
#define LISTED 40

static unsigned int seed = 271828;
static unsigned int
any(unsigned int n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

/* Each id is in a table once: the entries behind the end hold those that are not in use. */
static pmdaInstid tables[2][IDS];
static pmdaIndom domain = { 0x3e800001, LONG, tables[0] };
static int listed[LISTED];
static pmInDomProfile element = { 0x3e800001, PM_PROFILE_EXCLUDE, 3, listed };
static pmProfile profile = { PM_PROFILE_EXCLUDE, 1, &element };
static pmdaExt ext;

/* The place of an id, be it in use or not. */
static unsigned int
place_of(int id)
{
    unsigned int place = 0;

    while (domain.it_set[place].i_inst != id)
	place++;
    return place;
}

/* A place; often that of a listed instance. */
static unsigned int
some_place(void)
{
    if (any(2))
	return any(any(2) ? (unsigned int)domain.it_numinst : IDS);
    return place_of(listed[any((unsigned int)element.instances_len)]);
}

static void
swap(unsigned int a, unsigned int b)
{
    pmdaInstid entry = domain.it_set[a];

    domain.it_set[a] = domain.it_set[b];
    domain.it_set[b] = entry;
}

static void
change(void)
{
    unsigned int place;
    pmdaInstid entry;

    switch (any(12)) {
    case 0:
	domain.it_numinst = LONG - (int)any(3) * 40;
	break;
    case 1:
	memcpy(tables[domain.it_set == tables[0]], domain.it_set, sizeof(tables[0]));
	domain.it_set = tables[domain.it_set == tables[0]];
	break;
    case 2:	/* One instance has gone from the front: the others move up. */
	place = any(20);
	entry = domain.it_set[place];
	memmove(&domain.it_set[place], &domain.it_set[place + 1], (IDS - 1 - place) * sizeof(entry));
	domain.it_set[IDS - 1] = entry;
	break;
    case 3:	/* All that is listed is in use. */
	for (place = 0; place < (unsigned int)element.instances_len; place++) {
	    if (place_of(listed[place]) >= (unsigned int)domain.it_numinst)
		swap(place_of(listed[place]), any((unsigned int)domain.it_numinst));
	}
	break;
    default:
	swap(some_place(), some_place());
    }
}

static void
iteration(int lively)
{
    int inst = -77;
    unsigned int steps = 0;

    __pmdaStartInst(domain.it_indom, &ext);
    while (__pmdaNextInst(&inst, &ext) == 1 && steps++ < 100) {
	printf(" %d@%d", inst, ext.e_ordinal);
	if (lively && any(4) == 0)
	    change();
	if (lively && any(40) == 0)
	    ext.e_ordinal = (int)any(LONG);
    }
    printf(" end@%d\n", ext.e_ordinal);
}

/* An iteration over a table that has a listed id twice. */
static void
twice(void)
{
    pmdaInstid *place = &domain.it_set[any((unsigned int)domain.it_numinst)], entry = *place;

    place->i_inst = listed[any((unsigned int)element.instances_len)];
    iteration(0);
    *place = entry;
}

int
main(void)
{
    int i, round;

    for (i = 0; i < IDS; i++)
	tables[0][i].i_inst = i * 3 - 500;
    ext.e_indoms = &domain;
    ext.e_nindoms = 1;
    ext.e_prof = &profile;
    for (round = 0; round < 4000; round++) {
	if (round == 0 || any(16) == 0) {
	    element.instances_len = any(8) ? 1 + (int)any(6) : LISTED;
	    for (i = 0; i < element.instances_len; i++)
		listed[i] = (int)any(IDS) * 3 - 500;
	}
	printf("%d:", round);
	iteration(round % 3 == 0);
	if (round % 5 == 0)
	    twice();
	for (i = (int)any(4); i > 0; i--)
	    change();
    }
    return 0;
}
