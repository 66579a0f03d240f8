/* Checks for the programs of this folder that judge each answer themselves. */
#ifndef HOSTILE_EXPECT_H
#define HOSTILE_EXPECT_H

#include <stdio.h>
#include <unistd.h>

/* Without exit handlers: this may be a child, one of many threads, or a signal handler. */
static inline void
fail(const char *what)
{
    fprintf(stderr, "FAILED: %s\n", what);
    _exit(1);
}

static inline void
expect(int holds, const char *what)
{
    if (!holds)
	fail(what);
}
#endif
