/* The help database of an agent: opened by pmdaInit, read by pmdaText, never closed. HELP-14 HELP-28 */
#include "help_fixture.h"

static pmdaMetric	metrics[] = {
    { NULL, { PMID(0, 0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, { 0 } } },
};

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)metric;
    atom->l = inst;
    return 1;
}

static void
text(int ident, int type, pmdaExt *ext)
{
    char *buffer = "untouched";
    int status = pmdaText(ident, type, &buffer, ext);

    printf("ident %08x type %d: %d %s\n", ident, type, status, buffer ? buffer : "NULL");
}

static void
agent(char *help)
{
    static const int types[] = { PM_TEXT_ONELINE, PM_TEXT_HELP, 0 };
    pmdaInterface dispatch;
    pmdaExt *ext;
    int i;

    memset(&dispatch, 0, sizeof(dispatch));
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "helper", 9, "log", help);
    pmdaSetFetchCallBack(&dispatch, value);
    pmdaInit(&dispatch, NULL, 0, metrics, 1);
    ext = dispatch.version.any.ext;
    printf("== help %s: status %d e_help %d\n", help ? help : "NULL", dispatch.status, ext->e_help);
    for (i = 0; i < 3; i++) {
	text(PMID(9, 0, 0), types[i] | PM_TEXT_PMID, ext);
	text(PMID(9, 0, 9), types[i] | PM_TEXT_PMID, ext);
	text(PMID(9, 1, 0), types[i] | PM_TEXT_PMID, ext);
	text(INDOM(9, 0), types[i] | PM_TEXT_INDOM, ext);
	text(INDOM(9, 0), types[i], ext);
	text(INDOM(9, 7), types[i] | PM_TEXT_INDOM, ext);
    }
}

int
main(void)
{
    pmSetProgname("help_agent");
    help_write_good("good");
    agent("good");
    agent("missing");
    agent(NULL);
    agent("good");
    help_table(2);
    return 0;
}
