/*
 * Under -Dlibpmda the line about an argument that must not be NULL names the function that has refused it, whatever other threads fail
 * with at that moment. MAIN-59
 */
/* c-library: not run, it follows most of these pointers */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

#define ROUNDS 100000
#define THREADS 3

static atomic_int refusing = 1;

/* Fails again and again, and refuses no argument. */
static void *
failing(void *arg)
{
    while (refusing)
        pmdaEventReleaseArray(-1);
    return arg;
}

int
main(void)
{
    pmLabelSet *sets = NULL;
    pthread_t threads[THREADS];
    FILE *out = tmpfile();
    char line[256];
    int i, named = 0;

    pmSetProgname("agent");
    pmSetDebug("libpmda");
    stderr = out;
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, failing, NULL);
    for (i = 0; i < ROUNDS; i++)
        pmdaLabel(0, PM_LABEL_DOMAIN, &sets, NULL);
    refusing = 0;
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rewind(out);
    while (fgets(line, sizeof(line), out) != NULL) {
        if (strcmp(line, "pmdaLabel: argument pmda must not be NULL\n") == 0)
            named++;
        else
            printf("another line: %s", line);
    }
    printf("%d of %d calls are named\n", named, ROUNDS);
    return 0;
}
