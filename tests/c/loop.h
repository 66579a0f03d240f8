/*
 * An agent with methods of its own in a child process, and its peer in the parent: what the programs about the
 * main loop and the connection share. The agent writes to stderr what it got, the peer prints every reply in hex.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "generation.h"

static pmdaExt extension;
static pmdaInterface dispatch;

/* What the methods do next; a negative number is returned as it is. */
static int answer;
static int check_answer;

static inline void
say(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "agent: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
}

static inline void
say_bytes(const char *what, const void *start, int length)
{
    int i;

    fprintf(stderr, "agent:   %s %d:", what, length);
    for (i = 0; i < length; i++)
	fprintf(stderr, " %02x", ((const unsigned char *)start)[i]);
    fprintf(stderr, "\n");
}

static inline int
own_profile(pmProfile *profile, pmdaExt *ext)
{
    int i, j;

    say("profile state %d n %d stock %d", profile->state, profile->profile_len, ext->e_prof == profile);
    for (i = 0; i < profile->profile_len; i++) {
	pmInDomProfile *entry = &profile->profile[i];
	say("  indom %x state %d n %d", entry->indom, entry->state, entry->instances_len);
	for (j = 0; j < entry->instances_len; j++)
	    say("    %d", entry->instances[j]);
    }
    if (answer >= 0)
	ext->e_prof = profile;
    return answer;
}

/* The answer to a fetch depends on the items of the metrics. */
static inline pmValueSet *
one_set(pmID pmid)
{
    static char text[] = "hello\0";
    pmValueSet *set = calloc(1, sizeof(pmValueSet) + 3 * sizeof(pmValue));
    pmAtomValue atom;
    pmValueBlock *block;
    int i, length = 0, type = 0;

    set->pmid = pmid;
    set->numval = 1;
    set->valfmt = PM_VAL_INSITU;
    set->vlist[0].inst = PM_IN_NULL;
    switch (pmID_item(pmid)) {
    case 0:
	set->vlist[0].value.lval = 0x01020304;
	return set;
    case 1:
	set->numval = 3;
	for (i = 0; i < 3; i++) {
	    set->vlist[i].inst = i;
	    set->vlist[i].value.lval = -1 - i;
	}
	return set;
    case 2:
	atom.ull = 0x0102030405060708ULL; length = 8; type = PM_TYPE_U64;
	break;
    case 3:
	atom.f = 1.5; length = 4; type = PM_TYPE_FLOAT;
	break;
    case 4:
	atom.d = 2.5; length = 8; type = PM_TYPE_DOUBLE;
	break;
    case 5:
	atom.cp = text; length = 6; type = PM_TYPE_STRING;
	break;
    case 6:
	atom.cp = text; length = 3; type = PM_TYPE_AGGREGATE;
	break;
    case 7:
	set->valfmt = 7;
	set->vlist[0].value.lval = 5;
	return set;
    case 8:
	set->numval = PM_ERR_APPVERSION;
	return set;
    case 9:
	set->numval = 0;
	return set;
    default:
	set->numval = PM_ERR_PMID;
	return set;
    }
    block = calloc(1, PM_VAL_HDR_SIZE + length);
    block->vtype = type;
    block->vlen = PM_VAL_HDR_SIZE + length;
    memcpy(block->vbuf, type == PM_TYPE_STRING || type == PM_TYPE_AGGREGATE ? (void *)atom.cp : (void *)&atom, length);
    set->valfmt = pmID_item(pmid) == 5 ? PM_VAL_SPTR : PM_VAL_DPTR;
    set->vlist[0].value.pval = block;
    return set;
}

static inline int
own_fetch(int n, pmID *pmids, pmdaResult **result, pmdaExt *ext)
{
    static pmdaResult *last;
    int i;

    say("fetch %d context %d", n, ext->e_context);
    for (i = 0; i < n && i < 20; i++)
	say("  %x", pmids[i]);
    if (answer < 0)
	return answer;
    free(last);
    last = calloc(1, sizeof(pmdaResult) + n * sizeof(pmValueSet *));
    last->numpmid = n;
    last->timestamp.tv_sec = 0x18;
    last->timestamp.tv_usec = 77;
    for (i = 0; i < n; i++)
	last->vset[i] = one_set(pmids[i]);
    *result = last;
    return answer;
}

static inline void
own_result(pmdaResult *result)
{
    int i;

    say("result callback %d", result->numpmid);
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];
	if (set->numval > 0 && (set->valfmt == PM_VAL_DPTR || set->valfmt == PM_VAL_SPTR))
	    free(set->vlist[0].value.pval);
	free(set);
    }
}

static inline int
own_desc(pmID pmid, pmDesc *desc, pmdaExt *ext)
{
    (void)ext;
    say("desc %x", pmid);
    desc->pmid = pmid;
    desc->type = PM_TYPE_U32;
    desc->indom = PM_INDOM_NULL;
    desc->sem = PM_SEM_INSTANT;
    memset(&desc->units, 0, sizeof desc->units);
    desc->units.dimSpace = 1;
    desc->units.dimTime = -1;
    desc->units.dimCount = 2;
    desc->units.scaleSpace = 1;
    desc->units.scaleTime = 3;
    desc->units.scaleCount = 3;
    return answer;
}

