//! The locks of all state that C keeps in globals: they cost next to nothing while the process has one thread, allocate
//! nothing, and survive a fork.
//!
//! Nearly every agent has one thread, and takes a lock in each call. Two atomic read-modify-write instructions a call
//! were half of the time of a cache lookup (15 ns, of which 10 for locking and unlocking; `docs/PERFORMANCE.md`). The
//! C library's own `__libc_single_threaded` says when they can be left out.
//!
//! A fork copies one thread and all locks, also those that other threads hold. So each kind of lock has one word in a
//! table ([`WORDS`]), whatever number of agents there is: handlers of `pthread_atfork` take all of them before the fork,
//! and free them behind it, in the child as well. That needs the words to be ours: what `parking_lot` keeps for waiting
//! threads is behind its own locks, in memory that it allocates, and so do `std`'s locks keep to themselves.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::lock_api;

use super::mark;

/// As `parking_lot::Mutex`; `ROOM` is one of [`room`].
pub(crate) type Mutex<T, const ROOM: usize> = lock_api::Mutex<Lock<ROOM>, T>;

/// A mutex around `value`, for constants.
pub(crate) const fn const_mutex<T, const ROOM: usize>(value: T) -> Mutex<T, ROOM> {
    Mutex::const_new(Lock, value)
}

/// What is locked. All locks of one room are one lock: two agents share those of their records.
///
/// A thread that holds one may take another further down, never one further up: a fork takes all of them in this order.
pub(crate) mod room {
    pub(crate) const SELECTIONS: usize = 0;
    pub(crate) const CACHES: usize = 1;
    pub(crate) const QUEUES: usize = 2;
    pub(crate) const ARRAYS: usize = 3;
    pub(crate) const HELP: usize = 4;
    pub(crate) const OPTIONS: usize = 5;
    pub(crate) const DYNAMIC_TABLES: usize = 6;
    pub(crate) const FOREIGN_SESSIONS: usize = 7;
    pub(crate) const FOREIGN_STATES: usize = 8;
    pub(crate) const AHEAD: usize = 9;
    pub(crate) const IDLE: usize = 10;
    pub(crate) const REPLY: usize = 11;
    pub(crate) const PROFILE: usize = 12;
    pub(crate) const HASH: usize = 13;
    pub(crate) const METRICS: usize = 14;
    pub(crate) const INDOMS: usize = 15;
    pub(crate) const INSTANCES: usize = 16;
    pub(crate) const RECENT: usize = 17;
    pub(crate) const RESULTS: usize = 18;
    /// For the tests of this file.
    #[cfg(test)]
    pub(crate) const TEST: usize = 19;
    /// How many there are.
    pub(crate) const COUNT: usize = 20;
}

/// Nobody holds the lock.
const FREE: u32 = 0;
/// Somebody does.
const HELD: u32 = 1;
/// Somebody does, and others may wait in the kernel.
const WAITED_FOR: u32 = 2;

/// The word of a lock, with a cache line of its own.
#[repr(align(64))]
struct Word(AtomicU32);

static WORDS: [Word; room::COUNT] = [const { Word(AtomicU32::new(FREE)) }; room::COUNT];

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
#[inline(always)]
pub(crate) fn single_threaded() -> bool {
    // SAFETY: the C library's variable lives as long as the process. Only threads change it; as long as it is not 0
    // there is none but this one, so nobody writes it now.
    unsafe { __libc_single_threaded.0.get().read_volatile() != 0 }
}

/// What `Mutex` is made of: the word of its room.
pub(crate) struct Lock<const ROOM: usize>;

// SAFETY: two threads never hold the lock together. With several threads the exchange of the word sees to that. With
// one there is nobody to lock out: that thread cannot start another while it holds the lock, as nothing is locked during
// a call into C (`docs/ARCHITECTURE.md`) and this library starts none; a signal handler on top of it does not get here
// (`mark`); and no function takes a lock twice, which debug builds check (`order`).
unsafe impl<const ROOM: usize> lock_api::RawMutex for Lock<ROOM> {
    const INIT: Lock<ROOM> = Lock;

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        order::taking(ROOM);
        WORDS[ROOM].lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let taken = WORDS[ROOM].try_lock();
        if taken {
            order::taking(ROOM);
        }
        taken
    }

    #[inline]
    unsafe fn unlock(&self) {
        order::freed(ROOM);
        WORDS[ROOM].unlock();
    }
}

impl Word {
    #[inline(always)]
    fn lock(&self) {
        if !single_threaded() && !self.exchange() {
            self.wait();
        }
    }

