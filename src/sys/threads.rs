//! Whether there are several threads, and the block of each.

use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

unsafe extern "C" {
    /// Non-zero while the process has one thread (glibc 2.32 and up).
    safe static __libc_single_threaded: AtomicU8;
}

/// Whether there is no other thread in this process.
#[inline(always)]
pub(crate) fn single_threaded() -> bool {
    __libc_single_threaded.load(Ordering::Relaxed) != 0
}

/// This thread's block. `capi/shim.c` has it, in initial-exec TLS, so that it never allocates: Rust
/// cannot ask for that, and the first use may be in a signal handler on top of malloc.
#[repr(C)]
pub(crate) struct Thread {
    /// The mark of `reentrancy`.
    pub(super) frame: AtomicPtr<u8>,
}

/// Whether [`thread`] is two instructions. Elsewhere it is a call, which a process with one thread
/// does without.
pub(super) const NEAR: bool = cfg!(target_arch = "x86_64");

/// The block of this thread.
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

/// The block of this thread.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn thread() -> &'static Thread {
    #[allow(improper_ctypes, reason = "what the slot looks like is no business of shim.c")]
    unsafe extern "C" {
        safe fn pcp_pmda_thread() -> *const Thread;
    }
    // SAFETY: the address of a thread-local variable of the types above, valid while the thread
    // lives; the reference never leaves it, and nothing of ours outlives it.
    unsafe { &*pcp_pmda_thread() }
}
