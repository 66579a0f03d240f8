//! The lock of all state that C keeps in globals: it costs next to nothing while the process has one thread.
//!
//! Nearly every agent has one thread, and takes a lock in each call. Two atomic read-modify-write instructions a call
//! were half of the time of a cache lookup (15 ns, of which 10 for locking and unlocking; `docs/PERFORMANCE.md`). The
//! C library's own `__libc_single_threaded` says when they can be left out.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::lock_api::{self, RawMutex as _};

/// As `parking_lot::Mutex`.
pub(super) type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// A mutex around `value`, for constants.
pub(super) const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(RawMutex::INIT, value)
}

/// What `Mutex` is made of: a flag for a process with one thread, a real lock for one with several.
pub(super) struct RawMutex {
    held: AtomicBool,
    shared: parking_lot::RawMutex,
}

unsafe extern "C" {
    /// Non-zero while the process has one thread (glibc 2.32 and up).
    safe static __libc_single_threaded: AtomicFlag;
}

/// A `char` of the C library that it writes when threads start and end.
#[repr(transparent)]
struct AtomicFlag(std::cell::UnsafeCell<c_char>);

// SAFETY: it is only read, by one volatile load.
unsafe impl Sync for AtomicFlag {}

/// Whether there is no other thread in this process.
pub(super) fn single_threaded() -> bool {
    // SAFETY: the C library's variable lives as long as the process. Only threads change it; as long as it is not 0
    // there is none but this one, so nobody writes it now.
    unsafe { __libc_single_threaded.0.get().read_volatile() != 0 }
}

// SAFETY: two threads never hold the lock together. With several threads the real lock sees to that. With one, `held`
// does; that thread cannot start another while it holds the lock, as nothing is locked during a call into C
// (`docs/ARCHITECTURE.md`) and this library starts none, so `held` is never left behind for a second thread to miss.
unsafe impl lock_api::RawMutex for RawMutex {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "the initial value of a lock, as lock_api asks for it"
    )]
    const INIT: RawMutex = RawMutex {
        held: AtomicBool::new(false),
        shared: parking_lot::RawMutex::INIT,
    };

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        if single_threaded() {
            if self.held.load(Ordering::Relaxed) || self.shared.is_locked() {
                reentered();
            }
            self.held.store(true, Ordering::Relaxed);
        } else {
            self.shared.lock();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        if !single_threaded() {
            return self.shared.try_lock();
        }
        let free = !self.held.load(Ordering::Relaxed) && !self.shared.is_locked();
        if free {
            self.held.store(true, Ordering::Relaxed);
        }
        free
    }

    #[inline]
    unsafe fn unlock(&self) {
        if self.held.load(Ordering::Relaxed) {
            self.held.store(false, Ordering::Relaxed);
        } else {
            // SAFETY: the caller holds the lock, and not by the flag.
            unsafe { self.shared.unlock() };
        }
    }
}

/// A signal handler has called the library inside of a call. A real lock would wait for ever.
#[cold]
fn reentered() -> ! {
    panic!("called again from a signal handler inside of a call");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-7, H-8: with several threads nothing is lost.
    #[test]
    fn threads_take_turns() {
        static COUNT: Mutex<u64> = const_mutex(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *COUNT.lock() += 1));
            }
        });
        assert_eq!(*COUNT.lock(), 40_000);
    }

    /// A lock that is held cannot be had again, with one thread or several.
    #[test]
    fn held_is_held() {
        let lock = const_mutex(());
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(guard);
        assert!(lock.try_lock().is_some());
    }
}
