/* The instance cache in memory. */
#include <malloc.h>
#include "bench.h"

static pmInDom
filled(unsigned int serial, long n)
{
    long i;

    for (i = 0; i < n; i++)
	must(pmdaCacheStore(indom(serial), PMDA_CACHE_ADD, name_of(i), (void *)(i + 1)) >= 0, "store");
    return indom(serial);
}

static void
lookup_id(long n, struct outcome *out, long first)
{
    pmInDom id = filled(1, n);
    long i, count = rounds(4000000);
    uint32_t state = 1;
    double start = now();

    for (i = 0; i < count; i++) {
	void *private = NULL;
	int inst = first + next_random(&state) % n;

	add(out, pmdaCacheLookup(id, inst, NULL, &private));
	add(out, (uintptr_t)private);
    }
    took(out, now() - start, count);
}

static void lookup_id_hit(long n, struct outcome *out) { lookup_id(n, out, 0); }
static void lookup_id_miss(long n, struct outcome *out) { lookup_id(n, out, n); }

/* Names are prepared, so that their making is not measured. */
static char **
names(long n, const char *format)
{
    char **list = malloc(n * sizeof(*list));
    long i;

    for (i = 0; i < n; i++)
	must(asprintf(&list[i], format, i) > 0, "memory");
    return list;
}

static void
lookup_name(long n, struct outcome *out, const char *stored, const char *asked)
{
    char **full = names(n, stored), **text = names(n, asked);
    long i, count = rounds(2000000);
    uint32_t state = 1;
    double start;

    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, full[i], NULL);
    start = now();
    for (i = 0; i < count; i++) {
	int inst = -1;

	add(out, pmdaCacheLookupName(indom(1), text[next_random(&state) % n], &inst, NULL));
	add(out, inst);
    }
    took(out, now() - start, count);
}

static void lookup_full(long n, struct outcome *out) { lookup_name(n, out, "instance%ld", "instance%ld"); }
static void lookup_short(long n, struct outcome *out) { lookup_name(n, out, "i%ld a longer part", "i%ld"); }

static void
lookup_key(long n, struct outcome *out)
{
    long i, count = rounds(n > 2000 ? 4000 : 100000);
    uint32_t state = 1;
    double start;

    for (i = 0; i < n; i++)
	must(pmdaCacheStoreKey(indom(1), PMDA_CACHE_ADD, name_of(i), sizeof(i), &i, NULL) >= 0, "store key");
    start = now();
    for (i = 0; i < count; i++) {
	long key = next_random(&state) % n;
	int inst = -1;

	add(out, pmdaCacheLookupKey(indom(1), NULL, sizeof(key), &key, NULL, &inst, NULL));
	add(out, inst);
    }
    took(out, now() - start, count);
}

/* All the names into new domains. */
static void
store_new_names(long n, struct outcome *out, int reuse)
{
    char **list = names(n, "instance%ld");
    int serial, domains = repeats(n);
    long i;
    double start;

    if (domains > 1)
	filled(0, n);
    for (serial = 1; reuse && serial <= domains; serial++)
	pmdaCacheOp(indom(serial), PMDA_CACHE_REUSE);
    start = now();
    for (serial = 1; serial <= domains; serial++) {
	for (i = 0; i < n; i++)
	    add(out, pmdaCacheStore(indom(serial), PMDA_CACHE_ADD, list[i], NULL));
    }
    took(out, now() - start, n * domains);
}

static void store_new(long n, struct outcome *out) { store_new_names(n, out, 0); }
static void reuse_new(long n, struct outcome *out) { store_new_names(n, out, 1); }

static void
refresh(long n, struct outcome *out)
{
    char **list = names(n, "instance%ld");
    long i, turn, turns = rounds(2000000) / n + 1;
    double start;

    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_ADD, list[i], NULL);
    start = now();
    for (turn = 0; turn < turns; turn++) {
	add(out, pmdaCacheOp(indom(1), PMDA_CACHE_INACTIVE));
	for (i = 0; i < n; i++)
	    add(out, pmdaCacheStore(indom(1), PMDA_CACHE_ADD, list[i], NULL));
    }
    took(out, now() - start, turns * n);
}

static void
store_key(long n, struct outcome *out)
{
    char **list = names(n, "instance%ld");
    int serial, domains = repeats(n);
    long i;
    double start;

    if (domains > 1)
	filled(0, n);
    start = now();
    for (serial = 1; serial <= domains; serial++) {
	for (i = 0; i < n; i++)
	    add(out, pmdaCacheStoreKey(indom(serial), PMDA_CACHE_ADD, list[i], sizeof(i), &i, NULL));
    }
    took(out, now() - start, n * domains);
}

/* A domain that churns for ever: one instance goes, one comes. */
static void
cull_add(long n, struct outcome *out)
{
    long i, count = rounds(100000);
    double start;

    filled(1, n);
    start = now();
    for (i = 0; i < count; i++) {
	add(out, pmdaCacheStore(indom(1), PMDA_CACHE_CULL, name_of(i), NULL));
	add(out, pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i + n), NULL));
    }
    took(out, now() - start, count);
}

