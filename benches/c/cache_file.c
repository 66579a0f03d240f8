/* The instance cache and its file. PCP_VAR_DIR is a private directory made by the runner. */
#include <time.h>
#include <unistd.h>
#include "bench.h"

static void
fill(long n, int serial)
{
    long i;

    for (i = 0; i < n; i++)
	pmdaCacheStore(indom(serial), PMDA_CACHE_ADD, name_of(i), NULL);
}

static void
save(long n, struct outcome *out)
{
    int serial, domains = repeats(n);
    double start;

    for (serial = 0; serial <= domains; serial++)
	fill(n, serial);
    pmdaCacheOp(indom(0), PMDA_CACHE_SAVE);	/* makes the directory */
    start = now();
    for (serial = 1; serial <= domains; serial++)
	add(out, pmdaCacheOp(indom(serial), PMDA_CACHE_SAVE));
    took(out, now() - start, n * domains);
}

/* A file as the library writes it; the ids of keys are spread. */
static void
write_file(long n, int serial, int keyed)
{
    char path[1024];
    FILE *file;
    long i;
    uint32_t state = 1;

    snprintf(path, sizeof(path), "%s/config/pmda/%d.%d", getenv("PCP_VAR_DIR"), DOMAIN, serial);
    file = fopen(path, "w");
    must(file != NULL, path);
    fprintf(file, "2 %d 2147483647\n", keyed);
    for (i = 0; i < n; i++) {
	if (keyed)
	    fprintf(file, "%ld 1795229386 [%08x%08lx] %s\n", i * 2000 + next_random(&state) % 2000, 7u, i, name_of(i));
	else
	    fprintf(file, "%ld 1795229386 %s\n", i, name_of(i));
    }
    must(fclose(file) == 0, path);
}

/* Every second instance is older than a year. */
static void
write_aged(long n, int serial)
{
    char path[1024];
    FILE *file;
    long i, now = time(NULL);

    snprintf(path, sizeof(path), "%s/config/pmda/%d.%d", getenv("PCP_VAR_DIR"), DOMAIN, serial);
    file = fopen(path, "w");
    must(file != NULL, path);
    fprintf(file, "2 0 2147483647\n");
    for (i = 0; i < n; i++)
	fprintf(file, "%ld %ld %s\n", i, now - (i % 2 ? 10 : 400L * 86400), name_of(i));
    must(fclose(file) == 0, path);
}

static void
purge_half(long n, struct outcome *out)
{
    int serial, domains = repeats(n / 2);
    double start;

    pmdaCacheOp(indom(0), PMDA_CACHE_LOAD);	/* makes the directory */
    for (serial = 0; serial <= domains; serial++) {
	write_aged(n, serial);
	must(pmdaCacheOp(indom(serial), PMDA_CACHE_LOAD) >= 0, "load");
    }
    /* The first call of a process is another matter. */
    pmdaCachePurge(indom(0), 365 * 86400);
    start = now();
    for (serial = 1; serial <= domains; serial++)
	add(out, pmdaCachePurge(indom(serial), 365 * 86400));
    took(out, now() - start, n * domains);
    add(out, pmdaCacheOp(indom(1), PMDA_CACHE_SIZE_INACTIVE));
}

static void
load(long n, struct outcome *out, int keyed)
{
    int serial, domains = repeats(n), inst = -1;
    double start;

    pmdaCacheOp(indom(0), PMDA_CACHE_LOAD);	/* makes the directory */
    for (serial = 1; serial <= domains; serial++)
	write_file(n, serial, keyed);
    start = now();
    for (serial = 1; serial <= domains; serial++)
	add(out, pmdaCacheOp(indom(serial), PMDA_CACHE_LOAD));
    took(out, now() - start, n * domains);
    add(out, pmdaCacheOp(indom(1), PMDA_CACHE_SIZE_INACTIVE));
    pmdaCacheLookupName(indom(1), name_of(n / 2), &inst, NULL);
    add(out, inst);
}

static void load_plain(long n, struct outcome *out) { load(n, out, 0); }
static void load_keyed(long n, struct outcome *out) { load(n, out, 1); }

const struct scenario cache_file_scenarios[] = {
    { "save", save },
    { "load, plain", load_plain },
    { "load, keyed", load_keyed },
    { "purge that culls half", purge_half },
    { NULL, NULL },
};
