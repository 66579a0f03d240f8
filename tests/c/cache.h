/* Helpers of the programs about caches: `d` is the domain of the calls; its file can be written and printed. */
#ifndef CACHE_H
#define CACHE_H

#include <unistd.h>
#include "show.h"

static pmInDom d;

#define OP(op) SHOW(pmdaCacheOp(d, PMDA_CACHE_##op))
#define STORE(state, name) SHOW(pmdaCacheStore(d, PMDA_CACHE_##state, name, NULL))
#define KEYED(state, name, length, key) SHOW(pmdaCacheStoreKey(d, PMDA_CACHE_##state, name, length, key, NULL))

/* The domain that the calls after it use. */
static inline void
domain(unsigned int serial)
{
    d = pmInDom_build(251, serial);
    printf("domain 251.%u\n", serial);
}

static inline const char *
path(void)
{
    static char text[4096];

    snprintf(text, sizeof(text), "%s/config/pmda/%d.%u", getenv("PCP_VAR_DIR"), pmInDom_domain(d), pmInDom_serial(d));
    return text;
}

/* Writes the file of the domain. The first load of any domain has made the folder. */
static inline void
file(const char *text)
{
    FILE *f = fopen(path(), "w");

    if (f == NULL) {
	perror(path());
	exit(1);
    }
    fputs(text, f);
    fclose(f);
}

/* Prints the file of the domain, with "now" for the stamps of this run. */
static inline void
saved(void)
{
    char line[256];
    long stamp;
    int id, at;
    FILE *f = fopen(path(), "r");

    if (f == NULL) {
	printf("  no file\n");
	return;
    }
    while (fgets(line, sizeof(line), f) != NULL)
	if (sscanf(line, "%d %ld %n", &id, &stamp, &at) == 2 && stamp > 1500000000)
	    printf("  | %d now %s", id, line + at);
	else
	    printf("  | %s", line);
    fclose(f);
}

#endif
