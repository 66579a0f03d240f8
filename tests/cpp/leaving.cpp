/*
 * Every function of an agent that the library calls is left in five ways: by return, by longjmp, by a C++ exception, by
 * pthread_exit, and by pthread_cancel while it runs. Each passes through the library, which is as good as before afterwards:
 * the same function is called and left once more, and then asked for in the ordinary way. MAIN-53 MAIN-54
 *
 * Each combination has a process of its own, and a line: how the two calls ended, how the third one did.
 */
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <initializer_list>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <pcp/pmdaroot.h>

#if PM_VERSION_CURRENT < PM_VERSION(7,0,0)
typedef pmResult Result;
#else
typedef pmdaResult Result;
#endif

enum Way { RETURN, LONGJMP, EXCEPTION, EXIT, CANCEL, WAYS };
static const char *const ways[] = { "return", "longjmp", "exception", "pthread_exit", "pthread_cancel" };

static const int domain = 253;
static pmdaInterface dispatch;
static pmdaExt *ext;
static int to_agent, from_agent;
static jmp_buf out;

/* How the callback is left the next times; it runs on, as functions do, when that is over. */
static Way way;
static int leaves, called;

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
static void
request(std::initializer_list<uint32_t> words)
{
    uint32_t bytes[32], n = 0;

    for (uint32_t word : words)
	bytes[n++] = __builtin_bswap32(word);
    if (write(to_agent, bytes, n * 4) != (ssize_t)(n * 4))
	_exit(9);
}

static const uint32_t pmid0 = domain << 22, indom1 = (domain << 22) | 1;

static void post_fetch(void) { request({ 32, 0x7003, 1, 1, 0, 0, 1, pmid0 }); }
static void post_desc(void) { request({ 16, 0x7004, 1, pmid0 }); }
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

static void serve(void) { __pmdaMainPDU(&dispatch); }

/* A function of the agent, how it gets to the library, and the call that leads to it. */
struct Scene {
    const char *name;
    void (*set)(void);
    void (*post)(void);
    void (*call)(void);
};

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

/* One call, in a thread of its own; how it has ended. */
static const Scene *scene;

static void *
run(void *)
{
    static int returned, jumped, caught;

    if (setjmp(out) != 0)
	return &jumped;
    try {
	scene->call();
    }
    catch (int thrown) {
	caught = thrown;
	return &caught;
    }
    /* The places are all that counts. */
    return &returned;
}

static const char *
call(void)
{
    pthread_t thread;
    void *end;
    static void *first_return;

    if (first_return == NULL) {	/* learn where "returned" is, with nothing to leave */
	static const Scene nothing = { "", NULL, NULL, []() {} };
	const Scene *kept = scene;
	scene = &nothing;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, &first_return);
	scene = kept;
    }
    if (scene->post) {
	int kept = leaves;
	leaves = 0;
	scene->post();
	leaves = kept;
    }
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, &end);
    return end == first_return ? "returned" : end == PTHREAD_CANCELED ? "cancelled" : end == &out ? "exited" :
	*(int *)end == 42 ? "caught" : "jumped";
}

static void
play(void)
{
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0)
	_exit(9);
    to_agent = there[1];
    from_agent = back[0];
    pmSetProgname("leaving");
    metrics[0].m_desc.pmid = PMDA_PMID(0, 0);
    metrics[0].m_desc.indom = 1;
    metrics[1].m_desc.pmid = PMDA_PMID(0, 1);
    metrics[1].m_desc.indom = PM_INDOM_NULL;
    indoms[0].it_indom = 1;
    indoms[0].it_numinst = 2;
    indoms[0].it_set = colours;
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = text_method;
    pmdaSetFetchCallBack(&dispatch, fetch_callback);
    if (strcmp(scene->name, "cache purge") == 0)
	indoms[0].it_numinst = -1, indoms[0].it_set = NULL;
    pmdaInit(&dispatch, indoms, 1, metrics, 2);
    ext->e_infd = there[0];
    ext->e_outfd = back[1];
    scene->set();
    leaves = 0;
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

/* A thread that waits for a request in the main loop is cancelled, and another one goes on. */
static void
waiting(void)
{
    static const Scene loop = { "loop", []() {}, NULL, []() { pmdaMain(&dispatch); } };
    static Scene start = { "start", []() {}, NULL, []() {} };
    pthread_t thread;
    void *end;
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0)
	_exit(9);
    to_agent = there[1];
    pmSetProgname("leaving");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = text_method;
    pmdaSetFetchCallBack(&dispatch, fetch_callback);
    pmdaInit(&dispatch, NULL, 0, NULL, 0);
    ext->e_infd = there[0];
    ext->e_outfd = back[1];
    scene = &start;
    call();
    for (int i = 0; i < 3; i++) {
	scene = &loop;
	pthread_create(&thread, NULL, run, NULL);
	if (i > 0)
	    post_desc();
	usleep(200000);
	pthread_cancel(thread);
	pthread_join(thread, &end);
	printf("%s ", end == PTHREAD_CANCELED ? "cancelled" : "ended");
    }
    scene = new Scene { "desc", []() {}, post_desc, serve };
    printf("then %s\n", call());
}

