//! Marks threads that are in a step of the library.
//!
//! A signal handler may call the library while the same thread is in the middle of a call: inside
//! of malloc, or with a half-changed table. [`crate::boundary::guard`] refuses that. C code of the
//! agent that the library calls, and waiting for a descriptor, are not part of a step.
//!
//! A handler on top of a call may be left for good, too. By `siglongjmp`: then the thread calls
//! again, still marked, and the stack tells that the marked frame is not on it any more. By
//! `pthread_exit`: then the frames of the call are unwound without running their code
//! (`capi/shim.c`), and [`pcp_pmda_exiting`] is told. What the call had begun to change may be half
//! done in either case, as with the C library.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use crate::sys::lock::{self, NEAR, Token, single_threaded, thread};

/// The mark of this thread: an address in the frame that guards the step, or NULL. No thread starts
/// within a step, so it is the same one at its end.
#[inline(always)]
fn mark() -> &'static AtomicPtr<u8> {
    static ALONE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
    if !NEAR && single_threaded() {
        &ALONE
    } else {
        &thread().frame
    }
}

/// A step of the library on this thread.
pub(crate) struct ReentrancyGuard {
    mark: &'static AtomicPtr<u8>,
    /// For the lock.
    pub(crate) token: Token,
}

impl ReentrancyGuard {
    /// Enters a step, which ends before the caller's frame; `None` in a signal handler on top of
    /// another step of this thread.
    #[inline(always)]
    pub(crate) fn enter() -> Option<ReentrancyGuard> {
        let frame = MaybeUninit::<u8>::uninit();
        ReentrancyGuard::enter_at(frame.as_ptr().cast_mut())
    }

    /// [`ReentrancyGuard::enter`] without a look at the stack: `None` whenever this thread is
    /// marked.
    #[inline(always)]
    pub(crate) fn enter_unmarked() -> Option<ReentrancyGuard> {
        let (frame, mark) = (MaybeUninit::<u8>::uninit(), mark());
        if !mark.load(Ordering::Relaxed).is_null() {
            return None;
        }
        Some(ReentrancyGuard::set(mark, frame.as_ptr().cast_mut()))
    }

    #[inline(always)]
    fn enter_at(frame: *mut u8) -> Option<ReentrancyGuard> {
        let mark = mark();
        if !mark.load(Ordering::Relaxed).is_null() && !leave_what_was_left(mark) {
            return None;
        }
        Some(ReentrancyGuard::set(mark, frame))
    }

    #[inline(always)]
    fn set(mark: &'static AtomicPtr<u8>, frame: *mut u8) -> ReentrancyGuard {
        mark.store(frame, Ordering::Relaxed);
        // First the mark, then the work: for signal handlers of this thread.
        compiler_fence(Ordering::SeqCst);
        ReentrancyGuard {
            mark,
            token: Token::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn leave(self) {
        unmark(self.mark);
    }
}

#[inline(always)]
fn unmark(mark: &AtomicPtr<u8>) {
    compiler_fence(Ordering::SeqCst);
    mark.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Removes the mark if the marked frame was left by `siglongjmp`; returns whether it was.
#[cold]
fn leave_what_was_left(mark: &AtomicPtr<u8>) -> bool {
    let was_left = is_left(mark.load(Ordering::Relaxed).addr());
    if was_left {
        lock::abandon();
        mark.store(ptr::null_mut(), Ordering::Relaxed);
    }
    was_left
}

/// The search for a frame on the stack of this thread.
struct Search {
    frame: usize,
    /// The stack pointer of the last frame.
    below: usize,
    is_left: bool,
}

/// Returns whether a frame is not below a running signal handler. A call from further up the stack
/// shows that. From further down, the frames in between are looked at: a handler has the one that
/// the kernel made. Where frames cannot be followed, the answer is no.
fn is_left(frame: usize) -> bool {
    let here = MaybeUninit::<u8>::uninit();
    let below = here.as_ptr().addr();
    if below > frame && !is_on_alternate_stack() {
        return true;
    }
    let mut search = Search {
        frame,
        below,
        is_left: false,
    };
    // SAFETY: the function gets what stands behind it, which outlives the call; the unwinder
    // allocates nothing.
    unsafe { _Unwind_Backtrace(look_at, (&raw mut search).cast()) };
    search.is_left
}

/// Returns whether the stack is one of `sigaltstack`, whose addresses tell nothing.
fn is_on_alternate_stack() -> bool {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: nothing is set, and there is room for the answer, which is read when it was given.
    unsafe {
        libc::sigaltstack(ptr::null(), stack.as_mut_ptr()) == 0 && stack.assume_init().ss_flags & libc::SS_ONSTACK != 0
    }
}

#[repr(C)]
struct Context {
    _private: [u8; 0],
}

type Trace = extern "C" fn(*mut Context, *mut c_void) -> c_int;

/// `_URC_NO_REASON`, and any other number to stop.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: Trace, data: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    /// Stores whether a signal has interrupted this frame.
    #[cfg(not(target_arch = "arm"))]
    fn _Unwind_GetIPInfo(context: *mut Context, interrupted: *mut c_int) -> usize;
}

/// Returns whether a signal has interrupted a frame.
///
/// # Safety
/// The context is one that the unwinder has just given.
#[cfg(not(target_arch = "arm"))]
unsafe fn is_interrupted(context: *mut Context) -> bool {
    let mut interrupted = 0;
    // SAFETY: the unwinder's own context, as the caller promises, and a number to write to.
    unsafe { _Unwind_GetIPInfo(context, &raw mut interrupted) };
    interrupted != 0
}

/// Returns whether a signal has interrupted a frame: ARM's unwinder does not know.
#[cfg(target_arch = "arm")]
unsafe fn is_interrupted(_: *mut Context) -> bool {
    true
}

/// Looks at one frame, from the innermost on.
extern "C" fn look_at(context: *mut Context, search: *mut c_void) -> c_int {
    // SAFETY: the unwinder gives its context, and what `is_left` has given to it, which nobody else
    // uses meanwhile.
    let (search, interrupted, top) = unsafe {
        let interrupted = is_interrupted(context);
        (&mut *search.cast::<Search>(), interrupted, _Unwind_GetCFA(context))
    };
    if interrupted {
        return STOP;
    }
    if search.below <= search.frame && search.frame < top {
        search.is_left = true;
        return STOP;
    }
    search.below = top;
    GO_ON
}

/// [`ReentrancyGuard::enter`] for `capi/shim.c` and its frame: 0, or `-EBUSY`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pcp_pmda_enter(frame: *mut u8) -> c_int {
    ReentrancyGuard::enter_at(frame).map_or(-libc::EBUSY, |_| 0)
}

/// [`ReentrancyGuard::leave`] for `capi/shim.c`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pcp_pmda_leave() {
    unmark(mark());
}

/// For `capi/shim.c`: this thread ends, and unwinds a frame of the library.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pcp_pmda_exiting() {
    let mark = mark();
    if !mark.load(Ordering::Relaxed).is_null() {
        lock::abandon();
        mark.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
