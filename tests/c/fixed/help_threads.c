/* Threads open, read and close help databases at the same time. H-8 HELP-29 */
/* c-library: not run, its table is not protected */
#include <pthread.h>
#include "help_fixture.h"

#define THREADS	4
#define ROUNDS	300

static int	kept;

static void *
work(void *argument)
{
    int number = (int)(intptr_t)argument;
    const help_record record = { { PMID(9, 0, number), 0, 5 } };
    char name[16], text[64];
    long wrong = 0;
    int round;

    snprintf(name, sizeof(name), "t%d", number);
    help_write_dir(name, 1, &record, 1, 0);
    memcpy(text, "short", 6);
    text[4] = '\0';
    snprintf(text + 5, sizeof(text) - 5, "long text of %d", number);
    help_write(name, "pag", text, 5 + strlen(text + 5) + 1);
    for (round = 0; round < ROUNDS; round++) {
	int handle = pmdaOpenHelp(name);
	const char *own = pmdaGetHelp(handle, PMID(9, 0, number), PM_TEXT_HELP);
	const char *shared = pmdaGetHelp(kept, PMID(9, 0, 0), PM_TEXT_ONELINE);

	if (own == NULL || strcmp(own, text + 5) != 0)
	    wrong++;
	if (pmdaGetHelp(handle, PMID(9, 0, number + 1), PM_TEXT_HELP) != NULL)
	    wrong++;
	if (shared == NULL || strcmp(shared, "first") != 0)
	    wrong++;
	pmdaCloseHelp(handle);
    }
    help_remove(name);
    return (void *)wrong;
}

int
main(void)
{
    pthread_t threads[THREADS];
    void *wrong;
    int i;

    help_write_good("good");
    kept = pmdaOpenHelp("good");
    for (i = 0; i < THREADS; i++)
	if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
	    return 1;
    for (i = 0; i < THREADS; i++) {
	pthread_join(threads[i], &wrong);
	printf("thread %d: %ld wrong\n", i, (long)wrong);
    }
    help_metric(kept, PMID(9, 0, 0), PM_TEXT_ONELINE);
    help_remove("good");
    return 0;
}
