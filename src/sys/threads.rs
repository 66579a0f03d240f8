//! Whether there are several threads, and what is kept for each.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

unsafe extern "C" {
    /// Non-zero while the process has one thread (glibc 2.32 and up).
    safe static __libc_single_threaded: AtomicU8;
}

/// Whether there is no other thread in this process.
#[inline(always)]
pub(crate) fn single_threaded() -> bool {
    __libc_single_threaded.load(Ordering::Relaxed) != 0
}

/// What `capi/shim.c` keeps for each thread: Rust cannot ask for memory that is there from the
/// thread's start, without an allocation at the first use in a signal handler.
#[repr(C)]
pub(crate) struct Thread {
    /// Where it says what it reads (`readers`).
    pub(super) slot: AtomicPtr<ReaderSlot>,
    /// The locks of rooms that a fork of this thread has taken, one bit each.
    pub(super) taken: AtomicU32,
    pub(super) inside: AtomicBool,
}

/// What a thread says, in a cache line that only it writes.
#[repr(align(64))]
pub(crate) struct ReaderSlot {
    /// The thread. One that ends leaves the slot to the next one that has the same address.
    pub(super) owner: AtomicPtr<Thread>,
    /// The address of the lock of what it reads at this moment.
    pub(super) reading: AtomicPtr<()>,
}

impl ReaderSlot {
    pub(super) const fn new() -> ReaderSlot {
        ReaderSlot {
            owner: AtomicPtr::new(ptr::null_mut()),
            reading: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

/// Whether [`thread`] is two instructions. Elsewhere it is a call, which a process with one thread
/// does without.
pub(super) const NEAR: bool = cfg!(target_arch = "x86_64");

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
    #[allow(improper_ctypes, reason = "what the slot looks like is no business of shim.c")]
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
    if single_threaded() {
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
