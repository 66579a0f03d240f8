/* The arguments of hostile callers: the values for each kind of parameter. */
#ifndef HOSTILE_CALLS_H
#define HOSTILE_CALLS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <fcntl.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "../c/pmns.h"

#define WORDS	16	/* arguments of one call, with room to spare */
#define VALUES	12	/* values of one kind, at most */
#define DOMAIN	250
#define BUFFER	4096

/* One kind of parameter: one word or two (a pointer and its length), and the values for them. */
typedef struct {
    char letter;
    int words;
    int count;
    long value[VALUES][2];
} Kind;

static Kind kinds[40];
static int nkinds;

static inline Kind *
kind(char letter, int words)
{
    Kind *fresh = &kinds[nkinds++];

    fresh->letter = letter;
    fresh->words = words;
    return fresh;
}

static inline void
add(Kind *to, long first, long second)
{
    to->value[to->count][0] = first;
    to->value[to->count++][1] = second;
}

static inline const Kind *
kind_of(char letter)
{
    int i;

    for (i = 0; i < nkinds; i++)
	if (kinds[i].letter == letter)
	    return &kinds[i];
    fprintf(stderr, "no such kind: %c\n", letter);
    exit(2);
}

/* BUFFER bytes that end where the process ends: one byte more is a crash. */
static inline char *
guarded(void)
{
    char *pages = mmap(NULL, 2 * BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + BUFFER, BUFFER, PROT_NONE) != 0)
	abort();
    return pages;
}

/* A callback that stands for every type of them: does nothing, says 0. */
static inline long
idle(void)
{
    return 0;
}

static inline int
fetched(pmdaMetric *metric, unsigned int inst, pmAtomValue *value)
{
    (void)metric;
    (void)inst;
    value->l = 1;
    return PMDA_FETCH_STATIC;
}

static inline void
numbers(char letter, const long *values, int count)
{
    Kind *fresh = kind(letter, 1);

    while (count-- > 0)
	add(fresh, *values++, 0);
}

