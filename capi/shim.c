/*
 * pmdaAddLabels and pmdaAddNotes: variadic in C, which Rust cannot define. The text is formatted here and
 * handed to Rust (LABEL-30).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <pcp/pmapi.h>

/*
 * What src/sys/threads.rs keeps for each thread: whether it is in a step of the library, where it says what it reads, and which
 * locks its fork holds.  The memory is there from the start of the thread, unlike that of other models, which is allocated at
 * the first use: that may be in a signal handler on top of malloc.
 */
struct pcp_pmda_thread {
    void *slot;
    unsigned int taken;
    unsigned char inside;
};

/* On x86_64 src/sys/threads.rs finds it by its name. */
extern __thread struct pcp_pmda_thread pcp_pmda_here __attribute__((tls_model("initial-exec"), visibility("hidden")));
__thread struct pcp_pmda_thread pcp_pmda_here;

extern const struct pcp_pmda_thread *pcp_pmda_thread(void);

const struct pcp_pmda_thread *
pcp_pmda_thread(void)
{
    return &pcp_pmda_here;
}

/* Room for a text and its end. Longer ones are cut; they are refused anyway (LABEL-30, LABEL-31). */
#define ROOM	65535

/* In src/sys/mark.rs: 0, or -EBUSY for a signal handler on top of another call. */
extern int pcp_pmda_enter(void);
extern void pcp_pmda_leave(void);

/* In src/labels/exports.rs. */
extern int pcp_pmda_add(pmLabelSet **, const char *, size_t, int);

static int
format_and_add(int notes, pmLabelSet **sets, const char *format, va_list arguments)
{
    /* On the stack, of which the C library takes more: to format twice, as malloc would need it, costs more than all the rest. */
    char text[ROOM];
    int length, status;

    if (sets == NULL || format == NULL)
	return -EINVAL;
    if ((status = pcp_pmda_enter()) < 0)
	return status;
    length = vsnprintf(text, sizeof(text), format, arguments);
    status = length < 0 ? length : pcp_pmda_add(sets, text, length < ROOM ? length : ROOM - 1, notes);
    pcp_pmda_leave();
    return status;
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
