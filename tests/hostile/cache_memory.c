/*
 * Memory runs out in a cache: each allocation of a call in turn fails (fail_malloc.c is preloaded).  The call fails with
 * -ENOMEM and the cache is as it was before, to the last line of its dump; or the call did not need that memory, and its
 * answer is the usual one.  Then the same call works.  No run ends in another way, not by Rust's allocator either.
 *
 * Each run is a child process.
 *
 * cache_memory
 */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "starve.h"

#define DOMAIN	249
#define MOST	300

static pmInDom indom;
static const char long_text[] = "a name that is much too long to be kept in the entry itself";

static int
store(const char *name)
{
    return pmdaCacheStore(indom, PMDA_CACHE_ADD, name, (void *)1);
}

/* As many instances as the tables hold, so the next one makes them grow; some are culled. */
static void
full(void)
{
    char name[32];
    int i;

    for (i = 0; i < 64; i++) {
	snprintf(name, sizeof(name), "full%d tail", i);
	store(name);
    }
    pmdaCacheStore(indom, PMDA_CACHE_CULL, "full7", NULL);
    pmdaCacheStore(indom, PMDA_CACHE_HIDE, "full9", NULL);
}

static int store_known(void) { return store("full8"); }
static int store_new(void) { return store("new"); }
static int store_long(void) { return store(long_text); }
static int hide(void) { return pmdaCacheStore(indom, PMDA_CACHE_HIDE, "full8", NULL); }

static int
cull(void)
{
    int status = pmdaCacheStore(indom, PMDA_CACHE_CULL, "full8", NULL);

    return status == PM_ERR_INST ? 0 : status;
}

static int
store_key(void)
{
    return pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, "keyed", 3, "key", NULL);
}

static int
store_long_key(void)
{
    return pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, long_text, sizeof(long_text), long_text, NULL);
}

/* Ids in no order: walks, dumps and saves have to put them into one. */
static void
unordered(void)
{
    int i;
    char name[32];

    full();
    for (i = 0; i < 300; i++) {
	snprintf(name, sizeof(name), "unordered%d", i);
	pmdaCacheStoreKey(indom, PMDA_CACHE_ADD, name, 0, NULL, NULL);
    }
}

static int
walk(void)
{
    int inst, sum = 0;

    pmdaCacheOp(indom, PMDA_CACHE_WALK_REWIND);
    while ((inst = pmdaCacheOp(indom, PMDA_CACHE_WALK_NEXT)) >= 0)
	sum += inst % 1000;
    return inst == -1 ? sum : inst;
}

static int lookup_key(void) { return pmdaCacheLookupKey(indom, "unordered7", 0, NULL, NULL, NULL, NULL); }
static int lookup_name(void) { return pmdaCacheLookupName(indom, "unordered7", NULL, NULL); }
static int resize(void) { return pmdaCacheResize(indom, 0x7ffffff0); }
static int inactive(void) { return pmdaCacheOp(indom, PMDA_CACHE_INACTIVE); }
static int active(void) { return pmdaCacheOp(indom, PMDA_CACHE_ACTIVE); }
static int cull_all(void) { return pmdaCacheOp(indom, PMDA_CACHE_CULL); }
static int reorg(void) { return pmdaCacheOp(indom, PMDA_CACHE_REORG); }

/* All instances have a time stamp, and there is a file, so that the agent is past its first save. */
static void
saved(void)
{
    unordered();
    pmdaCacheOp(indom, PMDA_CACHE_SAVE);
    store(long_text);
}

static int save(void) { return pmdaCacheOp(indom, PMDA_CACHE_SAVE); }
static int sync_(void) { return pmdaCacheOp(indom, PMDA_CACHE_SYNC); }

static int gone;

static void
forget(void *private)
{
    gone += private != NULL;
}

static int purge(void) { return pmdaCachePurge(indom, -1000); }
static int purge_callback(void) { return pmdaCachePurgeCallback(indom, -1000, forget); }

/* The file of another cache becomes that of this one, in which one instance contradicts it. */
static void
to_load(void)
{
    char old[64], new[64];

    indom = pmInDom_build(DOMAIN, 8);
    saved();
    save();
    snprintf(old, sizeof(old), "config/pmda/%d.8", DOMAIN);
    snprintf(new, sizeof(new), "config/pmda/%d.9", DOMAIN);
    if (rename(old, new) < 0)
	_exit(4);
    indom = pmInDom_build(DOMAIN, 9);
    store("another");
}

