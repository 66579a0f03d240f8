/*
 * A thread is cancelled before it calls the library, or in a callback, so it is to end at its next cancellation point: while
 * the library writes a line or a file, or later. The process goes on in any case: the same call is made once more by a thread that
 * nobody has cancelled. And a thread that must not be cancelled stays so. MAIN-57
 *
 * Each call has a process of its own, and a line.
 */
#include <errno.h>
#include <sys/stat.h>
#include "agent.h"

/* Whether the thread of a call is cancelled: before it, or in its callback. */
static enum { NEVER, BEFORE, IN_CALLBACK } cancelled;

static void
cancel_in_callback(void)
{
    if (cancelled == IN_CALLBACK)
	pthread_cancel(pthread_self());
}

static void *
cancelled_call(void *)
{
    if (cancelled == BEFORE)
	pthread_cancel(pthread_self());
    scene->call();
    pthread_testcancel();
    return &returned;
}

/* The call as a thread that must not be cancelled makes it; whether that is so to the end. */
static void *
protected_call(void *)
{
    int state = -1;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (cancelled == BEFORE)
	pthread_cancel(pthread_self());
    scene->call();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state == PTHREAD_CANCEL_DISABLE ? &returned : &jumped;
}

static const char *
end_of(void *(*body)(void *))
{
    pthread_t thread;
    void *end;

    if (scene->post)
	scene->post();
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, &end);
    return end == &returned ? "returned" : end == PTHREAD_CANCELED ? "cancelled" : "changed";
}

static const pmInDom indom = domain << 22 | 7;
static pmdaMetric metrics[1];
static const char *file;

/* A file beside the caches, which the next call reads. */
static void
put_file(const char *name, const char *text)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/config/pmda/%s", getenv("PCP_VAR_DIR"), name);
    mkdir(getenv("PCP_VAR_DIR"), 0755);
    pmdaCacheOp(indom, PMDA_CACHE_LOAD);
    FILE *out = fopen(path, "w");
    if (out == NULL)
	_exit(8);
    fputs(text, out);
    fclose(out);
    file = path;
}

static void
store_one(void)
{
    static int number;
    char name[32];

    snprintf(name, sizeof(name), "one%d", number++);
    pmdaCacheStore(indom, PMDA_CACHE_ADD, name, NULL);
}

static void
failing_fetch(void)
{
    pmdaSetFetchCallBack(&dispatch, [](pmdaMetric *, unsigned int, pmAtomValue *) { cancel_in_callback(); return -EIO; });
}

static void
checked(void)
{
    pmdaSetCheckCallBack(&dispatch, []() { cancel_in_callback(); return 0; });
}

static void post_unknown(void) { request({ 16, 0x7004, 1, pmid0 + 9 }); }

static void
fetch_once(void)
{
    pmID id = pmid0;
    Result *result;

    if (pmdaFetch(1, &id, &result, ext) == 0)
	ext->e_resultCallBack(result);
}

/* pmcd's connection: somebody who has sent nothing, or the end of it. */
static void
connect_to(pmdaIoType io)
{
    ext->e_flags &= ~PMDA_EXT_CONNECTED;
    ext->e_io = io;
    dispatch.status = 0;
    pmdaConnect(&dispatch);
}

