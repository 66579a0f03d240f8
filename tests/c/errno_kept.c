/*
 * errno after each function that has succeeded: callers look at errno after calls that succeed, too. Before each call
 * errno is BEFORE. CACHE-71 CACHE-91 HELP-14 INIT-10 CONN-5 ROOT-10
 */
#include <arpa/inet.h>
#include <sys/wait.h>
#include "dynamic.h"
#include "help_fixture.h"
#include "root_tools.h"
#include "generation.h"

extern pmdaNameSpace *pmdaNodeLookup(pmdaNameSpace *, const char *);	/* not in the installed header */

#define BEFORE	77	/* no errno of any call */

#define SHOW(call) do { \
	long outcome_; \
	errno = BEFORE; \
	outcome_ = (long)(call); \
	show(#call, outcome_, errno); \
    } while (0)
#define DO(call) do { \
	errno = BEFORE; \
	call; \
	show(#call, 0, errno); \
    } while (0)

static void
show(const char *call, long result, int error)
{
    printf("%s: %s, errno %d\n", call, result < 0 ? "negative" : result == 0 ? "0" : "more", error);
    fflush(stdout);
}

static pmdaInterface	daemon_agent, dso_agent;
static pmdaExt		*ext;
static pmdaInstid	colours[] = { { 0, "red" }, { 1, "green" } };
static pmdaIndom	indomtab[] = { { 1, 2, colours } };
static pmdaMetric	metrictab[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_U32, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, 1), PM_TYPE_STRING, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static struct timeval	tv = { 5, 0 };
static struct timespec	ts = { 5, 0 };

static int
value(pmdaMetric *metric, unsigned int inst, pmAtomValue *atom)
{
    (void)inst;
    if (metric->m_desc.type == PM_TYPE_STRING)
	atom->cp = "text";
    else
	atom->ul = 1;
    return PMDA_FETCH_STATIC;
}

static int
labels_of(pmInDom indom, unsigned int inst, pmLabelSet **set)
{
    (void)indom;
    return pmdaAddLabels(set, "{\"inst\":%u}", inst);
}

static int checked(void) { return 0; }
static void done(void) { }
static void ended(int context) { (void)context; }
static void culled(void *private) { (void)private; }
static int decode(int array, void *bytes, size_t size, struct timeval *stamp, void *data)
{
    (void)bytes; (void)size; (void)data;
    return pmdaEventAddRecord(array, stamp, PM_EVENT_FLAG_POINT);
}
static int apply(void *data, void *bytes, size_t size) { (void)data; (void)bytes; (void)size; return 0; }
static void release(void *data) { (void)data; }

static void
caches(void)
{
    pmInDom indom = pmInDom_build(253, 7), keyed = pmInDom_build(253, 8), strings = pmInDom_build(253, 9);
    char *name;
    void *private;
    int inst;
    FILE *out = tmpfile();

    SHOW(pmdaCacheOp(indom, PMDA_CACHE_LOAD));
    SHOW(pmdaCacheStore(indom, PMDA_CACHE_ADD, "one", NULL));
    SHOW(pmdaCacheStore(indom, PMDA_CACHE_ADD, "two words", &tv));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SYNC));
    SHOW(pmdaCacheStore(indom, PMDA_CACHE_HIDE, "one", NULL));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SYNC));
    SHOW(pmdaCacheStore(indom, PMDA_CACHE_ADD, "three", NULL));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SAVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_LOAD));
    SHOW(pmdaCacheLookup(indom, 1, &name, &private));
    SHOW(pmdaCacheLookupName(indom, "two words", &inst, &private));
    SHOW(pmdaCacheStoreKey(keyed, PMDA_CACHE_ADD, "keyed", 3, "key", NULL));
    SHOW(pmdaCacheStoreKey(keyed, PMDA_CACHE_ADD, "by name", 0, NULL, NULL));
    SHOW(pmdaCacheLookupKey(keyed, "keyed", 3, "key", &name, &inst, &private));
    SHOW(pmdaCacheOp(keyed, PMDA_CACHE_SAVE));
    SHOW(pmdaCacheOp(strings, PMDA_CACHE_STRINGS));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_CHECK));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_REUSE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_REORG));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_ACTIVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_INACTIVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SIZE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SIZE_ACTIVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_SIZE_INACTIVE));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_DUMP));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_DUMP_ALL));
    SHOW(pmdaCacheResize(indom, 1000));
    SHOW(pmdaCachePurge(indom, 1000));
    SHOW(pmdaCachePurgeCallback(indom, -1000, culled));
    SHOW(pmdaCacheOp(indom, PMDA_CACHE_CULL));
    DO(__pmdaCacheDump(out, indom, 1));
    DO(__pmdaCacheDumpAll(out, 0));
    fclose(out);
}

