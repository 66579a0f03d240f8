/* Shows event arrays as the bytes that clients get. */
#ifndef EVENT_DUMP_H
#define EVENT_DUMP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>

static inline void
hex(const void *data, size_t length)
{
    const unsigned char *byte = data;
    size_t i;

    for (i = 0; i < length; i++)
	printf("%02x%s", byte[i], (i + 1) % 32 == 0 ? "\n  " : (i + 1) % 4 == 0 ? " " : "");
}

/* `name` is what the program did before. */
static inline void
dump(const char *name, const pmEventArray *array)
{
    if (array == NULL) {
	printf("%s: no array\n", name);
	return;
    }
    printf("%s: type %u, %u bytes, %d records\n  ", name, array->ea_type, array->ea_len, array->ea_nrecords);
    hex(array, array->ea_len);
    printf("\n");
}

/* A linear congruential generator: the same sequence on both libraries. */
static inline unsigned int
lcg(unsigned int *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

#endif
