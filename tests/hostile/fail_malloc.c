/*
 * Preloaded: one allocation of the process, counted from fail_malloc_arm(), fails, or all from that one on.
 * cc: -shared -fPIC
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <errno.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
void fail_malloc_arm(long, size_t);
long fail_malloc_seen(void);
void fail_malloc_onwards(int);
void fail_malloc_pause(int);

static atomic_long left = -1, seen;
static atomic_int onwards, paused;
static size_t above;

/* The n-th allocation of more than `size` bytes from now on fails; -1 for none. */
void
fail_malloc_arm(long n, size_t size)
{
    above = size;
    seen = 0;
    left = n;
}

/* Whether those after the n-th fail as well. */
void
fail_malloc_onwards(int all)
{
    onwards = all;
}

/* Nothing fails and nothing is counted for a while. */
void
fail_malloc_pause(int pause)
{
    paused = pause;
}

/* How many were counted. */
long
fail_malloc_seen(void)
{
    return seen;
}

static int
fails(size_t size)
{
    if (left < 0 || size < above || paused)
	return 0;
    seen++;
    if (left > 0)
	left--;
    else {
	if (!onwards)
	    left = -1;
	errno = ENOMEM;
	return 1;
    }
    return 0;
}

void *
malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __libc_calloc(count, size);
}

void *
realloc(void *block, size_t size)
{
    return fails(size) ? NULL : __libc_realloc(block, size);
}