static void
help(void)
{
    int handle;
    char *text;

    help_write_good("help");
    SHOW(handle = pmdaOpenHelp("help"));
    SHOW(pmdaGetHelp(handle, PMID(9, 0, 0), PM_TEXT_ONELINE) != NULL);
    SHOW(pmdaGetInDomHelp(handle, INDOM(9, 0), PM_TEXT_HELP) != NULL);
    ext->e_help = handle;
    SHOW(pmdaText(PMID(9, 0, 0), PM_TEXT_PMID | PM_TEXT_HELP, &text, ext));
    SHOW(__pmdaHelpTab() != NULL);
    ext->e_help = -1;
    DO(pmdaCloseHelp(handle));
    help_remove("help");
}

static void
events(void)
{
    int array, precise, queue, active, client = 1;
    struct timeval stamp = { 1, 2 };
    pmAtomValue atom = { .ul = 1 };
    char text[100];

    SHOW(array = pmdaEventNewArray());
    SHOW(pmdaEventAddRecord(array, &stamp, PM_EVENT_FLAG_POINT));
    SHOW(pmdaEventAddParam(array, PMDA_PMID(0, 0), PM_TYPE_U32, &atom));
    SHOW(pmdaEventAddMissedRecord(array, &stamp, 3));
    SHOW(pmdaEventGetAddr(array) != NULL);
    SHOW(__pmdaEventPrint("event", 5, text, sizeof(text)) != NULL);
    SHOW(pmdaEventResetArray(array));
    SHOW(pmdaEventReleaseArray(array));
    SHOW(precise = pmdaEventNewHighResArray());
    SHOW(pmdaEventAddHighResRecord(precise, &ts, PM_EVENT_FLAG_POINT));
    SHOW(pmdaEventHighResAddParam(precise, PMDA_PMID(0, 0), PM_TYPE_U32, &atom));
    SHOW(pmdaEventAddHighResParam(precise, PMDA_PMID(0, 0), PM_TYPE_U32, &atom));
    SHOW(pmdaEventAddHighResMissedRecord(precise, &ts, 3));
    SHOW(pmdaEventHighResGetAddr(precise) != NULL);
    SHOW(pmdaEventGetHighResAddr(precise) != NULL);
    SHOW(pmdaEventResetHighResArray(precise));
    SHOW(pmdaEventReleaseHighResArray(precise));
    SHOW(queue = pmdaEventNewQueue("queue", 1000));
    SHOW(active = pmdaEventNewActiveQueue("active", 1000, 1));
    SHOW(pmdaEventQueueHandle("queue"));
    SHOW(pmdaEventNewClient(client));
    SHOW(pmdaEventSetAccess(client, queue, 1));
    SHOW(pmdaEventSetFilter(client, queue, &atom, apply, release));
    SHOW(pmdaEventQueueAppend(queue, "event", 5, &stamp));
    SHOW(pmdaEventQueueAppend(active, "event", 5, &stamp));
    SHOW(pmdaEventQueueRecords(queue, &atom, client, decode, NULL));
    SHOW(pmdaEventQueueCounter(queue, &atom));
    SHOW(pmdaEventQueueClients(queue, &atom));
    SHOW(pmdaEventQueueMemory(queue, &atom));
    SHOW(pmdaEventQueueBytes(queue, &atom));
    SHOW(pmdaEventClients(&atom));
    SHOW(pmdaEventQueueShutdown(queue));
    SHOW(pmdaEventEndClient(client));
}

