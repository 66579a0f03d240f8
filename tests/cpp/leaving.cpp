/*
 * Every function of an agent that the library calls is left in five ways: by return, by longjmp, by a C++ exception, by
 * pthread_exit, and by pthread_cancel while it runs. Each passes through the library, which is as good as before afterwards:
 * the same function is called and left once more, and then asked for in the ordinary way. MAIN-53 MAIN-54
 *
 * Each combination has a process of its own, and a line: how the two calls ended, how the third one did.
 */
#include "agent.h"

enum Way { RETURN, LONGJMP, EXCEPTION, EXIT, CANCEL, WAYS };
static const char *const ways[] = { "return", "longjmp", "exception", "pthread_exit", "pthread_cancel" };

/* How the callback is left the next times; it runs on, as functions do, when that is over. */
static Way way;
static int called;

static void
leave(void)
{
    called++;
    if (leaves == 0)
	return;
    leaves--;
    switch (way) {
    case RETURN:
	return;
    case LONGJMP:
	longjmp(out, 1);
    case EXCEPTION:
	throw 42;
    case EXIT:
	pthread_exit(&out);
    default:
	pthread_cancel(pthread_self());
	for (;;)
	    usleep(1000);
    }
}

static pmdaInstid colours[] = { { 3, (char *)"red" }, { 5, (char *)"blue" } };
static pmdaIndom indoms[2];
static pmdaMetric metrics[2];

static int fetch_callback(pmdaMetric *, unsigned int inst, pmAtomValue *atom) { leave(); atom->l = (int)inst; return 1; }
static int label_callback(pmInDom, unsigned int inst, pmLabelSet **set) { leave(); return pmdaAddLabels(set, "{\"i\":%u}", inst); }
static int check_callback(void) { leave(); return 0; }
static void done_callback(void) { leave(); }
static void end_callback(int) { leave(); }
static void result_callback(Result *result)
{
    for (int i = 0; i < result->numpmid; i++)
	free(result->vset[i]);
    leave();
}

static int profile_method(pmProfile *profile, pmdaExt *e) { leave(); return pmdaProfile(profile, e); }
static int fetch_method(int n, pmID *pmids, Result **result, pmdaExt *e) { leave(); return pmdaFetch(n, pmids, result, e); }
static int desc_method(pmID pmid, pmDesc *desc, pmdaExt *e) { leave(); return pmdaDesc(pmid, desc, e); }
static int instance_method(pmInDom indom, int inst, char *name, pmInResult **list, pmdaExt *e)
{
    leave();
    return pmdaInstance(indom, inst, name, list, e);
}
static int text_method(int, int, char **text, pmdaExt *) { leave(); *text = (char *)"text"; return 0; }
static int store_method(Result *, pmdaExt *) { leave(); return 0; }
static int pmid_method(const char *, pmID *pmid, pmdaExt *) { leave(); *pmid = 1; return 0; }
static char **one_name(void)
{
    char **list = (char **)malloc(sizeof(char *) + 4);
    list[0] = (char *)&list[1];
    strcpy(list[0], "abc");
    return list;
}
static int name_method(pmID, char ***names, pmdaExt *) { leave(); *names = one_name(); return 1; }
static int children_method(const char *, int, char ***names, int **states, pmdaExt *)
{
    leave();
    *names = one_name();
    *states = (int *)calloc(1, sizeof(int));
    return 1;
}
static int attribute_method(int, int, const char *, int, pmdaExt *) { leave(); return 0; }
static int label_method(int ident, int type, pmLabelSet **sets, pmdaExt *e) { leave(); return pmdaLabel(ident, type, sets, e); }

/* Requests. */
static const uint32_t indom1 = (domain << 22) | 1;

static void post_profile(void) { request({ 28, 0x7002, 0, 1, 0, 0, 0 }); }
static void post_instance(void) { request({ 32, 0x7006, 1, indom1, 0, 0, 0xffffffff, 0 }); }
static void post_text(void) { request({ 20, 0x7008, 1, pmid0, 5 }); }
static void post_store(void) { request({ 24, 0x7001, 1, 0, 0, 0 }); }
static void post_pmid(void) { request({ 36, 0x700e, 0, 9, 0, 1, 8, 0x6b732e64, 0x796e2e61 }); }
static void post_name(void) { request({ 24, 0x700d, 0, 0, 1, pmid0 }); }
static void post_children(void) { request({ 24, 0x700f, 0, 1, 3, 0x612e627e }); }
static void post_attribute(void) { request({ 24, 0x7011, 3, 5, 0x74616e79, 0x61000000 }); }
static void post_label(void) { request({ 20, 0x7012, 1, indom1, 32 }); }
static void post_end(void) { request({ 16, 0x7000, 1, (uint32_t)PM_ERR_NOTCONN }); }