static void
linked(void)
{
    char link[64], target[64];

    indom = pmInDom_build(DOMAIN, 10);
    snprintf(link, sizeof(link), "config/pmda/%d.10", DOMAIN);
    snprintf(target, sizeof(target), "%d.11", DOMAIN);
    unlink(link);
    if (symlink(target, link) < 0)
	_exit(4);
    unordered();
}

static int load(void) { return pmdaCacheOp(indom, PMDA_CACHE_LOAD); }

static void nothing(void) { }
static int create(void) { return pmdaCacheLookup(indom, 7, NULL, NULL) == PM_ERR_INST ? 0 : -ENOMEM; }
static void empty(void) { create(); }

static const struct {
    const char *name;
    void (*prepare)(void);
    int (*body)(void);
    int allocates;
    int partial;	/* what was done until memory ran out stays */
} calls[] = {
    { "lookup in a new cache", nothing, create, 1, 0 },
    { "store the first one", empty, store_new, 1, 0 },
    { "store, the tables grow", full, store_new, 1, 0 },
    { "store a long name", unordered, store_long, 1, 0 },
    { "store a known name", full, store_known, 0, 0 },
    { "hide", full, hide, 0, 0 },
    { "cull", unordered, cull, 0, 0 },
    { "store a key", full, store_key, 1, 0 },
    { "store a long key", unordered, store_long_key, 1, 0 },
    { "walk", unordered, walk, 0, 0 },
    { "lookup by key", unordered, lookup_key, 0, 0 },
    { "lookup by name", unordered, lookup_name, 0, 0 },
    { "resize", unordered, resize, 0, 0 },
    { "inactive", unordered, inactive, 0, 0 },
    { "active", unordered, active, 0, 0 },
    { "cull all", unordered, cull_all, 0, 0 },
    { "reorganize", unordered, reorg, 0, 0 },
    { "save", saved, save, 1, 0 },
    { "sync", saved, sync_, 1, 0 },
    { "the first save, through a link", linked, save, 1, 0 },
    { "purge", saved, purge, 0, 0 },
    { "purge with a callback", saved, purge_callback, 1, 0 },
    { "load", to_load, load, 1, 1 },
};

/* The cache as its dump shows it. */
static char *
dump(void)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    __pmdaCacheDump(stream, indom, 1);
    fclose(stream);
    return text;
}

/* One run: the allocation with this number fails. */
static enum end
run(int which, int n)
{
    pid_t child = quiet_child();

    if (child == 0) {
	int result, again;
	char *before, *after;
	long count;

	indom = pmInDom_build(DOMAIN, 9);
	calls[which].prepare();
	before = dump();
	arm(n, 0);
	result = calls[which].body();
	count = seen();
	arm(-1, 0);
	after = dump();
	if (result < 0 && (result != -ENOMEM || count <= n))
	    _exit(WRONG);
	if (result < 0 && !calls[which].partial && strcmp(before, after) != 0)
	    _exit(WRONG);
	again = calls[which].body();
	if (again < 0)
	    _exit(WRONG);
	_exit(result < 0 ? FAILED : count > n ? FINE : DONE);
    }
    return end_of(child);
}

int
main(void)
{
    char directory[1024] = ".";
    size_t i;
    int n, wrong = 0;

    if (find_fail_malloc() < 0)
	return 1;
    mkdir("config", 0755);
    /* Longer than what anybody keeps on the stack for a path. */
    while (strlen(directory) < 1000)
	strcat(directory, "/.");
    setenv("PCP_VAR_DIR", directory, 1);
    /* The place of the files is looked up once in a process. */
    pmdaCacheOp(pmInDom_build(DOMAIN, 1), PMDA_CACHE_LOAD);
    for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
	int count[ENDS] = { 0 };

	for (n = 0; n < MOST && count[DONE] == 0; n++)
	    count[run(i, n)]++;
	wrong += verdict(calls[i].name, "", n, count, calls[i].allocates, 0);
    }
    return wrong != 0;
}