static void
trees(void)
{
    pmdaNameSpace *tree = NULL;
    pmID pmid;
    char **names;
    int *status;
    SHOW(pmdaTreeCreate(&tree));
    SHOW(pmdaTreeInsert(tree, PMDA_PMID(0, 1), "agent.value"));
    DO(pmdaTreeRebuildHash(tree, 1));
    SHOW(pmdaTreePMID(tree, "agent.value", &pmid));
    SHOW(pmdaTreeName(tree, PMDA_PMID(0, 1), &names));
    SHOW(pmdaTreeChildren(tree, "agent", 1, &names, &status));
    SHOW(pmdaTreeSize(tree));
    DO(pmdaTreeRelease(tree));
}

static void
dynamics(void)
{
    pmdaNameSpace *tree;
    char *text;
    pmID pmid;
    char **names;
    int *status;

    expected = ext;
    set[0].changed = 1;
    set[0].metrics = set[0].trees = 1;
    tree = tree_of(0, "dyn.value", pmID_build(253, 0, 1), NULL, 0);
    (void)tree;
    set[0].text = 0;
    DO(add(0, "dyn", metrictab, 2, ext));
    SHOW(pmdaDynamicSetClusterMask("dyn", 0x1ff));
    SHOW(pmdaDynamicLookupName(ext, "dyn.value") != NULL);
    SHOW(pmdaDynamicLookupPMID(ext, pmID_build(253, 0, 1)) != NULL);
    SHOW(pmdaDynamicLookupText(pmID_build(253, 0, 1), PM_TEXT_ONELINE, &text, ext));
    SHOW(pmdaPMID("dyn.value", &pmid, ext));
    SHOW(pmdaName(pmID_build(253, 0, 1), &names, ext));
    SHOW(pmdaChildren("dyn", 1, &names, &status, ext));
    DO(pmdaDynamicMetricTable(ext));
    DO(add(1, "other", metrictab, 2, NULL));
}

static void
methods(void)
{
    pmProfile profile = { .state = PM_PROFILE_INCLUDE };
    pmID list[] = { metrictab[0].m_desc.pmid, metrictab[1].m_desc.pmid };
    pmdaResult *result;
    pmLabelSet *label = NULL;
    pmInResult *instances;
    pmDesc desc;
    int inst;

    SHOW(pmdaProfile(&profile, ext));
    SHOW(pmdaFetch(2, list, &result, ext));
    SHOW(pmdaStore(result, ext));
    SHOW(pmdaDesc(list[0], &desc, ext));
    SHOW(pmdaInstance(indomtab[0].it_indom, PM_IN_NULL, NULL, &instances, ext));
    SHOW(pmdaAttribute(0, PMDA_ATTR_USERID, "0", 2, ext));
    SHOW(pmdaLabel(indomtab[0].it_indom, PM_LABEL_INSTANCES, &label, ext));
    label = NULL;
    SHOW(pmdaLabel(253, PM_LABEL_DOMAIN, &label, ext));
    label = NULL;
    SHOW(pmdaLabel(PM_ID_NULL, PM_LABEL_CONTEXT, &label, ext));
    label = NULL;
    SHOW(pmdaAddLabels(&label, "{\"a\":%d}", 1));
    SHOW(pmdaAddLabels(&label, "{\"nested\":{\"a\":%d}}", 1));
    SHOW(pmdaAddNotes(&label, "{\"b\":%d}", 1));
    SHOW(pmdaAddLabelFlags(label, PM_LABEL_ITEM));
    SHOW(__pmdaCntInst(indomtab[0].it_indom, ext));
    DO(__pmdaStartInst(indomtab[0].it_indom, ext));
    SHOW(__pmdaNextInst(&inst, ext));
    DO(pmdaRehash(ext, metrictab, 2));
    DO(__pmdaSetContext(3));
    SHOW(pmdaGetContext());
}

