/*
 * pmdaDesc and pmdaText: unknown metrics are logged for agents of old versions only, and the context of the request becomes known
 * (MAIN-25). FETCH-80, FETCH-90, FETCH-91, FETCH-92, FETCH-93, HELP-25, HELP-26.
 */
#include "fetch.h"

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric, (void)inst, (void)atom;
    return 0;
}

int
main(void)
{
    static pmdaMetric metrics[3] = {
	{ NULL, { 0, PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(1, 0, 0, 2, 0, 0) } },
	{ NULL, { 1, PM_TYPE_STRING, PM_INDOM_NULL, PM_SEM_DISCRETE, PMDA_PMUNITS(0, 1, 0, 0, 3, 0) } },
	{ NULL, { 2, 99, 0x12345, 77, PMDA_PMUNITS(0, 0, -1, 0, 0, 1) } },
    };
    static const int helps[] = { -1, -2, 0, 5, 2147483647 };
    pmdaInterface dispatch;
    pmdaExt *ext;
    pmDesc desc;
    char *text;
    unsigned int j;
    int version, i, sts;

    for (version = 2; version <= 7; version++) {
	agent(&dispatch, version, value, NULL, 0, metrics, 3);
	ext = CALL(dispatch).ext;
	for (i = 0; i < 5; i++) {
	    ext->e_context = version * 10 + i;
	    memset(&desc, 0x11, sizeof(desc));
	    sts = CALL(dispatch).desc(pmID_build(DOMAIN, 0, i), &desc, ext);
	    printf("%d context %d:", sts, pmdaGetContext());
	    for (j = 0; j < sizeof(desc); j++)
		printf(" %02x", ((unsigned char *)&desc)[j]);
	    printf("\n");
	}
	for (i = 0; i < LENGTH(helps); i++) {
	    ext->e_help = helps[i];
	    ext->e_context = version * 100 + i;
	    for (j = 0; j < 32; j++) {
		text = (char *)&text;
		sts = CALL(dispatch).text((int)pmID_build(DOMAIN, 0, 1), (int)j, &text, ext);
		printf("%d/%s ", sts, text ? "text" : "NULL");
	    }
	    printf("context %d\n", pmdaGetContext());
	}
    }
    return 0;
}
