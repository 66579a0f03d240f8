/*
 * Writes help databases byte by byte (HELP-1, HELP-2, HELP-5), so that damaged ones can be made as well,
 * and prints what lookups find.
 */
#ifndef HELP_FIXTURE_H
#define HELP_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

extern void *__pmdaHelpTab(void);	/* not in the installed header: chkhelp declares it itself */

#define HELP_MAGIC	0x50635068u
#define HELP_VERSION	0x31320000u
#define HELP_INDOM	0x80000000u

#define PMID(domain, cluster, item)	((uint32_t)(domain) << 22 | (uint32_t)(cluster) << 10 | (uint32_t)(item))
#define INDOM(domain, serial)		((uint32_t)(domain) << 22 | (uint32_t)(serial))

typedef struct {
    uint32_t	words[3];
} help_record;

/* One slot of the table that __pmdaHelpTab returns (HELP-40). */
typedef struct {
    int32_t		dir_fd;
    int32_t		pag_fd;
    int32_t		numidx;
    const help_record	*index;
    const char		*text;
    int32_t		textlen;
} help_slot;

static inline void
help_write(const char *name, const char *suffix, const void *bytes, size_t size)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s.%s", name, suffix);
    file = fopen(path, "w");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
	perror(path);
	exit(1);
    }
}

/* Writes NAME.dir: a header that announces `count` entries, then `have` records, cut to `size` bytes unless 0. */
static inline void
help_write_dir(const char *name, uint32_t count, const help_record *records, int have, size_t size)
{
    size_t full = sizeof(help_record) * (have + 1);
    help_record *image = calloc(have + 2, sizeof(help_record));

    image[0] = (help_record){ { HELP_MAGIC, HELP_VERSION, count } };
    if (have > 0)
	memcpy(image + 1, records, sizeof(help_record) * have);
    help_write(name, "dir", image, size ? size : full);
    free(image);
}

/* The good pair of the examples: three metrics (one of them twice) and two instance domains (one of them twice). */
static const char help_pages[] =
    "PcPh22\n"
    "\n@ t.a first\0long text of a\nsecond line\0"
    "\n@ t.b \0only long\0"
    "\n@ t.c only short\0\0"
    "\n@ 9.0 indom zero\0long indom zero\0"
    "\n@ 9.0 again\0long again";

static inline uint32_t
help_offset(const char *text)
{
    return (uint32_t)((const char *)memmem(help_pages, sizeof(help_pages), text, strlen(text)) - help_pages);
}

static inline void
help_write_good(const char *name)
{
    const help_record records[] = {
	{ { PMID(9, 0, 0), help_offset("first"), help_offset("long text of a") } },
	{ { PMID(9, 0, 1), help_offset("only long") - 1, help_offset("only long") } },
	{ { PMID(9, 0, 0), help_offset("only short"), help_offset("only long") } },
	{ { PMID(9, 1, 0), help_offset("only short"), help_offset("only short") + 11 } },
	{ { HELP_INDOM | INDOM(9, 0), help_offset("indom zero"), help_offset("long indom zero") } },
	{ { HELP_INDOM | INDOM(9, 0), help_offset("again"), help_offset("long again") } },
	{ { HELP_INDOM | INDOM(9, 4), help_offset("first"), help_offset("again") } },
    };

    help_write_dir(name, 7, records, 7, 0);
    help_write(name, "pag", help_pages, sizeof(help_pages));
}

static inline void
help_remove(const char *name)
{
    static const char *const suffixes[] = { "dir", "pag" };
    char path[512];
    int i;

    for (i = 0; i < 2; i++) {
	snprintf(path, sizeof(path), "%s.%s", name, suffixes[i]);
	unlink(path);
    }
}

static inline void
help_print(const char *what, const char *text)
{
    if (text == NULL)
	printf("%s: NULL\n", what);
    else
	printf("%s: \"%s\"\n", what, text);
}

static inline void
help_metric(int handle, uint32_t pmid, int type)
{
    char what[64];

    snprintf(what, sizeof(what), "%d metric %08x type %d", handle, pmid, type);
    help_print(what, pmdaGetHelp(handle, pmid, type));
}

static inline void
help_indom(int handle, uint32_t indom, int type)
{
    char what[64];

    snprintf(what, sizeof(what), "%d indom %08x type %d", handle, indom, type);
    help_print(what, pmdaGetInDomHelp(handle, indom, type));
}

static inline void
help_table(int slots)
{
    const help_slot *table = __pmdaHelpTab();
    int slot;

    for (slot = 0; slot < slots; slot++)
	printf("slot %d: fds %d %d, numidx %d, index %s, text %s, textlen %d\n", slot, table[slot].dir_fd,
	    table[slot].pag_fd, table[slot].numidx, table[slot].index ? "set" : "NULL",
	    table[slot].text ? "set" : "NULL", table[slot].textlen);
}

#endif
