/* Random work on queues with one client each, without overflow: equal to the C library in every step (QUEUE-5, QUEUE-31, QUEUE-34). */
#include "queue_tools.h"

int
main(void)
{
    unsigned int seed = 20261121, step;
    int queue[3], registered[3] = { 0 }, n;
    char name[3][8], text[64];

    for (n = 0; n < 3; n++) {
	sprintf(name[n], "q%d", n);
	queue[n] = pmdaEventNewQueue(name[n], 1 << 20);
    }
    for (step = 0; step < 3000; step++) {
	n = lcg(&seed) % 3;
	switch (lcg(&seed) % 12) {
	case 0:
	    registered[n] = 1;
	    printf("new %d\n", pmdaEventNewClient(100 + n));
	    break;
	case 1:
	    if (registered[n] && lcg(&seed) % 8 == 0) {
		printf("end %d\n", pmdaEventEndClient(100 + n));
		registered[n] = 0;
	    }
	    break;
	case 2:
	    printf("access %d\n", pmdaEventSetAccess(100 + n, queue[n], lcg(&seed) % 4 != 0));
	    break;
	case 3:
	    if (lcg(&seed) % 3 == 0)
		printf("filter %d\n", pmdaEventSetFilter(100 + n, queue[n], lcg(&seed) % 2 ? "4" : NULL, drop_prefix, release));
	    break;
	case 4: case 5: case 6: case 7: case 8:
	    sprintf(text, "%u-%.*s", step % 10, (int)(lcg(&seed) % 20), "abcdefghijklmnopqrstuvwxyz");
	    put(queue[n], text);
	    break;
	case 9:
	    decoder_fails_at = lcg(&seed) % 3 == 0 ? "7" : NULL;
	    decoder_appends = lcg(&seed) % 3;
	    fetch(queue[n], 100 + n);
	    decoder_fails_at = NULL;
	    decoder_appends = 0;
	    break;
	default:
	    counters(name[n], queue[n]);
	    break;
	}
    }
    return 0;
}
