/*
 * pmdaAddLabels and pmdaAddNotes: variadic in C, which Rust cannot define. The text is formatted here and
 * handed to Rust (LABEL-30).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <pcp/pmapi.h>

/* Room for a text and its end. Longer ones are cut; they are refused anyway (LABEL-30, LABEL-31). */
#define ROOM	65535

/* In src/labels/exports.rs. */
extern int pcp_pmda_add(pmLabelSet **, const char *, size_t, int);

static int
format_and_add(int notes, pmLabelSet **sets, const char *format, va_list arguments)
{
    /* On the stack, of which the C library takes more: to format twice, as malloc would need it, costs more than all the rest. */
    char text[ROOM];
    int length;

    if (sets == NULL || format == NULL)
	return -EINVAL;
    length = vsnprintf(text, sizeof(text), format, arguments);
    return length < 0 ? length : pcp_pmda_add(sets, text, length < ROOM ? length : ROOM - 1, notes);
}

__attribute__((format(printf, 2, 3))) int
pmdaAddLabels(pmLabelSet **sets, const char *format, ...)
{
    va_list arguments;
    int status;

    va_start(arguments, format);
    status = format_and_add(0, sets, format, arguments);
    va_end(arguments);
    return status;
}

__attribute__((format(printf, 2, 3))) int
pmdaAddNotes(pmLabelSet **sets, const char *format, ...)
{
    va_list arguments;
    int status;

    va_start(arguments, format);
    status = format_and_add(1, sets, format, arguments);
    va_end(arguments);
    return status;
}
