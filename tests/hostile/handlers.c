/*
 * Forks beside a thread that uses the library, where others have handlers around forks, too.  The library is opened by dlopen.
 *
 * agent: the program has a lock of its own around each call of the library, and its handler, registered before the library is
 * opened, takes that lock.
 * allocator: malloc has a lock, and its handler is registered behind the library's.
 * call: as agent, and the handlers call the library.
 *
 * handlers COUNT agent|allocator|call
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define DOMAIN	246
#define LIMIT	180	/* seconds for all */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, heap = PTHREAD_MUTEX_INITIALIZER;
static int allocator, calls;
static atomic_int stop;
static int (*store)(pmInDom, int, const char *, void *);
static int (*lookup)(pmInDom, const char *, int *, void **);

void *
malloc(size_t size)
{
    void *block;

    if (!allocator)
	return __libc_malloc(size);
    pthread_mutex_lock(&heap);
    block = __libc_malloc(size);
    pthread_mutex_unlock(&heap);
    return block;
}

void *
calloc(size_t count, size_t size)
{
    void *block;

    if (!allocator)
	return __libc_calloc(count, size);
    pthread_mutex_lock(&heap);
    block = __libc_calloc(count, size);
    pthread_mutex_unlock(&heap);
    return block;
}

void *
realloc(void *old, size_t size)
{
    void *block;

    if (!allocator)
	return __libc_realloc(old, size);
    pthread_mutex_lock(&heap);
    block = __libc_realloc(old, size);
    pthread_mutex_unlock(&heap);
    return block;
}

void
free(void *block)
{
    if (allocator)
	pthread_mutex_lock(&heap);
    __libc_free(block);
    if (allocator)
	pthread_mutex_unlock(&heap);
}

static void
lock_heap(void)
{
    pthread_mutex_lock(&heap);
}

static void
unlock_heap(void)
{
    pthread_mutex_unlock(&heap);
}

static void
call(void)
{
    if (calls)
	store(pmInDom_build(DOMAIN, 3), PMDA_CACHE_ADD, "handler", NULL);
}

static void
lock_own(void)
{
    pthread_mutex_lock(&own);
    call();
}

static void
unlock_own(void)
{
    call();
    pthread_mutex_unlock(&own);
}

static void *
work(void *unused)
{
    char name[32];
    unsigned round;

    for (round = 0; !stop; round++) {
	snprintf(name, sizeof(name), "name%u", round % 5000);
	if (!allocator)
	    pthread_mutex_lock(&own);
	store(pmInDom_build(DOMAIN, 1), round / 5000 % 2 ? PMDA_CACHE_CULL : PMDA_CACHE_ADD, name, NULL);
	lookup(pmInDom_build(DOMAIN, 1), name, NULL, NULL);
	if (!allocator)
	    pthread_mutex_unlock(&own);
    }
    return unused;
}

int
main(int argc, char **argv)
{
    int i, count = argc > 1 ? atoi(argv[1]) : 100, status;
    const char *kind = argc > 2 ? argv[2] : "agent";
    void *library;
    pthread_t thread;
    pid_t child;

    alarm(LIMIT);
    if (strcmp(kind, "allocator") != 0)
	pthread_atfork(lock_own, unlock_own, unlock_own);
    if ((library = dlopen("libpcp_pmda.so.3", RTLD_NOW)) == NULL) {
	fprintf(stderr, "%s\n", dlerror());
	return 1;
    }
    store = (int (*)(pmInDom, int, const char *, void *))(uintptr_t)dlsym(library, "pmdaCacheStore");
    lookup = (int (*)(pmInDom, const char *, int *, void **))(uintptr_t)dlsym(library, "pmdaCacheLookupName");
    calls = strcmp(kind, "call") == 0;
    store(pmInDom_build(DOMAIN, 2), PMDA_CACHE_ADD, "quiet", NULL);
    if (strcmp(kind, "allocator") == 0) {
	allocator = 1;
	pthread_atfork(lock_heap, unlock_heap, unlock_heap);
    }
    if (pthread_create(&thread, NULL, work, NULL) != 0)
	return 1;
    for (i = 0; i < count; i++) {
	if ((child = fork()) < 0)
	    return 1;
	if (child == 0) {
	    alarm(10);
	    status = store(pmInDom_build(DOMAIN, 2), PMDA_CACHE_ADD, "child", NULL) < 0
		     || lookup(pmInDom_build(DOMAIN, 2), "quiet", NULL, NULL) != PMDA_CACHE_ACTIVE
		     || store(pmInDom_build(DOMAIN, 1), PMDA_CACHE_ADD, "child", NULL) < 0;
	    _exit(status);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
	    fprintf(stderr, "FAILED: child %d of %d: status %x\n", i, count, (unsigned)status);
	    return 1;
	}
    }
    stop = 1;
    pthread_join(thread, NULL);
    printf("%d forks beside handlers: %s\n", count, kind);
    return 0;
}