static inline int
own_instance(pmInDom indom, int inst, char *name, pmInResult **result, pmdaExt *ext)
{
    static const char *names[] = { "red", "green1", "blue" };
    pmInResult *r;
    int i;

    (void)ext;
    say("instance %x %d %s%s%s", indom, inst, name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
    if (answer < 0)
	return answer;
    r = calloc(1, sizeof *r);
    r->indom = indom;
    r->numinst = pmInDom_serial(indom) == 9 ? 0 : inst == -1 && name == NULL ? 3 : 1;
    if (r->numinst && inst == -1) {
	r->instlist = calloc(3, sizeof(int));
	for (i = 0; i < r->numinst; i++)
	    r->instlist[i] = name ? 1 : i;
    }
    if (r->numinst && name == NULL) {
	r->namelist = calloc(3, sizeof(char *));
	for (i = 0; i < r->numinst; i++)
	    r->namelist[i] = strdup(names[r->numinst == 1 ? 1 : i]);
    }
    *result = r;
    return answer;
}

static inline int
own_text(int ident, int type, char **buffer, pmdaExt *ext)
{
    (void)ext;
    say("text %x type %x", ident, type);
    *buffer = (type & 1) ? "onehelp!" : "the long help text";
    return answer;
}

static inline int
own_store(pmdaResult *result, pmdaExt *ext)
{
    int i, j;

    (void)ext;
    say("store %d sec %ld", result->numpmid, (long)result->timestamp.tv_sec);
    for (i = 0; i < result->numpmid; i++) {
	pmValueSet *set = result->vset[i];
	say("  %x numval %d", set->pmid, set->numval);
	for (j = 0; j < set->numval; j++) {
	    pmValue *value = &set->vlist[j];
	    if (set->valfmt == PM_VAL_INSITU)
		say("    fmt 0 inst %d value %x", value->inst, value->value.lval);
	    else {
		pmValueBlock *block = value->value.pval;
		say("    fmt %d inst %d type %d vlen %d aligned %d", set->valfmt, value->inst, block->vtype, block->vlen,
		    ((uintptr_t)block & 3) == 0);
		say_bytes("bytes", block->vbuf, block->vlen - PM_VAL_HDR_SIZE);
	    }
	}
    }
    return answer;
}

static inline int
own_pmid(const char *name, pmID *pmid, pmdaExt *ext)
{
    (void)ext;
    say("pmid \"%s\"", name);
    *pmid = 0x3f401402;
    return answer;
}

/* One block: the pointers, then the strings. */
static inline char **
name_list(int n)
{
    char **list = malloc(2 * sizeof(char *) + 16);
    char *text = (char *)&list[2];

    (void)n;
    strcpy(text, "a");
    strcpy(text + 2, "bbcc");
    list[0] = text;
    list[1] = text + 2;
    return list;
}

static inline int
own_name(pmID pmid, char ***names, pmdaExt *ext)
{
    (void)ext;
    say("name %x", pmid);
    *names = name_list(2);
    return answer < 0 ? answer : 2;
}

static inline int
own_children(const char *name, int traverse, char ***offspring, int **status, pmdaExt *ext)
{
    (void)ext;
    say("children \"%s\" traverse %d", name, traverse);
    if (strcmp(name, "none") == 0)
	return 0;
    *offspring = name_list(2);
    if (strcmp(name, "nostatus") != 0) {
	*status = calloc(2, sizeof(int));
	(*status)[1] = 1;
    }
    return answer < 0 ? answer : 2;
}

static inline int
own_attribute(int context, int key, const char *value, int length, pmdaExt *ext)
{
    (void)ext;
    say("attribute context %d key %d %s length %d", context, key, value ? "value" : "NULL", length);
    if (value)
	say_bytes("value", value, length > 40 ? 40 : length);
    return answer;
}

static inline int
own_label(int ident, int type, pmLabelSet **sets, pmdaExt *ext)
{
    static const char *json[] = { "{\"inst\":0}", NULL, "{\"inst\":2}" };
    pmLabelSet *list;
    int i, n = type & PM_LABEL_INSTANCES ? 3 : 2;

    (void)ext;
    say("label %x type %x", ident, type);
    if (answer < 0 || type == 0)
	return answer < 0 ? answer : 0;
    list = calloc(n, sizeof *list);
    for (i = 0; i < n; i++) {
	list[i].inst = type & PM_LABEL_INSTANCES ? (unsigned)i : PM_IN_NULL;
	if (json[i] == NULL)
	    continue;
	list[i].nlabels = 1;
	list[i].json = strdup(json[i]);
	list[i].jsonlen = strlen(json[i]);
	list[i].labels = calloc(1, sizeof(pmLabel));
	list[i].labels->name = 2;
	list[i].labels->namelen = 4;
	list[i].labels->flags = PM_LABEL_INSTANCES;
	list[i].labels->value = 8;
	list[i].labels->valuelen = 1;
    }
    *sets = list;
    return n;
}

static inline int
own_check(void)
{
    say("check");
    return check_answer;
}

static inline void
own_done(void)
{
    say("done");
}

static inline void
own_end(int context)
{
    say("end of context %d", context);
}

/* An agent by hand, as pmdaDaemon and pmdaInit leave it. */
static inline void
agent(int version)
{
    pmSetProgname("agent");
    memset(&extension, 0, sizeof extension);
    memset(&dispatch, 0, sizeof dispatch);
    extension.e_flags = 4;
    extension.e_name = "tester";
    extension.e_domain = 253;
    extension.e_io = pmdaUnknown;
    extension.e_infd = extension.e_outfd = -1;
    extension.e_help = -1;
    extension.e_resultCallBack = own_result;
    extension.e_endCallBack = own_end;
    dispatch.domain = 253;
    dispatch.comm.pmda_interface = version;
    dispatch.comm.flags = 0x44;
    dispatch.version.any.ext = &extension;
    dispatch.version.seven.profile = own_profile;
    dispatch.version.seven.fetch = own_fetch;
    dispatch.version.seven.desc = own_desc;
    dispatch.version.seven.instance = own_instance;
    dispatch.version.seven.text = own_text;
    dispatch.version.seven.store = own_store;
    dispatch.version.seven.pmid = own_pmid;
    dispatch.version.seven.name = own_name;
    dispatch.version.seven.children = own_children;
    dispatch.version.seven.attribute = own_attribute;
    dispatch.version.seven.label = own_label;
}

/* The peer. */
static int to_agent, from_agent;
static pid_t child;

/* Starts an agent on a pipe, which runs `body` and exits. */
static inline void
start(void (*body)(void))
{
    int there[2], back[2];

    fflush(stdout);
    if (pipe(there) < 0 || pipe(back) < 0)
	exit(9);
    signal(SIGPIPE, SIG_IGN);
    child = fork();
    if (child == 0) {
	signal(SIGPIPE, SIG_DFL);
	alarm(50);	/* below the limit of the tests; a loaded machine needs as much */
	dup2(there[0], 0);
	dup2(back[1], 1);
	close(there[0]);
	close(there[1]);
	close(back[0]);
	close(back[1]);
	body();
	_exit(0);
    }
    close(there[0]);
    close(back[1]);
    to_agent = there[1];
    from_agent = back[0];
}

/* The ordinary life of an agent whose methods succeed. */
static inline void
run_loop(void)
{
    extension.e_infd = 0;
    extension.e_outfd = 1;
    pmdaMain(&dispatch);
    say("pmdaMain has returned");
}

/* Waits for the end of the agent and tells how it ended. */
static inline void
finish(void)
{
    int status;

    close(to_agent);
    waitpid(child, &status, 0);
    close(from_agent);
    if (WIFEXITED(status))
	printf("agent: exit %d\n", WEXITSTATUS(status));
    else
	printf("agent: signal %d\n", WTERMSIG(status));
}

static inline int
hex_bytes(const char *hex, unsigned char *bytes)
{
    int n = 0, byte;

    while (*hex) {
	if (*hex == ' ') {
	    hex++;
	    continue;
	}
	sscanf(hex, "%2x", &byte);
	bytes[n++] = byte;
	hex += 2;
    }
    return n;
}

static inline void
put(const void *bytes, size_t n)
{
    while (n > 0) {
	ssize_t done = write(to_agent, bytes, n);
	if (done < 0) {
	    printf("peer: write: %s\n", strerror(errno));
	    return;
	}
	bytes = (const char *)bytes + done;
	n -= done;
    }
}

/* Sends bytes given in hex. */
static inline void
post(const char *hex)
{
    unsigned char bytes[4096];
    int n = hex_bytes(hex, bytes);

    printf("> %s\n", hex);
    put(bytes, n);
}

static inline int
get(unsigned char *bytes, int n)
{
    int have = 0;

    while (have < n) {
	struct pollfd wait = { .fd = from_agent, .events = POLLIN };
	ssize_t got;
	if (poll(&wait, 1, 15000) <= 0)
	    return have;
	got = read(from_agent, bytes + have, n - have);
	if (got <= 0)
	    return have;
	have += got;
    }
    return have;
}

/* Prints the next reply; whether there was one. */
static inline int
reply(void)
{
    static unsigned char bytes[1 << 20];
    int n = get(bytes, 12), i, length;

    if (n == 12) {
	length = bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
	if (length > 12 && length <= (int)sizeof bytes)
	    n += get(bytes + 12, length - 12);
    }
    printf("<");
    for (i = 0; i < n && i < 400; i++)
	printf("%s%02x", i % 4 ? "" : " ", bytes[i]);
    printf("%s\n", n == 0 ? " nothing" : n > 400 ? " ..." : "");
    fflush(stdout);
    return n > 0;
}

/* A request and its reply. */
static inline void
ask(const char *hex)
{
    post(hex);
    reply();
}

/* A request without a reply: the description that follows shows that there was none. */
static inline void
tell(const char *hex)
{
    post(hex);
    ask("00000010 00007004 00000000 3f4003ff");
}