#define METHOD(slot, function) []() { dispatch.version.seven.slot = function; }

static int queue;
static int decode(int, void *, size_t, struct timeval *, void *) { leave(); return 0; }
static int apply(void *, void *, size_t) { leave(); return 0; }
static void release(void *) { leave(); }

static void
new_queue(void)
{
    queue = pmdaEventNewQueue("queue", 1000);
    pmdaEventNewClient(1);
    pmdaEventSetAccess(1, queue, 1);
    pmAtomValue atom;
    pmdaEventQueueRecords(queue, &atom, 1, [](int, void *, size_t, struct timeval *, void *) { return 0; }, NULL);
}

static void
append(void)
{
    struct timeval now = { 1, 0 };
    pmdaEventQueueAppend(queue, (void *)"event", 5, &now);
}

static void
records(void)
{
    pmAtomValue atom;
    pmdaEventQueueRecords(queue, &atom, 1, decode, NULL);
}

static int one_tree(pmdaExt *, pmdaNameSpace **tree)
{
    if (*tree == NULL) {
	pmdaTreeCreate(tree);
	pmdaTreeInsert(*tree, pmid0, "dynamic.one");
	pmdaTreeRebuildHash(*tree, 1);
    }
    return 0;
}

static int
update(pmdaExt *, pmdaNameSpace **tree)
{
    leave();
    return one_tree(NULL, tree);
}
static int text_of_dynamic(pmdaExt *, pmID, int, char **text) { leave(); *text = (char *)"text"; return 0; }
static void metric_of_dynamic(pmdaMetric *from, pmdaMetric *to, int) { leave(); *to = *from; }
static void counts(int *n, int *trees) { leave(); *n = 1; *trees = 1; }
static void count_one(int *n, int *trees) { *n = 1; *trees = 1; }
static void copy_metric(pmdaMetric *from, pmdaMetric *to, int) { *to = *from; }
static int no_text(pmdaExt *, pmID, int, char **) { return PM_ERR_TEXT; }

static void
dynamic(pmdaUpdatePMNS u, pmdaUpdateText t, pmdaUpdateMetric m, pmdaCountMetrics c)
{
    static int clusters[] = { 0 };
    pmdaExtDynamicPMNS("dynamic", clusters, 1, u, t, m, c, metrics, 2, ext);
}

static int override(int, pmdaOptions *) { leave(); return 0; }