static void
sizes(long n, struct outcome *out)
{
    long i, count = rounds(2000);
    double start;

    filled(1, n);
    start = now();
    for (i = 0; i < count; i++) {
	add(out, pmdaCacheOp(indom(1), PMDA_CACHE_SIZE_ACTIVE));
	add(out, pmdaCacheOp(indom(1), PMDA_CACHE_SIZE_INACTIVE));
    }
    took(out, now() - start, count * 2);
}

static void
domains(long n, struct outcome *out)
{
    long i, count = rounds(400000);
    uint32_t state = 1;
    double start;

    for (i = 0; i < n; i++)
	filled(i, 3);
    start = now();
    for (i = 0; i < count; i++)
	add(out, pmdaCacheLookup(indom(next_random(&state) % n), 1, NULL, NULL));
    took(out, now() - start, count);
}

static void
walk_over(long n, struct outcome *out, long hidden)
{
    long i, turn, turns = rounds(4000000) / n + 1, seen = 0;
    double start;
    int inst;

    filled(1, n);
    for (i = hidden - 1; hidden > 0 && i < n; i += hidden)
	pmdaCacheStore(indom(1), PMDA_CACHE_HIDE, name_of(i), NULL);
    start = now();
    for (turn = 0; turn < turns; turn++) {
	pmdaCacheOp(indom(1), PMDA_CACHE_WALK_REWIND);
	while ((inst = pmdaCacheOp(indom(1), PMDA_CACHE_WALK_NEXT)) >= 0) {
	    add(out, inst);
	    seen++;
	}
    }
    took(out, now() - start, seen);
}

static void walk(long n, struct outcome *out) { walk_over(n, out, 0); }
static void walk_a_third_inactive(long n, struct outcome *out) { walk_over(n, out, 3); }

/* What an agent's refresh does: the whole domain, with the name and the private pointer of each instance. */
static void
walk_and_look_up(long n, struct outcome *out)
{
    long turn, turns = rounds(2000000) / n + 1, seen = 0;
    double start;
    char *name;
    void *private;
    int inst;

    filled(1, n);
    start = now();
    for (turn = 0; turn < turns; turn++) {
	pmdaCacheOp(indom(1), PMDA_CACHE_WALK_REWIND);
	while ((inst = pmdaCacheOp(indom(1), PMDA_CACHE_WALK_NEXT)) >= 0) {
	    add(out, pmdaCacheLookup(indom(1), inst, &name, &private));
	    add(out, inst + name[0] + (private != NULL));
	    seen++;
	}
    }
    took(out, now() - start, seen);
}

/* A million instances at some time, and ten now: what is done to the ten. */
static void
after_peak(long n, struct outcome *out)
{
    long i, turn, turns = rounds(2000);
    double start;

    filled(1, n);
    for (i = 10; i < n; i++)
	pmdaCacheStore(indom(1), PMDA_CACHE_CULL, name_of(i), NULL);
    pmdaCacheOp(indom(1), PMDA_CACHE_REORG);
    start = now();
    for (turn = 0; turn < turns; turn++) {
	add(out, pmdaCacheOp(indom(1), PMDA_CACHE_INACTIVE));
	for (i = 0; i < 10; i++)
	    add(out, pmdaCacheStore(indom(1), PMDA_CACHE_ADD, name_of(i), NULL));
	add(out, pmdaCacheOp(indom(1), PMDA_CACHE_ACTIVE));
    }
    took(out, now() - start, turns);
}

static void
purge(long n, struct outcome *out)
{
    long turn, turns = rounds(1000000) / n + 1;
    double start;

    filled(1, n);
    start = now();
    for (turn = 0; turn < turns; turn++)
	add(out, pmdaCachePurge(indom(1), 3600));
    took(out, now() - start, turns * n);
}

/* Bytes of heap for one cached instance with a short name; the result is bytes, not nanoseconds. */
static void
memory(long n, struct outcome *out)
{
    size_t before;
    struct mallinfo2 info;

    filled(2, 1);
    info = mallinfo2();
    before = info.uordblks + info.hblkhd;
    filled(1, n);
    info = mallinfo2();
    out->ns = (double)(info.uordblks + info.hblkhd - before) / n;
}

const struct scenario cache_scenarios[] = {
    { "lookup by id, hit", lookup_id_hit },
    { "lookup by id, miss", lookup_id_miss },
    { "lookup by full name", lookup_full },
    { "lookup by short name", lookup_short },
    { "lookup by key", lookup_key },
    { "store new names", store_new },
    { "refresh: INACTIVE, store all", refresh },
    { "store new names, REUSE", reuse_new },
    { "store new keys", store_key },
    { "cull one, add one", cull_add },
    { "SIZE_ACTIVE, SIZE_INACTIVE", sizes },
    { "lookups over many domains", domains },
    { "walk", walk },
    { "walk, a third inactive", walk_a_third_inactive },
    { "walk, each with name and private pointer", walk_and_look_up },
    { "ten instances after a peak", after_peak },
    { "purge", purge },
    { "bytes per instance", memory },
    { NULL, NULL },
};
