/*
 * both: one source that is built as a shared object (pmcd calls both_init) and as a program (pmcd starts it).
 */
#include <time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	497

static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U64, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 1, 0, 0, PM_TIME_SEC, 0) } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    (void)inst;
    atom->ull = time(NULL);
    return PMDA_FETCH_STATIC;
}

/* What both forms have in common. */
static void
setup(pmdaInterface *dispatch)
{
    if (dispatch->status != 0)
	return;
    pmdaSetFetchCallBack(dispatch, value);
    pmdaInit(dispatch, NULL, 0, metrics, 1);
}

/* The shared object starts here; its name stands in pmcd.conf. */
void __PMDA_INIT_CALL
both_init(pmdaInterface *dispatch)
{
    pmdaDSO(dispatch, PMDA_INTERFACE_7, "both DSO", NULL);
    setup(dispatch);
}

/* The program starts here. */
int
main(int argc, char **argv)
{
    pmdaInterface dispatch;

    (void)argc;
    pmSetProgname(argv[0]);
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, pmGetProgname(), DOMAIN, "both.log", NULL);
    pmdaOpenLog(&dispatch);
    setup(&dispatch);
    pmdaConnect(&dispatch);
    pmdaMain(&dispatch);
    return 0;
}