static const Scene scenes[] = {
    { "fetch callback", []() {}, post_fetch, serve },
    { "label callback", []() { pmdaSetLabelCallBack(&dispatch, label_callback); }, post_label, serve },
    { "check callback", []() { pmdaSetCheckCallBack(&dispatch, check_callback); }, post_desc, serve },
    { "done callback", []() { pmdaSetDoneCallBack(&dispatch, done_callback); }, post_desc, serve },
    { "end of context", []() { pmdaSetEndContextCallBack(&dispatch, end_callback); }, post_end, serve },
    { "result callback", []() { pmdaSetResultCallBack(&dispatch, result_callback); }, post_fetch, serve },
    { "profile", METHOD(profile, profile_method), post_profile, serve },
    { "fetch", METHOD(fetch, fetch_method), post_fetch, serve },
    { "desc", METHOD(desc, desc_method), post_desc, serve },
    { "instance", METHOD(instance, instance_method), post_instance, serve },
    { "text", METHOD(text, text_method), post_text, serve },
    { "store", METHOD(store, store_method), post_store, serve },
    { "pmid", METHOD(pmid, pmid_method), post_pmid, serve },
    { "name", METHOD(name, name_method), post_name, serve },
    { "children", METHOD(children, children_method), post_children, serve },
    { "attribute", METHOD(attribute, attribute_method), post_attribute, serve },
    { "label", METHOD(label, label_method), post_label, serve },
    { "fetch callback, direct", []() {}, NULL,
	[]() { pmID id = pmid0; Result *r; if (pmdaFetch(1, &id, &r, ext) == 0) ext->e_resultCallBack(r); } },
    { "label callback, direct", []() { pmdaSetLabelCallBack(&dispatch, label_callback); }, NULL,
	[]() { pmLabelSet *sets = NULL; int n = pmdaLabel(indom1, PM_LABEL_INSTANCES, &sets, ext); pmFreeLabelSets(sets, n); } },
    { "desc inside of a fetch", METHOD(desc, [](pmID pmid, pmDesc *, pmdaExt *) { leave(); (void)pmid; return PM_ERR_PMID; }), NULL,
	[]() { pmID id = pmid0 + 9; Result *r; if (pmdaFetch(1, &id, &r, ext) == 0) ext->e_resultCallBack(r); } },
    { "event decoder", new_queue, append, records },
    { "event filter", []() { new_queue(); pmdaEventSetFilter(1, queue, NULL, apply, [](void *) {}); }, append, records },
    { "release of a filter", new_queue, []() { pmdaEventSetFilter(1, queue, &queue, [](void *, void *, size_t) { return 0; }, release); },
	[]() { pmdaEventSetFilter(1, queue, &queue, [](void *, void *, size_t) { return 0; }, release); } },
    { "release with its client", new_queue, []() { pmdaEventNewClient(1);
	pmdaEventSetFilter(1, queue, &queue, [](void *, void *, size_t) { return 0; }, release); },
	[]() { pmdaEventEndClient(1); } },
    { "cache purge", []() {}, []() { pmdaCacheStore(indom1, PMDA_CACHE_ADD, "one", &queue); pmdaCacheOp(indom1, PMDA_CACHE_SAVE); },
	[]() { pmdaCachePurgeCallback(indom1, (time_t)-10, [](void *) { leave(); }); } },
    { "dynamic names", []() { dynamic(update, no_text, copy_metric, count_one); }, NULL,
	[]() { pmdaDynamicLookupName(ext, "dynamic"); } },
    { "dynamic names by id", []() { dynamic(update, no_text, copy_metric, count_one); }, NULL,
	[]() { pmdaDynamicLookupPMID(ext, pmid0); } },
    { "dynamic text", []() { dynamic(one_tree, text_of_dynamic, copy_metric, count_one); }, NULL,
	[]() { char *text; pmdaDynamicLookupText(pmid0, PM_TEXT_ONELINE | PM_TEXT_PMID, &text, ext); } },
    { "dynamic metrics", []() { dynamic(one_tree, no_text, metric_of_dynamic, count_one); }, NULL,
	[]() { pmdaDynamicMetricTable(ext); } },
    { "dynamic counts", []() { dynamic(one_tree, no_text, copy_metric, counts); }, NULL,
	[]() { pmdaDynamicMetricTable(ext); } },
    { "options", []() {}, NULL,
	[]() {
	    static char name[] = "agent", option[] = "-l", value[] = "file";
	    static char *args[] = { name, option, value, NULL };
	    pmdaOptions options;
	    memset(&options, 0, sizeof(options));
	    options.short_options = "l:";
	    options.override = override;
	    pmdaGetOptions(3, args, &options, &dispatch);
	} },
};

static void
play(void)
{
    new_agent();
    metrics[0].m_desc.pmid = PMDA_PMID(0, 0);
    metrics[0].m_desc.indom = 1;
    metrics[1].m_desc.pmid = PMDA_PMID(0, 1);
    metrics[1].m_desc.indom = PM_INDOM_NULL;
    indoms[0].it_indom = 1;
    indoms[0].it_numinst = 2;
    indoms[0].it_set = colours;
    dispatch.version.any.text = text_method;
    pmdaSetFetchCallBack(&dispatch, fetch_callback);
    if (strcmp(scene->name, "cache purge") == 0)
	indoms[0].it_numinst = -1, indoms[0].it_set = NULL;
    connect_agent(indoms, 1, metrics, 2);
    scene->set();
    called = 0;
    leaves = 2;
    const char *one = call(), *two = call();
    leaves = 0;
    int before = called;
    const char *three = call();
    /* and the main loop is in order */
    scene = new Scene { "desc", []() {}, post_desc, serve };
    const char *four = call();
    printf("%s, %s; then %s%s; desc %s\n", one, two, three, called > before ? "" : " uncalled", four);
}

int
main(int argc, char **argv)
{
    for (const Scene &one : scenes) {
	if (argc > 1 && strcmp(one.name, argv[1]) != 0)
	    continue;
	for (int i = 0; i < WAYS; i++) {
	    scene = &one;
	    way = (Way)i;
	    in_a_child(one.name, ways[i], play);
	}
    }
    return 0;
}
