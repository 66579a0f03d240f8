/*
 * Preloaded: the allocation number FAIL_AT of the process, counted from fail_malloc_arm(), fails; large ones alone are
 * counted when FAIL_ABOVE is set.
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

static atomic_long left = -1, seen;
static size_t above;

/* The n-th allocation of more than `size` bytes from now on fails; -1 for none. */
void
fail_malloc_arm(long n, size_t size)
{
    above = size;
    seen = 0;
    left = n;
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
    if (left < 0 || size < above)
	return 0;
    seen++;
    if (atomic_fetch_sub(&left, 1) == 0) {
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