static void
setup(void)
{
    char *argv[] = { "agent", "-d", "253", "-l", "agent.log", "-U", "root", "-i", "4321", "rest", NULL };
    char *classic[] = { "agent", "-d", "253", "rest", NULL };
    pmdaOptions opts = { .short_options = PMDA_OPTIONS };
    pmdaInterface third;
    int errors = 0;

    DO(pmdaDSO(&dso_agent, PMDA_INTERFACE_7, "dso", "no-help"));
    dso_agent.domain = 253;
    ext = dso_agent.version.any.ext;
    DO(pmdaSetFetchCallBack(&dso_agent, value));
    DO(pmdaSetLabelCallBack(&dso_agent, labels_of));
    DO(pmdaSetCheckCallBack(&dso_agent, checked));
    DO(pmdaSetDoneCallBack(&dso_agent, done));
    DO(pmdaSetEndContextCallBack(&dso_agent, ended));
    DO(pmdaSetResultCallBack(&dso_agent, NULL));
    DO(pmdaSetFlags(&dso_agent, PMDA_EXT_FLAG_HASHED));
    DO(pmdaExtSetFlags(ext, PMDA_EXT_FLAG_HASHED));
    DO(pmdaSetCommFlags(&dso_agent, PMDA_FLAG_AUTHORIZE));
    DO(pmdaSetData(&dso_agent, &tv));
    DO(pmdaExtSetData(ext, &tv));
    SHOW(pmdaExtGetData(ext) != NULL);
    DO(pmdaInterfaceMoved(&dso_agent));
    DO(pmdaInit(&dso_agent, indomtab, 1, metrictab, 2));
    DO(pmdaDaemon(&daemon_agent, PMDA_INTERFACE_7, "daemon", 253, "daemon.log", NULL));
    SHOW(pmdaGetOptions(10, argv, &opts, &daemon_agent));
    DO(pmdaDaemon(&third, PMDA_INTERFACE_7, "third", 253, "third.log", NULL));
    optind = 1;
    SHOW(pmdaGetOpt(4, classic, "d:", &third, &errors));
    DO(pmdaUsageMessage(&opts));
}

/* The calls of a daemon: its log, its connection, the loop. All its other output goes into its log. */
static void
main_loop(void)
{
    static const int pdus[] = {
	0x00000010, 0x00007004, 0, 0x3f400000,	/* a description */
    };
    int there[2], back[2], bytes[4], i, tell[2], status;
    pid_t child;

    fflush(stdout);
    if (pipe(there) < 0 || pipe(back) < 0 || pipe(tell) < 0)
	exit(9);
    child = fork();
    if (child == 0) {
	dup2(there[0], 0);
	dup2(back[1], 1);
	close(there[1]);
	close(back[0]);
	daemon_agent.version.any.ext->e_io = pmdaPipe;
#define NOTE(call) do { errno = BEFORE; call; dprintf(tell[1], "%s: errno %d\n", #call, errno); } while (0)
	NOTE(pmdaOpenLog(&daemon_agent));
	NOTE(pmdaSetFetchCallBack(&daemon_agent, value));
	NOTE(pmdaInit(&daemon_agent, indomtab, 1, metrictab, 2));
	NOTE(pmdaConnect(&daemon_agent));
	NOTE(__pmdaInFd(&daemon_agent));
	NOTE(__pmdaMainPDU(&daemon_agent));
	NOTE(pmdaSendError(&daemon_agent, PM_ERR_PMDANOTREADY));
	NOTE(pmdaMain(&daemon_agent));
	_exit(0);
    }
    close(there[0]);
    close(back[1]);
    close(tell[1]);
    {
	/* The credentials of pmcd: its version. */
	unsigned char creds[] = { 0,0,0,20, 0,0,0x70,0x0c, 0,0,0,0, 0,0,0,1, 1,2,0,0 };
	unsigned char got[512], text[4096];
	ssize_t size;

	if (write(there[1], creds, sizeof(creds)) < 0)
	    exit(9);
	for (i = 0; i < 4; i++)
	    bytes[i] = htonl(pdus[i]);
	if (write(there[1], bytes, 16) < 0 || write(there[1], bytes, 16) < 0)
	    exit(9);
	close(there[1]);
	while (read(back[0], got, sizeof(got)) > 0)
	    ;
	while ((size = read(tell[0], text, sizeof(text))) > 0)
	    fwrite(text, 1, size, stdout);
    }
    waitpid(child, &status, 0);
    printf("daemon: %d\n", status);
}

