/*
 * Flags, data and callbacks for each interface version (INIT-47, INIT-48, INIT-49, INIT-50, INIT-51, LABEL-46), and the
 * stock methods without data (FETCH-100, FETCH-101, FETCH-102, FETCH-103, MAIN-25).
 */
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static void result_callback(pmResult *r) { (void)r; }
static int fetch_callback(pmdaMetric *m, unsigned int i, pmAtomValue *a) { (void)m; (void)i; (void)a; return 0; }
static int check_callback(void) { return 0; }
static void done_callback(void) { }
static void end_callback(int context) { (void)context; }
static int label_callback(pmInDom d, unsigned int i, pmLabelSet **l) { (void)d; (void)i; (void)l; return 0; }

static void
show(const char *what, pmdaInterface *d)
{
    pmdaExt *e = d->version.any.ext;

    printf("%s: status %d ext flags %x comm flags %x callbacks %d %d %d %d %d %d\n", what, d->status, e->e_flags,
	d->comm.flags, e->e_resultCallBack == result_callback, e->e_fetchCallBack == fetch_callback,
	e->e_checkCallBack == check_callback, e->e_doneCallBack == done_callback, e->e_endCallBack == end_callback,
	e->e_labelCallBack == label_callback);
    d->status = 0;
    fflush(stdout);
}

static void
version(int v)
{
    static int data[2];
    pmdaInterface d;
    pmdaExt *e;

    printf("interface %d\n", v);
    memset(&d, 0, sizeof(d));
    pmdaDSO(&d, v >= 2 && v <= 7 ? v : PMDA_INTERFACE_7, "test", NULL);
    d.comm.pmda_interface = v;
    e = d.version.any.ext;
    pmdaSetFlags(&d, PMDA_EXT_FLAG_DIRECT | 0x1000);
    show("set flags", &d);
    pmdaExtSetFlags(e, PMDA_EXT_LABEL_CHANGE);
    pmdaSetFlags(&d, 0);
    show("ext set flags", &d);
    pmdaSetCommFlags(&d, PMDA_FLAG_AUTHORIZE);
    pmdaSetCommFlags(&d, 0x10040);
    show("comm flags", &d);
    printf("data %d", pmdaExtGetData(e) != NULL);
    pmdaSetData(&d, &data[0]);
    printf(" %d", pmdaExtGetData(e) == &data[0]);
    pmdaExtSetData(e, &data[1]);
    printf(" %d", pmdaExtGetData(e) == &data[1]);
    pmdaExtSetData(e, NULL);
    printf(" %d\n", pmdaExtGetData(e) == NULL);
    show("data", &d);
    pmdaSetResultCallBack(&d, result_callback);
    show("result", &d);
    pmdaSetFetchCallBack(&d, fetch_callback);
    show("fetch", &d);
    pmdaSetCheckCallBack(&d, check_callback);
    show("check", &d);
    pmdaSetDoneCallBack(&d, done_callback);
    show("done", &d);
    pmdaSetEndContextCallBack(&d, end_callback);
    show("end", &d);
    pmdaSetLabelCallBack(&d, label_callback);
    show("label", &d);
    pmdaSetResultCallBack(&d, NULL);
    pmdaSetFetchCallBack(&d, NULL);
    pmdaSetCheckCallBack(&d, NULL);
    pmdaSetDoneCallBack(&d, NULL);
    show("cleared", &d);
    pmdaSetEndContextCallBack(&d, NULL);
    show("end cleared", &d);
    pmdaSetLabelCallBack(&d, NULL);
    show("label cleared", &d);
}

static void
methods(int v)
{
    pmProfile profile;
    pmdaInterface d;
    pmdaExt *e;
    pmID id = 5;
    char **names = (char **)&id;
    int *status = (int *)&id;

    memset(&d, 0, sizeof(d));
    pmdaDSO(&d, v, "test", NULL);
    e = d.version.any.ext;
    __pmdaSetContext(99);
    e->e_context = 7;
    printf("profile %d", pmdaProfile(&profile, e));
    printf(" kept %d", e->e_prof == &profile);
    printf(" null %d", pmdaProfile(NULL, e));
    printf(" kept %d context %d\n", e->e_prof == NULL, pmdaGetContext());
    printf("pmid %d name %d children %d context %d id %u\n", pmdaPMID("a", &id, e), pmdaName(1, &names, e),
	pmdaChildren("a", 0, &names, &status, e), pmdaGetContext(), id);
    printf("null arguments %d %d %d\n", pmdaPMID(NULL, NULL, NULL), pmdaName(1, NULL, NULL),
	pmdaChildren(NULL, 1, NULL, NULL, NULL));
    printf("attribute %d %d %d context %d\n", pmdaAttribute(1, PMDA_ATTR_USERNAME, "joe", 4, e),
	pmdaAttribute(1, 999, "x", 2, e), pmdaAttribute(1, PMDA_ATTR_USERID, NULL, 0, NULL), pmdaGetContext());
    printf("store %d context %d\n", pmdaStore(NULL, e), pmdaGetContext());
    fflush(stdout);
    pmSetDebug("attr");
    pmdaAttribute(3, PMDA_ATTR_USERNAME, "joe", 4, e);
    pmdaAttribute(3, PMDA_ATTR_CONTAINER, "box", 4, e);
    pmdaAttribute(3, 999, "x", 2, e);
    pmClearDebug("attr");
    pmSetDebug("auth");
    pmdaAttribute(3, PMDA_ATTR_USERID, "0", 2, NULL);
    pmClearDebug("auth");
}

int
main(void)
{
    static const int versions[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 255 };
    unsigned int i;

    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
	version(versions[i]);
    for (i = 2; i <= 7; i++)
	methods(i);
    return 0;
}