static const Scene before[] = {
    { "save", []() { store_one(); }, store_one, []() { pmdaCacheOp(indom, PMDA_CACHE_SAVE); } },
    { "load", []() { put_file("253.7", "2 0 2147483647\n1 5 one\n"); }, NULL, []() { pmdaCacheOp(indom, PMDA_CACHE_LOAD); } },
    { "load of a damaged file", []() { put_file("253.7", "2 0 2147483647\nxxx\n1 5 a\n1 6 b\n"); }, NULL,
	[]() { pmdaCacheOp(indom, PMDA_CACHE_LOAD); } },
    { "dump", store_one, NULL, []() { pmdaCacheOp(indom, PMDA_CACHE_DUMP); } },
    { "dump to a stream", store_one, NULL, []() { __pmdaCacheDump(stderr, indom, 1); } },
    { "store under -Dindom", []() { pmDebugOptions.indom = 1; }, NULL, store_one },
    { "help", []() { put_file("help.dir", "no help"); }, NULL, []() { char name[4096]; snprintf(name, sizeof(name), "%.*s",
	(int)strlen(file) - 4, file); pmdaOpenHelp(name); } },
    { "log file", []() { put_file("log", ""); dispatch.version.any.ext->e_logfile = (char *)file; }, NULL, []() { pmdaOpenLog(&dispatch); } },
    { "log file that cannot be", []() { ext->e_logfile = (char *)"/no/such/directory"; }, NULL, []() { pmdaOpenLog(&dispatch); } },
    { "wrong interface", []() {}, NULL, []() { pmdaInterface other = pmdaInterface();
	pmdaDSO(&other, 99, (char *)"other", (char *)"/no/such/help"); } },
    { "missing help", []() {}, NULL, []() { static pmdaInterface other; pmdaDSO(&other, PMDA_INTERFACE_7, (char *)"other", (char *)"/no/such/help");
	other.status = 0; pmdaInit(&other, NULL, 0, NULL, 0); } },
    { "wrong table", []() {}, NULL, []() { static pmdaInterface other; pmdaDSO(&other, PMDA_INTERFACE_7, (char *)"other", NULL);
	static pmdaMetric metric; metric.m_desc.indom = 5; other.status = 0; pmdaInit(&other, NULL, 0, &metric, 1); } },
    { "wrong option", []() {}, NULL, []() {
	static char name[] = "agent", option[] = "-y";
	static char *args[] = { name, option, NULL };
	static pmdaOptions options;
	memset(&options, 0, sizeof(options));
	options.short_options = "l:";
	pmdaGetOptions(2, args, &options, &dispatch);
	pmdaUsageMessage(&options);
    } },
    { "debug option", []() {}, NULL, []() {
	static char name[] = "agent", option[] = "-D", value[] = "nothing";
	static char *args[] = { name, option, value, NULL };
	static pmdaOptions options;
	memset(&options, 0, sizeof(options));
	options.short_options = "D:";
	pmdaGetOptions(3, args, &options, &dispatch);
    } },
    { "fetch that fails", failing_fetch, NULL, fetch_once },
    { "labels of the context", []() {}, NULL, []() { pmLabelSet *sets = NULL;
	int n = pmdaLabel(0, PM_LABEL_CONTEXT, &sets, ext); if (n > 0) pmFreeLabelSets(sets, n); } },
    { "labels that are none", []() {}, NULL, []() { pmLabelSet *sets = NULL; pmdaAddLabels(&sets, "{%s", "x"); } },
    { "labels under -Dlabels", []() { pmDebugOptions.labels = 1; }, NULL, []() { pmLabelSet *sets = NULL;
	if (pmdaAddLabels(&sets, "{\"a\":{\"b\":%d}}", 1) > 0) pmFreeLabelSets(sets, 1); } },
    { "names under -Dpmns", []() { pmDebugOptions.pmns = 1; }, NULL, []() { pmdaNameSpace *tree = NULL; pmdaTreeCreate(&tree);
	pmdaTreeInsert(tree, pmid0, "a.b"); pmdaTreeRebuildHash(tree, 1); pmdaTreeRelease(tree); } },
    { "queue under -Dlibpmda", []() { pmDebugOptions.libpmda = 1; }, NULL, []() {
	static int number;
	char name[32];
	snprintf(name, sizeof(name), "queue%d", number++);
	int queue = pmdaEventNewQueue(name, 1000);
	struct timeval now = { 1, 0 };
	pmdaEventNewClient(5);
	pmdaEventQueueAppend(queue, (void *)"event", 5, &now); } },
    { "request under -Dcontext", []() { fcntl(there[0], F_SETFL, O_NONBLOCK); pmDebugOptions.context = 1; }, post_desc, serve },
    { "error to pmcd", []() {}, NULL, []() { pmdaSendError(&dispatch, PM_ERR_PMID); } },
    { "connection, closed", []() { close(there[1]); dup2(there[0], 0); dup2(back[1], 1); }, NULL, []() { connect_to(pmdaPipe); } },
    { "connection, called twice", []() {}, NULL, []() { ext->e_flags |= PMDA_EXT_CONNECTED; pmdaConnect(&dispatch); } },
    { "pmdaroot", []() {}, NULL, []() { int fd = pmdaRootConnect("/no/such/socket"); if (fd >= 0) close(fd); } },
};

static const Scene in_callback[] = {
    { "fetch", failing_fetch, NULL, fetch_once },
    { "fetch in the loop", failing_fetch, post_fetch, serve },
    { "request", checked, post_desc, serve },
    { "unknown metric", checked, post_unknown, serve },
    { "request under -Dlibpmda", []() { checked(); pmDebugOptions.libpmda = 1; }, post_desc, serve },
    { "request under -Dpdu", []() { checked(); pmDebugOptions.pdu = 1; }, post_fetch, serve },
    { "save in a callback", []() { pmdaSetCheckCallBack(&dispatch, []() { cancel_in_callback(); store_one();
	pmdaCacheOp(indom, PMDA_CACHE_SAVE); return 0; }); }, post_desc, serve },
};

/* Without what comes after the cancelled call: with the C library a lock of libpcp may be held for good then. */
static bool once;

static void
play(void)
{
    static char filling[65536];
    FILE *report = fdopen(dup(1), "w");
    int null = open("/dev/null", O_WRONLY);

    dup2(null, 2);
    setenv("PCPPMDAHELP", "", 1);
    pmdaCacheOp(indom, PMDA_CACHE_CULL);
    new_agent();
    metrics[0].m_desc.pmid = PMDA_PMID(0, 0);
    metrics[0].m_desc.indom = PM_INDOM_NULL;
    connect_agent(NULL, 0, metrics, 1);
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    dup2(null, 1);
    scene->set();
    const char *first = end_of(cancelled_call);
    fprintf(report, "%s", first);
    fflush(report);
    if (once) {
	fprintf(report, "\n");
	fflush(report);
	_exit(0);
    }
    const char *second = end_of(protected_call);
    cancelled = NEVER;
    /* What the first calls may have left unread or unsaid. */
    while (read(back[0], filling, sizeof(filling)) > 0)
	;
    fprintf(report, ", %s; then %s\n", second, end_of(cancelled_call));
    fclose(report);
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "once") == 0)
	once = true, argc--, argv++;
    cancelled = BEFORE;
    for (const Scene &one : before) {
	scene = &one;
	if (argc < 2 || strcmp(one.name, argv[1]) == 0)
	    in_a_child(one.name, "before", play);
    }
    cancelled = IN_CALLBACK;
    for (const Scene &one : in_callback) {
	scene = &one;
	if (argc < 2 || strcmp(one.name, argv[1]) == 0)
	    in_a_child(one.name, "in the callback", play);
    }
    return 0;
}
