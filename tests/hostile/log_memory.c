/*
 * A message of the log without memory for it: the line is on stderr, and the call returns. libpcp's pmNotifyErr would call
 * itself to say what it lacks, until the stack ends: so the library asks for memory before, in a way that the optimiser
 * cannot answer.
 *
 * log_memory
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include "expect.h"
#include "starve.h"

static pmdaInterface table;
static char said[4096];

/* Calls with all allocations failing: what it writes to stderr is in `said`. */
static void
without_memory(void (*call)(void))
{
    int before = dup(2), file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ssize_t length;

    expect(before >= 0 && file >= 0, "files");
    dup2(file, 2);
    onwards(1);
    arm(0, 0);
    call();
    arm(-1, 0);
    fflush(stderr);
    dup2(before, 2);
    close(before);
    length = pread(file, said, sizeof(said) - 1, 0);
    close(file);
    expect(length >= 0, "stderr");
    said[length] = '\0';
    printf("%s", said);
}

/* A call whose own allocation fails, and which says so. */
static void
set_up(void)
{
    pmdaDaemon(&table, PMDA_INTERFACE_7, "memory", 249, "memory.log", NULL);
}

/* A call that needs memory for the message alone. */
static void
unknown_domain(void)
{
    expect(__pmdaCntInst(pmInDom_build(249, 7), table.version.any.ext) == 0, "instances of an unknown domain");
}

int
main(void)
{
    if (find_fail_malloc() < 0)
	return 1;
    /* The first line of a log loads the time zone, with some 170 allocations of the C library. */
    pmNotifyErr(LOG_INFO, "a line with memory");
    without_memory(set_up);
    expect(table.status == PM_ERR_GENERIC, "the status of pmdaDaemon");
    expect(strstr(said, ") Error: memory: Unable to allocate memory for pmdaExt\n") != NULL, "the message of pmdaDaemon");
    set_up();
    expect(table.status == 0, "the status of pmdaDaemon with memory");
    without_memory(unknown_domain);
    expect(strstr(said, ") Warning: __pmdaCntInst: unknown indom 249.7\n") != NULL, "the message of __pmdaCntInst");
    return 0;
}
