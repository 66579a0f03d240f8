//! The locks of all state that C keeps in globals: they cost next to nothing while the process has
//! one thread, allocate nothing, and survive a fork.
//!
//! Nearly every agent has one thread, and takes a lock in each call. Two atomic read-modify-write
//! instructions a call were half of the time of a cache lookup (15 ns, of which 10 for locking and
//! unlocking; `docs/PERFORMANCE.md`). The C library's own `__libc_single_threaded` says when they
//! can be left out.
//!
//! Forks take all locks (`forks`). So each kind of lock has one word in a table ([`ROOMS`]),
//! whatever number of agents there is; the caches, of which each domain has one, have locks of
//! their own (`shared`). That needs the words to be ours: what `parking_lot` keeps for waiting
//! threads is behind its own locks, in memory that it allocates, and so do `std`'s locks keep to
//! themselves.

use parking_lot::lock_api;

use crate::sys::threads::single_threaded;
use crate::sys::word::Word;

/// As `parking_lot::Mutex`; `ROOM` is one of [`room`].
pub(crate) type Mutex<T, const ROOM: usize> = lock_api::Mutex<Lock<ROOM>, T>;

/// A mutex around `value`, for constants.
pub(crate) const fn const_mutex<T, const ROOM: usize>(value: T) -> Mutex<T, ROOM> {
    Mutex::const_new(Lock, value)
}

/// Works on what a mutex guards if there is no other thread: without the lock, which would do
/// nothing.
#[inline(always)]
pub(crate) fn alone<T, R, const ROOM: usize>(
    mutex: &'static Mutex<T, ROOM>,
    work: impl FnOnce(&mut T) -> R,
) -> Option<R> {
    if !single_threaded() {
        return None;
    }
    order::taking(ROOM);
    // SAFETY: with one thread there is nobody to lock out, as in `Lock`: none starts before this
    // returns, a signal handler on top of it does not get here (`mark`), and the thread itself does
    // not hold the lock, which debug builds check (`order`). So this is the only reference to the
    // value.
    let result = work(unsafe { &mut *mutex.data_ptr() });
    order::freed(ROOM);
    Some(result)
}

/// What is locked. All locks of one room are one lock: two agents share those of their records.
///
/// A thread that holds one may take another further down, never one further up: a fork takes all of
/// them in this order.
pub(crate) mod room {
    pub(crate) const SELECTIONS: usize = 0;
    /// To make the cache of a domain. What is in a cache has a lock of its own.
    pub(crate) const CACHES: usize = 1;
    /// To enroll a lock of one thing of several.
    pub(crate) const SHARED: usize = 2;
    /// For the order: these locks of single things, of which a thread holds one at a time.
    pub(crate) const EACH: usize = 3;
    pub(crate) const QUEUES: usize = 4;
    pub(crate) const ARRAYS: usize = 5;
    pub(crate) const HELP: usize = 6;
    pub(crate) const OPTIONS: usize = 7;
    pub(crate) const DYNAMIC_TABLES: usize = 8;
    pub(crate) const FOREIGN_SESSIONS: usize = 9;
    pub(crate) const FOREIGN_STATES: usize = 10;
    pub(crate) const AHEAD: usize = 11;
    pub(crate) const IDLE: usize = 12;
    pub(crate) const REPLY: usize = 13;
    pub(crate) const PROFILE: usize = 14;
    pub(crate) const HASH: usize = 15;
    pub(crate) const METRICS: usize = 16;
    pub(crate) const INDOMS: usize = 17;
    pub(crate) const INSTANCES: usize = 18;
    pub(crate) const RECENT: usize = 19;
    pub(crate) const RESULTS: usize = 20;
    pub(crate) const NAMES: usize = 21;
    /// For the tests of this file.
    #[cfg(test)]
    pub(crate) const TEST: usize = 22;
    /// How many there are.
    pub(crate) const COUNT: usize = 23;
}

/// The lock of a room, with a cache line of its own.
#[repr(align(64))]
pub(super) struct Room(pub(super) Word);

pub(super) static ROOMS: [Room; room::COUNT] = [const { Room(Word::new()) }; room::COUNT];

/// What `Mutex` is made of: the word of its room.
pub(crate) struct Lock<const ROOM: usize>;

// SAFETY: two threads never hold the lock together. With several threads the exchange of the word
// sees to that. With one there is nobody to lock out: that thread cannot start another while it
// holds the lock, as nothing is locked during a call into C (`docs/ARCHITECTURE.md`) and this
// library starts none; a signal handler on top of it does not get here (`mark`); and no function
// takes a lock twice, which debug builds check (`order`).
unsafe impl<const ROOM: usize> lock_api::RawMutex for Lock<ROOM> {
    const INIT: Lock<ROOM> = Lock;

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        order::taking(ROOM);
        if !single_threaded() {
            ROOMS[ROOM].0.take();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let taken = single_threaded() || ROOMS[ROOM].0.try_take();
        if taken {
            order::taking(ROOM);
        }
        taken
    }

    #[inline]
    unsafe fn unlock(&self) {
        order::freed(ROOM);
        ROOMS[ROOM].0.give();
    }
}

/// Debug builds hold each thread to the order of [`room`].
#[cfg(debug_assertions)]
pub(super) mod order {
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
pub(super) mod order {
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