    fn try_lock(&self) -> bool {
        single_threaded() || self.exchange()
    }

    #[inline(always)]
    fn exchange(&self) -> bool {
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.0.compare_exchange(FREE, HELD, success, failure).is_ok()
    }

    /// Waits for another thread: a moment by asking again, then in the kernel.
    #[cold]
    fn wait(&self) {
        for _ in 0..100 {
            if self.0.load(Ordering::Relaxed) == FREE && self.exchange() {
                return;
            }
            std::hint::spin_loop();
        }
        while self.0.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            // SAFETY: the word lives as long as the process; the kernel compares it, and returns early if it has changed.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    WAITED_FOR,
                    std::ptr::null::<libc::timespec>(),
                )
            };
        }
    }

    #[inline(always)]
    fn unlock(&self) {
        if single_threaded() {
            self.0.store(FREE, Ordering::Relaxed);
        } else if self.0.swap(FREE, Ordering::Release) == WAITED_FOR {
            self.wake();
        }
    }

    /// Wakes one of the threads that wait.
    #[cold]
    fn wake(&self) {
        // SAFETY: the word lives as long as the process, and is only an address here.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                1,
            )
        };
    }
}

/// How often a fork asks for a lock again that the thread itself may hold.
const PATIENCE: u32 = 10_000;

/// Before a fork: takes every lock, so that the child finds nothing half done.
///
/// A signal handler may fork on top of a call: then its thread may hold locks itself, and may be waited for by others. Those
/// are left to the call, which goes on in the child, too, when the handler returns; no other lock is held for so long.
extern "C" fn before() {
    let mut taken = 0;
    if !single_threaded() {
        let inside = mark::is_inside();
        for (room, word) in WORDS.iter().enumerate() {
            let have = if inside { word.insist() } else { word.lock_for_fork() };
            taken |= u32::from(have) << room;
        }
    }
    mark::thread().taken.store(taken, Ordering::Relaxed);
}

impl Word {
    fn lock_for_fork(&self) -> bool {
        self.lock();
        true
    }

    /// Takes the lock unless it stays held for longer than any other thread holds it.
    fn insist(&self) -> bool {
        (0..PATIENCE).any(|_| {
            let have = self.exchange();
            if !have {
                std::thread::yield_now();
            }
            have
        })
    }
}

/// The locks that [`before`] has taken.
fn taken() -> impl Iterator<Item = &'static Word> {
    let taken = mark::thread().taken.swap(0, Ordering::Relaxed);
    let have = move |(room, _): &(usize, &Word)| taken & (1 << room) != 0;
    WORDS.iter().enumerate().filter(have).map(|(_, word)| word)
}

/// Behind a fork, in the parent.
extern "C" fn parent() {
    taken().for_each(Word::unlock);
}

/// Behind a fork, in the child: nobody waits here.
extern "C" fn child() {
    taken().for_each(|word| word.0.store(FREE, Ordering::Relaxed));
}

/// Runs when the library is loaded. The C library takes the handlers back when it is unloaded.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    // SAFETY: three functions without arguments, which stay as long as this library.
    unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
}

/// Debug builds hold each thread to the order of [`room`].
#[cfg(debug_assertions)]
mod order {
    use std::cell::Cell;

    thread_local! {
        static HELD: Cell<u32> = const { Cell::new(0) };
    }

    /// The locks that this thread holds, one bit each.
    #[allow(clippy::disallowed_methods, reason = "debug builds may allocate here")]
    fn held<R>(use_it: impl FnOnce(&Cell<u32>) -> R) -> R {
        HELD.with(use_it)
    }

    pub(crate) fn taking(room: usize) {
        held(|held| {
            assert!(held.get() >> room == 0, "lock {room} is taken behind {:b}", held.get());
            held.set(held.get() | 1 << room);
        });
    }

    pub(crate) fn freed(room: usize) {
        held(|held| held.set(held.get() & !(1 << room)));
    }
}

#[cfg(not(debug_assertions))]
mod order {
    #[inline(always)]
    pub(crate) fn taking(_room: usize) {}
    #[inline(always)]
    pub(crate) fn freed(_room: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-7, H-8: with several threads nothing is lost; a lock that is held cannot be had again.
    #[test]
    fn threads_take_turns() {
        static COUNT: Mutex<u64, { room::TEST }> = const_mutex(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *COUNT.lock() += 1));
            }
        });
        let count = COUNT.lock();
        assert_eq!(*count, 40_000);
        assert!(COUNT.try_lock().is_none());
    }
}
