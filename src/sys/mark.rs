//! Where each thread is: in a step of the library, or outside of it.
//!
//! A signal handler may call the library while the same thread is in the middle of a call: inside
//! of malloc, or with a half-changed table. Such a call is refused at once by
//! [`crate::drive::guard::guard`], which asks here and touches nothing else. C code of the agent
//! that the library calls (methods, callbacks, hooks), and waiting for a descriptor, are outside:
//! calls from there are as good as any other, and however the code is left (also by `longjmp`), the
//! mark is off.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use crate::sys::threads::{NEAR, single_threaded, thread};

/// The mark of this thread. No thread starts while one is inside, so it is the same one until it is
/// out again.
#[inline(always)]
fn mark() -> &'static AtomicBool {
    /// That of the only thread.
    static ALONE: AtomicBool = AtomicBool::new(false);
    if !NEAR && single_threaded() {
        &ALONE
    } else {
        &thread().inside
    }
}

/// Whether this thread is in a step of the library.
pub(crate) fn is_inside() -> bool {
    mark().load(Ordering::Relaxed)
}

/// The mark of this thread, which is inside.
#[derive(Clone, Copy)]
pub(crate) struct Marked(&'static AtomicBool);

/// Marks this thread as inside; `None` when it is already.
#[inline(always)]
pub(crate) fn enter() -> Option<Marked> {
    let mark = mark();
    if mark.load(Ordering::Relaxed) {
        return None;
    }
    mark.store(true, Ordering::Relaxed);
    // For the signal handlers of this thread: first the mark, then the work.
    compiler_fence(Ordering::SeqCst);
    Some(Marked(mark))
}

impl Marked {
    /// Marks this thread as outside. No thread has started meanwhile, so it has the same mark.
    #[inline(always)]
    pub(crate) fn leave(self) {
        compiler_fence(Ordering::SeqCst);
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Waits for a descriptor in the middle of a step, where handlers may call the library. What the
/// driver calls is outside without it.
///
/// Nothing is locked or borrowed meanwhile (`docs/ARCHITECTURE.md`). `call` is to do nothing else:
/// what it leaves to drop would be dropped outside.
#[inline(always)]
pub(crate) fn outside<R>(call: impl FnOnce() -> R) -> R {
    Marked(mark()).leave();
    let result = call();
    enter();
    result
}

/// [`enter`] for `capi/shim.c`: 0, or `-EBUSY`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pcp_pmda_enter() -> c_int {
    enter().map_or(-libc::EBUSY, |_| 0)
}

/// [`Marked::leave`] for `capi/shim.c`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn pcp_pmda_leave() {
    Marked(mark()).leave();
}
