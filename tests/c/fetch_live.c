/*
 * Instances are visited live: FETCH-31, FETCH-32, FETCH-33, FETCH-34, FETCH-35, F-10, F-14, INST-4, INST-41, MAIN-53. The callback
 * changes the table, the profile and the state of the iteration. fixed/fetch_nested.c runs the cases in which it fetches again
 * for the same agent.
 */
#include <setjmp.h>
#ifndef CASES
#define CASES 0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15
#endif
#include "fetch.h"

static pmdaInstid set[40], moved[40];
static pmdaIndom indoms[] = { { 1, 3, set }, { 2, 2, set + 30 }, { 3, 0, set }, { 4, -2, set } };
static pmdaMetric metrics[6];
static pmID pmids[6];
static pmdaInterface dispatch;
static pmdaExt *ext;
static int what, calls;
static jmp_buf away;

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    static pmProfile nothing = { PM_PROFILE_EXCLUDE, 0, NULL };
    int other;

    printf("    callback %s inst %d ordinal %d singular %d\n", pmIDStr(metric->m_desc.pmid), (int)inst, ext->e_ordinal, ext->e_singular);
    atom->l = (int)inst + 1000;
    if (++calls > 60)
	return -1;
    switch (what) {
    case 1:	/* the table grows */
	if (indoms[0].it_numinst < 25)
	    indoms[0].it_numinst += 2;
	break;
    case 2:	/* shrinks */
	indoms[0].it_numinst--;
	break;
    case 3:	/* moves */
	indoms[0].it_set = moved;
	break;
    case 4:	/* nothing is selected any more */
	ext->e_prof = &nothing;
	break;
    case 5:	/* the agent skips one */
	if (ext->e_ordinal >= 0)
	    ext->e_ordinal++;
	break;
    case 6:	/* a value of no metric; then none, to the last one */
	return inst == 1 ? PM_ERR_INST : inst == 2 ? 0 : 1;
    case 7:	/* another metric's value, singular */
	if (calls == 1)
	    fetch(&dispatch, 1, pmids);
	break;
    case 8:	/* other instances */
	if (calls == 1)
	    fetch(&dispatch, 1, pmids + 2);
	break;
    case 9:	/* more metrics than the fetch in progress has */
	if (calls == 1)
	    fetch(&dispatch, 6, pmids);
	break;
    case 10:	/* takes the next instance away */
	if (ext->e_ordinal >= 0)
	    __pmdaNextInst(&other, ext);
	break;
    case 11:
	if (calls == 2)
	    longjmp(away, 1);
	break;
    case 12:	/* instances are exchanged in place */
	set[1].i_inst = 100 + calls;
	set[2].i_inst = 200 + calls;
	break;
    case 13:	/* the agent has fewer metrics now */
	ext->e_nmetrics = 2;
	break;
    case 14:	/* ends the iteration */
	ext->e_ordinal = -1;
	break;
    case 15:	/* another callback's turn next time, another table */
	pmdaRehash(ext, metrics, 6);
	break;
    }
    return 1;
}

int
main(void)
{
    static const int cases[] = { CASES };
    static int i, n, c;		/* kept over longjmp */

    for (i = 0; i < 6; i++) {
	metrics[i].m_desc.pmid = pmID_build(DOMAIN, 0, i);
	metrics[i].m_desc.type = PM_TYPE_32;
	metrics[i].m_desc.indom = i == 0 ? PM_INDOM_NULL : (pmInDom)i;
    }
    metrics[5].m_desc.indom = 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (c = 0; c < LENGTH(cases); c++) {
	what = cases[c];
	for (i = 0; i < 40; i++) {
	    set[i].i_inst = i;
	    moved[i].i_inst = 500 + i;
	    set[i].i_name = moved[i].i_name = "x";
	}
	agent(&dispatch, 7, value, indoms, 4, metrics, 6);
	ext = CALL(dispatch).ext;
	for (i = 0; i < 6; i++)
	    pmids[i] = metrics[i].m_desc.pmid;
	for (n = 1; n <= 6; n += 5) {
	    indoms[0].it_set = set;
	    indoms[0].it_numinst = 3;
	    ext->e_prof = NULL;
	    calls = 0;
	    printf("case %d, %d metrics\n", what, n);
	    if (setjmp(away) == 0)
		fetch(&dispatch, n, n == 1 ? pmids + 1 : pmids);
	    else
		printf("left by longjmp\n");
	    printf("end: ordinal %d singular %d\n", ext->e_ordinal, ext->e_singular);
	}
    }
    return 0;
}
