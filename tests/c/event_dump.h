/* Prints event arrays as the bytes that clients get. */
#ifndef EVENT_DUMP_H
#define EVENT_DUMP_H

#include <sys/time.h>
#include "order.h"
#include "show.h"

static inline void
hex(const void *data, size_t length)
{
    const unsigned char *byte = data;
    size_t i;

    for (i = 0; i < length; i++)
	printf("%02x%s", byte[i], (i + 1) % 32 == 0 ? "\n  " : (i + 1) % 4 == 0 ? " " : "");
}

/* The word of an array at an offset that is a multiple of four; 0 beyond the end. */
static inline unsigned int
word(const pmEventArray *array, size_t at)
{
    unsigned int value = 0;

    if (at + sizeof(value) <= array->ea_len)
	memcpy(&value, (const char *)array + at, sizeof(value));
    return value;
}

/* Puts the numbers of an array into the order of pictures; unknown parts count as words. */
static inline void
array_order(const pmEventArray *array, char *copy)
{
    size_t stamp = array->ea_type == PM_TYPE_HIGHRES_EVENT ? 8 : 4, at = 8, end = array->ea_len;
    int record;

    if (end < at)
	return;
    picture_order(copy, 2, 4);
    for (record = 0; record < array->ea_nrecords && at + 2 * stamp + 8 <= end; record++) {
	unsigned int flags = word(array, at + 2 * stamp), parameters = word(array, at + 2 * stamp + 4);

	picture_order(copy + at, 2, stamp);
	picture_order(copy + at + 2 * stamp, 2, 4);
	at += 2 * stamp + 8;
	for (; (flags & PM_EVENT_FLAG_MISSED) == 0 && parameters > 0 && at + 8 <= end; parameters--) {
	    size_t type = word(array, at + 4) >> 24, size = ((word(array, at + 4) & 0xffffff) + 3) / 4 * 4;

	    if (size < 4 || size > end - at - 4)
		break;
	    picture_order(copy + at, 2, 4);
	    at += 8;
	    size -= 4;
	    if (type == PM_TYPE_64 || type == PM_TYPE_U64 || type == PM_TYPE_DOUBLE)
		picture_order(copy + at, size / 8, 8);
	    else if (type < PM_TYPE_STRING)
		picture_order(copy + at, size / 4, 4);
	    at += size;
	}
    }
    picture_order(copy + at, (end - at) / 4, 4);
}

/* Prints an array; `name` is the call before it. */
static inline void
dump(const char *name, const pmEventArray *array)
{
    char *copy;

    if (array == NULL) {
	printf("%s: no array\n", name);
	return;
    }
    printf("%s: type %u, %u bytes, %d records\n  ", name, array->ea_type, array->ea_len, array->ea_nrecords);
    copy = malloc(array->ea_len);
    memcpy(copy, array, array->ea_len);
    array_order(array, copy);
    hex(copy, array->ea_len);
    printf("\n");
    free(copy);
}

/* A linear congruential generator: the same sequence on both libraries. */
static inline unsigned int
lcg(unsigned int *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

#endif
