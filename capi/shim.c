/*
 * pmdaAddLabels and pmdaAddNotes: variadic in C, which Rust cannot define. The text is formatted here and
 * handed to Rust (LABEL-30).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <pcp/pmapi.h>

/* Longer texts are cut; they are refused anyway (LABEL-31). */
#define LONGEST	65534

/* In src/ffi/labels.rs. */
extern int pcp_pmda_add_labels(pmLabelSet **, const char *, size_t);
extern int pcp_pmda_add_notes(pmLabelSet **, const char *, size_t);

typedef int (*adder)(pmLabelSet **, const char *, size_t);

static int
format_and_add(adder add, pmLabelSet **sets, const char *format, va_list arguments)
{
    char usual[512];
    char *large;
    va_list again;
    int length, status;

    if (sets == NULL || format == NULL)
	return -EINVAL;
    va_copy(again, arguments);
    length = vsnprintf(usual, sizeof(usual), format, arguments);
    if (length < (int)sizeof(usual)) {
	status = length < 0 ? length : add(sets, usual, length);
    }
    else if ((large = malloc(LONGEST + 1)) == NULL) {
	status = -ENOMEM;
    }
    else {
	length = vsnprintf(large, LONGEST + 1, format, again);
	status = length < 0 ? length : add(sets, large, length < LONGEST ? length : LONGEST);
	free(large);
    }
    va_end(again);
    return status;
}

__attribute__((format(printf, 2, 3))) int
pmdaAddLabels(pmLabelSet **sets, const char *format, ...)
{
    va_list arguments;
    int status;

    va_start(arguments, format);
    status = format_and_add(pcp_pmda_add_labels, sets, format, arguments);
    va_end(arguments);
    return status;
}

__attribute__((format(printf, 2, 3))) int
pmdaAddNotes(pmLabelSet **sets, const char *format, ...)
{
    va_list arguments;
    int status;

    va_start(arguments, format);
    status = format_and_add(pcp_pmda_add_notes, sets, format, arguments);
    va_end(arguments);
    return status;
}