/* An agent that is set up: the world that the hostile calls find. */
static pmdaInterface agent, fresh_agent, zero_agent;
static pmdaExt zero_ext;
static pmdaInstid instances[] = { { 0, "zero" }, { 1, "one" }, { 2, NULL } };
static pmdaIndom indoms[] = { { 1, 3, instances }, { 2, 0, NULL }, { 3, -1, NULL } };
static pmdaMetric metrics[] = {
    { NULL, { PMDA_PMID(0, 0), PM_TYPE_32, PM_INDOM_NULL, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
    { NULL, { PMDA_PMID(0, 1), PM_TYPE_STRING, 1, PM_SEM_INSTANT, PMDA_PMUNITS(0, 0, 0, 0, 0, 0) } },
};
static pmInDom cached;
static pmdaNameSpace *tree;
static pmdaNameSpace *empty_tree;
static char *arguments[] = { "agent", "-i", "70000000000", "-d", "x", "--", "-z", NULL };
static char scratch[8][BUFFER];

static inline void
make_world(void)
{
    int sockets[2];

    cached = pmInDom_build(DOMAIN, 77);
    pmdaDSO(&agent, PMDA_INTERFACE_7, "agent", NULL);
    agent.domain = DOMAIN;
    pmdaSetFetchCallBack(&agent, fetched);
    pmdaInit(&agent, indoms, 3, metrics, 2);
    pmdaDSO(&fresh_agent, PMDA_INTERFACE_7, "fresh", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "one", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_HIDE, "one", NULL);
    pmdaCacheStore(cached, PMDA_CACHE_ADD, "two", NULL);
    pmdaTreeCreate(&tree);
    pmdaTreeInsert(tree, pmID_build(DOMAIN, 0, 0), "agent.value");
    pmdaTreeRebuildHash(tree, 1);
    empty_tree = calloc(1, sizeof(*empty_tree));
    pmdaEventNewArray();
    pmdaEventNewHighResArray();
    pmdaEventNewClient(1);
    pmdaEventNewQueue("queue", 1000);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
	abort();
    close(sockets[1]);
    dup2(sockets[0], 20);	/* its peer has gone */
}

static inline void
make_kinds(void)
{
    static const long ints[] = { 0, 1, -1, 7, 511, INT_MAX, INT_MIN };
    static const long handles[] = { 0, 1, -1, 5, INT_MAX, INT_MIN };
    static const long descriptors[] = { -1, 20, 0, 999, INT_MAX, INT_MIN };
    static pmProfile profile;
    static pmAtomValue atom, *atoms = &atom;
    static struct timeval stamp;
    static pmdaOptions options;
    static pmLabelSet labels;
    char *buffer = guarded(), *text = guarded(), *of_size = guarded();
    long indoms_tried[] = { PM_INDOM_NULL, cached, indoms[0].it_indom, indoms[1].it_indom, indoms[2].it_indom, 0, 4242 };
    long pmids[] = { PM_ID_NULL, 0, metrics[0].m_desc.pmid, metrics[1].m_desc.pmid, INT_MAX };
    Kind *now;

    memset(text, 'x', BUFFER - 1);
    memset(of_size, 'y', BUFFER);
    numbers('i', ints, 7);
    numbers('h', handles, 6);
    numbers('f', descriptors, 6);
    numbers('m', indoms_tried, 7);
    numbers('k', pmids, 5);

    now = kind('s', 1);		/* a C string */
    add(now, 0, 0);
    add(now, (long)"", 0);
    add(now, (long)"agent.value", 0);
    add(now, (long)"%s%n\377\n[\"", 0);
    add(now, (long)".", 0);
    add(now, (long)text, 0);
    now = kind('g', 1);		/* a format without conversions: what a format asks for, its caller must pass */
    add(now, 0, 0);
    add(now, (long)"", 0);
    add(now, (long)"{\"a\":[1,{\"b\":null}]}", 0);
    add(now, (long)"{\"a\":\377\"", 0);
    add(now, (long)text, 0);
    now = kind('o', 1);		/* where a result goes */
    add(now, 0, 0);
    add(now, (long)scratch[0], 0);
    now = kind('O', 1);		/* another one */
    add(now, 0, 0);
    add(now, (long)scratch[1], 0);
    now = kind('q', 1);		/* and a third */
    add(now, 0, 0);
    add(now, (long)scratch[2], 0);
    now = kind('c', 1);		/* a callback */
    add(now, 0, 0);
    add(now, (long)idle, 0);
    now = kind('e', 1);		/* a pmdaExt */
    add(now, 0, 0);
    add(now, (long)agent.version.any.ext, 0);
    add(now, (long)&zero_ext, 0);
    add(now, (long)fresh_agent.version.any.ext, 0);
    now = kind('d', 1);		/* a pmdaInterface */
    add(now, 0, 0);
    add(now, (long)&agent, 0);
    add(now, (long)&zero_agent, 0);
    add(now, (long)&fresh_agent, 0);
    now = kind('t', 1);		/* a tree */
    add(now, 0, 0);
    add(now, (long)tree, 0);
    add(now, (long)empty_tree, 0);
    now = kind('n', 1);		/* a node */
    add(now, 0, 0);
    add(now, (long)tree->root->first, 0);
    now = kind('l', 1);		/* a label set */
    add(now, 0, 0);
    add(now, (long)&labels, 0);
    now = kind('p', 1);		/* a private pointer */
    add(now, 0, 0);
    add(now, 8, 0);
    now = kind('a', 1);		/* a value */
    add(now, 0, 0);
    add(now, (long)atoms, 0);
    now = kind('v', 1);		/* a time */
    add(now, 0, 0);
    add(now, (long)&stamp, 0);
    now = kind('P', 1);		/* a profile */
    add(now, 0, 0);
    add(now, (long)&profile, 0);
    now = kind('r', 1);		/* options */
    add(now, 0, 0);
    add(now, (long)&options, 0);
    now = kind('F', 1);		/* a stream */
    add(now, 0, 0);
    add(now, (long)stderr, 0);

    now = kind('b', 2);		/* bytes and their number; no byte behind them can be read */
    add(now, 0, 0);
    add(now, 0, 100);
    add(now, 0, -1);
    add(now, (long)buffer, 0);
    add(now, (long)(of_size + BUFFER - 1), 1);
    add(now, (long)(of_size + BUFFER - 15), 15);
    add(now, (long)(of_size + BUFFER - 16), 16);
    add(now, (long)buffer, BUFFER);
    add(now, (long)buffer, -1);
    add(now, (long)buffer, INT_MIN);
    now = kind('w', 2);		/* a whole message: its decoder takes no length (ROOT-27) */
    add(now, 0, 0);
    add(now, (long)buffer, 0);
    add(now, (long)buffer, -1);
    add(now, (long)buffer, BUFFER);
    now = kind('S', 2);		/* a text and its length, which may be wrong */
    add(now, 0, 0);
    add(now, 0, 5);
    add(now, 0, -1);
    add(now, 0, INT_MAX);
    add(now, (long)"abc", 3);
    add(now, (long)"abc", 64);
    add(now, (long)"abc", -1);
    add(now, (long)"abc", INT_MAX);
    add(now, (long)text, BUFFER);
    now = kind('K', 2);		/* a key: the length comes first */
    add(now, 0, 0);
    add(now, 5, 0);
    add(now, -1, 0);
    add(now, INT_MAX, 0);
    add(now, 0, (long)buffer);
    add(now, -1, (long)buffer);
    add(now, INT_MIN, (long)buffer);
    add(now, 1, (long)(of_size + BUFFER - 1));
    add(now, BUFFER, (long)of_size);
    now = kind('I', 2);		/* instance domains */
    add(now, 0, 0);
    add(now, 0, 5);
    add(now, 0, -1);
    add(now, (long)indoms, 0);
    add(now, (long)indoms, INT_MIN);
    add(now, (long)indoms, 3);
    now = kind('M', 2);		/* metrics */
    add(now, 0, 0);
    add(now, 0, 5);
    add(now, 0, -1);
    add(now, (long)metrics, 0);
    add(now, (long)metrics, INT_MIN);
    add(now, (long)metrics, 2);
    now = kind('N', 2);		/* metric identifiers: the number comes first */
    add(now, 0, 0);
    add(now, 5, 0);
    add(now, -1, 0);
    add(now, INT_MAX, 0);
    add(now, 0, (long)pmids);
    add(now, -1, (long)buffer);
    add(now, INT_MIN, (long)buffer);
    add(now, 4, (long)(buffer + BUFFER - 16));
    now = kind('A', 2);		/* arguments of a program: the number comes first */
    add(now, 1, (long)arguments);
    add(now, 0, (long)arguments);
    add(now, -1, (long)arguments);
    add(now, INT_MIN, (long)arguments);
    add(now, 0, 0);
    add(now, -1, 0);
    add(now, 7, (long)arguments);
}

#endif
