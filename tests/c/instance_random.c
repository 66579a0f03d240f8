/*
 * Lookups by id and by name in large tables that the agent rewrites in every way: instances are exchanged, renamed, added and
 * removed in place, tables move, and duplicates come with a new table. INST-61, INST-64, INST-66, IDEF-5.
 */
#include "instances.h"

#define N 1500

static unsigned int seed = 12345;
static unsigned int
any(unsigned int n)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % n;
}

static pmdaInstid tables[2][N];
static pmdaIndom indoms[] = { { 0x3e800001, N, tables[0] } };
static int fresh;

static void
make(pmdaInstid *one)
{
    char text[40];

    fresh++;
    if (any(3) == 0)
	snprintf(text, sizeof(text), "n%d with a tail", fresh);
    else
	snprintf(text, sizeof(text), "n%d", fresh);
    free(one->i_name);
    one->i_name = strdup(text);
    one->i_inst = fresh * 3 - 100;
}

int
main(void)
{
    static pmdaExt ext;
    unsigned int sum = 0, hits = 0, t = 0, round, i, j;
    pmInResult *result;
    char name[40];
    int sts;

    ext.e_indoms = indoms;
    ext.e_nindoms = 1;
    for (i = 0; i < N; i++)
	make(&tables[0][i]);
    for (round = 0; round < 400; round++) {
	pmdaInstid *set = indoms[0].it_set, swap;

	i = any((unsigned int)indoms[0].it_numinst);
	j = any((unsigned int)indoms[0].it_numinst);
	switch (any(8)) {
	case 0:
	    swap = set[i], set[i] = set[j], set[j] = swap;
	    break;
	case 1:
	    make(&set[i]);
	    break;
	case 2:
	    indoms[0].it_numinst = (int)any(N - 20) + 20;
	    for (i = 0; i < (unsigned int)indoms[0].it_numinst; i++)
		if (set[i].i_name == NULL)
		    make(&set[i]);
	    break;
	case 3:		/* another table, with duplicates of ids and names */
	    for (i = 0; i < N; i++) {
		pmdaInstid *from = &set[any((unsigned int)indoms[0].it_numinst)], *to = &tables[!t][i];
		free(to->i_name);
		to->i_inst = from->i_inst;
		to->i_name = strdup(from->i_name);
	    }
	    t = !t;
	    indoms[0].it_set = tables[t];
	    indoms[0].it_numinst = N;
	    break;
	default:
	    break;
	}
	set = indoms[0].it_set;
	for (i = 0; i < 40; i++) {
	    pmdaInstid *one = &set[any((unsigned int)indoms[0].it_numinst)];
	    int id = any(4) ? one->i_inst : (int)any((unsigned int)fresh + 10) * 3 - 100;

	    if (any(4))
		snprintf(name, sizeof(name), "%s", one->i_name);
	    else
		snprintf(name, sizeof(name), "n%u%s", any((unsigned int)fresh + 10), any(2) ? "" : " with a tail");
	    if (any(2))
		sts = pmdaInstance(indoms[0].it_indom, id, NULL, &result, &ext);
	    else
		sts = pmdaInstance(indoms[0].it_indom, PM_IN_NULL, name, &result, &ext);
	    sum = sum * 31 + (unsigned int)sts;
	    if (sts < 0)
		continue;
	    hits++;
	    if (result->instlist)
		sum = sum * 31 + (unsigned int)result->instlist[0];
	    else {
		for (j = 0; result->namelist[0][j]; j++)
		    sum = sum * 31 + (unsigned char)result->namelist[0][j];
		free(result->namelist[0]);
	    }
	    free(result->instlist);
	    free(result->namelist);
	    free(result);
	}
	printf("%u: %d instances, %u hits, %u\n", round, indoms[0].it_numinst, hits, sum);
    }
    return 0;
}
