//! Where each thread is: in a step of the library, or outside of it.
//!
//! A signal handler may call the library while the same thread is in the middle of a call: inside
//! of malloc, or with a half-changed table. Such a call is refused at once by
//! [`crate::abi::guard::guard`], which asks here and touches nothing else. C code of the agent that
//! the library calls (methods, callbacks, hooks), and waiting for a descriptor, count as outside:
//! calls from there are as good as any other, and however the code is left (also by `longjmp`), the
//! mark is off.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence};

use super::lock;
use super::readers::ReaderSlot;

/// What `capi/shim.c` keeps for each thread: Rust cannot ask for memory that is there from the
/// thread's start, without an allocation at the first use in a signal handler.
#[repr(C)]
pub(crate) struct Thread {
    /// Where it says what it reads (`readers`).
    pub(super) slot: AtomicPtr<ReaderSlot>,
    /// The locks of rooms that a fork of this thread has taken, one bit each.
    pub(super) taken: AtomicU32,
    inside: AtomicBool,
}

/// Whether [`thread`] is two instructions. Elsewhere it is a call, which a process with one thread
/// does without.
const NEAR: bool = cfg!(target_arch = "x86_64");

/// What is kept for this thread.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn thread() -> &'static Thread {
    let place: *const Thread;
    // SAFETY: the address of this thread, and the distance from it at which the loader has put the
    // variable of `capi/shim.c`. That is one of the types above, valid while the thread lives; the
    // reference never leaves it, and nothing of ours outlives it.
    unsafe {
        std::arch::asm!(
            "mov {place}, qword ptr fs:[0]",
            "add {place}, qword ptr [rip + pcp_pmda_here@GOTTPOFF]",
            place = out(reg) place,
            options(pure, readonly, nostack),
        );
        &*place
    }
}

/// What is kept for this thread.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn thread() -> &'static Thread {
    unsafe extern "C" {
        safe fn pcp_pmda_thread() -> *const Thread;
    }
    // SAFETY: the address of a thread-local variable of the types above, valid while the thread
    // lives; the reference never leaves it, and nothing of ours outlives it.
    unsafe { &*pcp_pmda_thread() }
}

/// A number that no other thread has while this one lives.
#[inline]
pub(crate) fn number() -> u32 {
    if lock::single_threaded() {
        return 0;
    }
    thread().number()
}

impl Thread {
    /// As [`number`], also for the only thread, and not 0.
    pub(super) fn number(&self) -> u32 {
        // Two such variables are further apart than this.
        (ptr::from_ref(self).addr() >> 4) as u32 | 1
    }
}

/// The mark of this thread. No thread starts while one is inside, so it is the same one until it is
/// out again.
#[inline(always)]
fn mark() -> &'static AtomicBool {
    /// That of the only thread.
    static ALONE: AtomicBool = AtomicBool::new(false);
    if !NEAR && lock::single_threaded() {
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
