/* __pmdaEventPrint: text, the lost last byte, dots behind (QUEUE-50). */
#include "event_dump.h"

static void
show(const char *data, int size, int room)
{
    char text[64];
    char *answer;

    memset(text, 'X', sizeof(text));
    answer = __pmdaEventPrint(data, size, text, room);
    printf("%d into %d: %s ", size, room, answer == text ? "text" : answer == NULL ? "NULL" : "other");
    hex(text, 32);
    printf("\n");
}

int
main(void)
{
    char all[256];
    int i;

    for (i = 0; i < 256; i++)
	all[i] = (char)i;
    show("ab\tc\n\001d", 7, 16);
    show("0123456789abcdef", 16, 8);
    show("x", 1, 4);
    show("xyz", 3, 3);
    show("xyz", 3, 0);
    show("xyz", 3, -1);
    show("1234", 4, 4);
    show("12345", 5, 4);
    for (i = 0; i < 256; i += 16)
	show(all + i, 16, 20);
    return 0;
}
