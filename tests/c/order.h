/* Pictures show numbers in the order of little-endian machines, so all machines have the same picture. */
#ifndef ORDER_H
#define ORDER_H

#include <stddef.h>

/* Puts each of the numbers that follow each other, of `width` bytes, into the order of pictures. */
static inline void
picture_order(void *numbers, size_t count, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    unsigned char *byte = numbers, first;
    size_t i;

    for (; count > 0; count--, byte += width)
	for (i = 0; i < width / 2; i++) {
	    first = byte[i];
	    byte[i] = byte[width - 1 - i];
	    byte[width - 1 - i] = first;
	}
#else
    (void)numbers;
    (void)count;
    (void)width;
#endif
}

#endif
