//! The word of a lock: two atomic instructions for a thread that need not wait, of which one is a
//! plain store.

use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

use crate::sys::threads::single_threaded;

/// Nobody holds the lock.
const FREE: u32 = 0;
/// Somebody does.
const HELD: u32 = 1;

/// How often a fork asks for a lock again that the thread itself may hold.
const PATIENCE: u32 = 10_000;

/// For so long a thread sleeps at most before it asks again.
static SLEEP: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Whether a lock is held, and how many threads sleep until it is not.
pub(super) struct Word {
    state: AtomicU32,
    sleepers: AtomicU32,
}

impl Word {
    pub(super) const fn new() -> Word {
        Word {
            state: AtomicU32::new(FREE),
            sleepers: AtomicU32::new(0),
        }
    }

    /// Takes the lock when there are other threads.
    #[inline(always)]
    pub(super) fn take(&self) {
        if !self.try_take() {
            self.wait();
        }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub(super) fn try_take(&self) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.compare_exchange(FREE, HELD, success, failure).is_ok()
    }

    /// Waits for another thread: a moment by asking again, then in the kernel.
    #[cold]
    #[inline(never)]
    fn wait(&self) {
        for _ in 0..100 {
            if self.state.load(Ordering::Relaxed) == FREE && self.try_take() {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.try_take() {
            // SAFETY: the word lives as long as the process; the kernel compares it, and returns
            // early if it has changed.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.state.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    HELD,
                    &raw const SLEEP,
                )
            };
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Frees the lock.
    ///
    /// That is a store, and a look at whether somebody sleeps. A processor may do the two in the
    /// other order, and miss one who falls asleep at this very moment. That one asks again after
    /// [`SLEEP`]: to rule it out would take an instruction that costs as much as all others of a
    /// lookup.
    #[inline(always)]
    pub(super) fn give(&self) {
        self.state.store(FREE, Ordering::Release);
        if single_threaded() {
            return;
        }
        compiler_fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Wakes one of the threads that sleep.
    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // SAFETY: the word lives as long as the process, and is only an address here.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.state.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
            )
        };
    }

    /// Takes the lock for a fork; whether that was possible. In a thread that may hold it itself,
    /// as a signal handler of it forks, the lock is asked for longer than any other thread holds
    /// it.
    pub(super) fn take_for_fork(&self, inside: bool) -> bool {
        if !inside {
            self.take();
            return true;
        }
        (0..PATIENCE).any(|_| {
            let have = self.try_take();
            if !have {
                std::thread::yield_now();
            }
            have
        })
    }

    /// Frees the lock in a forked child if the fork has taken it; nobody sleeps there.
    pub(super) fn start_again(&self, taken: bool) {
        self.sleepers.store(0, Ordering::Relaxed);
        if taken {
            self.state.store(FREE, Ordering::Relaxed);
        }
    }
}