/* A thread that waits until pmcd takes a reply is cancelled: the pipe to pmcd is full. */
static void
writing(void)
{
    static const Scene loop = { "loop", []() {}, NULL, []() { pmdaMain(&dispatch); } };
    static Scene start = { "start", []() {}, NULL, []() {} };
    static char filling[4096];
    pthread_t thread;
    void *end;
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0)
	_exit(9);
    fcntl(back[1], F_SETFL, O_NONBLOCK);
    while (write(back[1], filling, sizeof(filling)) > 0)
	;
    fcntl(back[1], F_SETFL, 0);
    to_agent = there[1];
    pmSetProgname("leaving");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = text_method;
    pmdaSetFetchCallBack(&dispatch, fetch_callback);
    pmdaInit(&dispatch, NULL, 0, NULL, 0);
    ext->e_infd = there[0];
    ext->e_outfd = back[1];
    scene = &start;
    call();
    scene = &loop;
    post_desc();
    pthread_create(&thread, NULL, run, NULL);
    usleep(200000);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    printf("%s ", end == PTHREAD_CANCELED ? "cancelled" : "ended");
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    while (read(back[0], filling, sizeof(filling)) > 0)
	;
    scene = new Scene { "desc", []() {}, post_desc, serve };
    printf("then %s\n", call());
}

/* An agent as the C++ binding makes them: what its callback throws reaches its main. */
static void
agent_main(void)
{
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0)
	_exit(9);
    to_agent = there[1];
    pmSetProgname("leaving");
    metrics[0].m_desc.pmid = PMDA_PMID(0, 0);
    metrics[0].m_desc.indom = PM_INDOM_NULL;
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    dispatch.version.any.text = text_method;
    pmdaSetFetchCallBack(&dispatch, [](pmdaMetric *, unsigned int, pmAtomValue *) -> int {
	throw std::runtime_error("no values today");
    });
    pmdaInit(&dispatch, NULL, 0, metrics, 1);
    ext->e_infd = there[0];
    ext->e_outfd = back[1];
    post_fetch();
    try {
	pmdaMain(&dispatch);
	printf("returned\n");
    }
    catch (const std::exception &error) {
	printf("%s\n", error.what());
    }
}

/* A thread that waits for somebody who does not come is cancelled; what it waited for can be asked for again. */
static int silent[2];
static int told;

static const Scene waits[] = {
    { "pmdaroot's introduction", NULL, NULL, []() { int version, features; told = __pmdaRecvRootPDUInfo(silent[0], &version, &features); } },
    { "pmdaroot's answer", NULL, NULL, []() { int status; told = pmdaRootProcessWait(silent[0], 1, &status); } },
    { "a started agent", NULL, NULL,
	[]() { int pid, in, out; told = pmdaRootProcessStart(silent[0], 1, "agent", 5, "args", 4, &pid, &in, &out); } },
    { "a connection", []() { ext->e_io = pmdaUnix; ext->e_sockname = (char *)"socket"; }, NULL, []() { pmdaConnect(&dispatch); } },
    { "credentials", []() {}, NULL, []() { pmdaConnect(&dispatch); } },
};

static void
cancelled_wait(void)
{
    pthread_t thread;
    void *end;
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, silent) < 0)
	_exit(9);
    if (chdir(getenv("PCP_TMP_DIR") ? getenv("PCP_TMP_DIR") : "/tmp") < 0)
	_exit(8);
    pmSetProgname("leaving");
    pmdaDaemon(&dispatch, PMDA_INTERFACE_7, "agent", domain, (char *)"log", NULL);
    ext = dispatch.version.any.ext;
    if (scene->set)
	scene->set();
    /* The agent talks to pmcd where others have their output. */
    FILE *report = fdopen(dup(1), "w");
    dup2(there[0], 0);
    dup2(back[1], 1);
    for (int i = 0; i < 2; i++) {
	pthread_create(&thread, NULL, run, NULL);
	usleep(200000);
	pthread_cancel(thread);
	pthread_join(thread, &end);
	fprintf(report, "%s%s", i ? ", " : "", end == PTHREAD_CANCELED ? "cancelled" : "ended");
    }
    shutdown(silent[1], SHUT_RDWR);
    if (scene->set == NULL) {
	scene->call();
	fprintf(report, "; then %d", told);
    }
    fprintf(report, "\n");
    fclose(report);
}

static void
in_a_child(const char *name, const char *how, void (*body)(void))
{
    const struct rlimit no_core = { 0, 0 };
    int status;

    setrlimit(RLIMIT_CORE, &no_core);
    printf("%s, %s: ", name, how);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
	alarm(20);
	body();
	fflush(stdout);
	_exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
	printf("signal %d\n", WTERMSIG(status));
    fflush(stdout);
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
    for (const Scene &one : waits) {
	if (argc > 1 && strcmp("waits", argv[1]) != 0)
	    continue;
	scene = &one;
	in_a_child(one.name, "pthread_cancel", cancelled_wait);
    }
    if (argc == 1) {
	in_a_child("waiting", "pthread_cancel", waiting);
	in_a_child("writing", "pthread_cancel", writing);
	in_a_child("main", "exception", agent_main);
    }
    return 0;
}
