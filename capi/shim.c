/*
 * pmdaAddLabels and pmdaAddNotes: variadic in C, which Rust cannot define. The text is formatted here and
 * handed to Rust (LABEL-30).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unwind.h>
#include <pcp/pmapi.h>

/*
 * This thread's block for src/sys/lock.rs.  The memory is there from the start of the thread, unlike that of other models,
 * which is allocated at the first use: that may be in a signal handler on top of malloc.
 */
struct pcp_pmda_thread {
    void *frame;
};

/* On x86_64 src/sys/lock.rs finds it by its name. */
extern __thread struct pcp_pmda_thread pcp_pmda_here __attribute__((tls_model("initial-exec"), visibility("hidden")));
__thread struct pcp_pmda_thread pcp_pmda_here;

extern const struct pcp_pmda_thread *pcp_pmda_thread(void);

const struct pcp_pmda_thread *
pcp_pmda_thread(void)
{
    return &pcp_pmda_here;
}

#ifndef __ARM_EABI_UNWINDER__
/*
 * pthread_exit and pthread_cancel unwind the stack by force.  In a signal handler on top of a call they meet frames of the
 * library at any instruction, where Rust's personality routine knows no way on, and ends the process.  As in C, nothing is to
 * be run in these frames: they are passed over, and src/sys/reentrancy.rs is told.  Panics find Rust's own routine.
 */
typedef _Unwind_Reason_Code personality_routine(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,
    struct _Unwind_Context *);

extern void pcp_pmda_exiting(void);

/* What the frames of the library name as their routine. */
extern personality_routine *named __asm__("DW.ref.rust_eh_personality") __attribute__((visibility("hidden")));
static personality_routine *rust;

static _Unwind_Reason_Code
personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class, struct _Unwind_Exception *exception,
    struct _Unwind_Context *context)
{
    if (actions & _UA_FORCE_UNWIND) {
	pcp_pmda_exiting();
	return _URC_CONTINUE_UNWIND;
    }
    return rust(version, actions, class, exception, context);
}

__attribute__((constructor)) static void
name_personality(void)
{
    rust = named;
    named = personality;
}
#endif

/* Room for a text and its end. Longer ones are cut; they are refused anyway (LABEL-30, LABEL-31). */
#define ROOM	65535

/* In src/sys/reentrancy.rs: 0, or -EBUSY for a signal handler on top of another call. */
extern int pcp_pmda_enter(void *);
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
    if ((status = pcp_pmda_enter(__builtin_frame_address(0))) < 0)
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