/* The other end of pmdaroot's socket: answers each request. */
static void
root_server(int listener)
{
    int fd = accept(listener, NULL, NULL);
    char bytes[8192];
    ssize_t got;

    SHOW(__pmdaSendRootPDUInfo(fd, 7, 0));
    while ((got = recv(fd, bytes, sizeof(bytes), 0)) >= 16) {
	const __pmdaRootPDUHdr *header = (const __pmdaRootPDUHdr *)bytes;
	char name[MAXPATHLEN], args[MAXPATHLEN];
	int pid, a, b, c;

	switch (header->type) {
	case PDUROOT_STARTPMDA_REQ:
	    SHOW(__pmdaDecodeRootPDUStart(bytes, got, &pid, &a, &b, &c, name, sizeof(name), args, sizeof(args)));
	    SHOW(__pmdaSendRootPDUStart(fd, 777, 0, 1, "agent", 5, 0));
	    break;
	case PDUROOT_STOPPMDA_REQ:
	    SHOW(__pmdaDecodeRootPDUStop(bytes, got, &pid, &a, &b));
	    SHOW(__pmdaSendRootPDUStop(fd, PDUROOT_STOPPMDA, pid, 0, 0, 0));
	    break;
	default:
	    SHOW(__pmdaDecodeRootPDUContainer(bytes, got, &pid, name, sizeof(name)));
	    SHOW(__pmdaSendRootPDUContainer(fd, header->type + 1, 99, name, strlen(name), 0));
	}
    }
    _exit(0);
}

static void
root(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "root.socket" };
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd, pid, in, out, status;
    char name[64];
    pid_t server;
    __pmdaRootPDUStart start;
    __pmdaRootPDUStop stop;
    __pmdaRootPDUContainer container;
    int version, features;

    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 5) < 0)
	exit(9);
    fflush(stdout);
    server = fork();
    if (server == 0) {
	if (freopen("server.out", "w", stdout) == NULL)
	    _exit(9);
	root_server(listener);
    }
    SHOW(fd = pmdaRootConnect("root.socket"));
    SHOW(pmdaRootContainerHostName(fd, "box", 3, name, sizeof(name)));
    SHOW(pmdaRootContainerProcessID(fd, "box", 3));
    SHOW(pmdaRootContainerCGroupName(fd, "box", 3, name, sizeof(name)));
    SHOW(pmdaRootProcessStart(fd, 1, "agent", 5, "agent -x", 8, &pid, &in, &out));
    SHOW(pmdaRootProcessWait(fd, -1, &status));
    SHOW(pmdaRootProcessTerminate(fd, 40));
    DO(pmdaRootShutdown(fd));
    close(fd);
    waitpid(server, &status, 0);
    printf("server: %d\n", status);
    open_pair();
    SHOW(__pmdaSendRootPDUInfo(pair[1], 7, 0));
    SHOW(__pmdaRecvRootPDUInfo(pair[0], &version, &features));
    SHOW(__pmdaSendRootPDUContainer(pair[1], PDUROOT_HOSTNAME, 7, "box", 3, 0));
    SHOW(__pmdaRecvRootPDUContainer(pair[0], PDUROOT_HOSTNAME, &container, sizeof(container)));
    SHOW(__pmdaSendRootPDUStart(pair[1], 7, 0, 1, "agent", 5, 0));
    SHOW(__pmdaRecvRootPDUStart(pair[0], &start, sizeof(start)));
    SHOW(__pmdaSendRootPDUStartReq(pair[1], 2, "agent", 5, "agent -d 3", 10));
    DO(__pmdaRecvRootPDUStartReq(pair[0], &start, sizeof(start)));
    SHOW(__pmdaSendRootPDUStop(pair[1], PDUROOT_STOPPMDA, 1, 2, 3, 0));
    DO(__pmdaRecvRootPDUStop(pair[0], PDUROOT_STOPPMDA, &stop, sizeof(stop)));
    close_pair();
}

int
main(void)
{
    pmSetProgname("errno_kept");
    setup();
    methods();
    caches();
    help();
    events();
    trees();
    dynamics();
    root();
    main_loop();
    return 0;
}
