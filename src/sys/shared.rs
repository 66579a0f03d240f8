//! A lock for each of several things of a kind, that any number of threads may read at once.
//!
//! While a process has one thread, taking and freeing it is a load and a store. With several, those
//! that only read say so in a slot of their own (`readers`): they do not wait for each other, and
//! write nothing that another one reads. That is so as long as the lock is *trusted*: whoever takes
//! it to change something ends the trust, which costs a microsecond, and from then on everybody
//! takes the word of the lock, until it was only read so often that trust pays again.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, Ordering, compiler_fence};

use parking_lot::lock_api::{self, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::sys::lock::{self, const_mutex, order, room};
use crate::sys::readers;
use crate::sys::threads::{self, single_threaded};
use crate::sys::word::Word;

/// A value that threads share. Before it is used it is [`enroll`](Shared::enroll)ed, for the sake
/// of forks.
pub(crate) struct Shared<T>(RwLock<Lock, T>);

impl<T> Shared<T> {
    /// Around a value.
    pub(crate) const fn new(value: T) -> Shared<T> {
        Shared(RwLock::const_new(<Lock as lock_api::RawRwLock>::INIT, value))
    }

    /// Has forks take the lock from now on.
    pub(crate) fn enroll(&'static self) {
        // SAFETY: the raw lock must not be unlocked while somebody holds it; here it is only
        // entered in a list.
        unsafe { self.0.raw() }.enroll();
    }

    /// To look at the value.
    #[inline(always)]
    pub(crate) fn read(&'static self) -> RwLockReadGuard<'static, Lock, T> {
        self.0.read()
    }

    /// Changes it if there is no other thread, without the lock that would then do nothing.
    #[inline(always)]
    pub(crate) fn alone<R>(&'static self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !single_threaded() {
            return None;
        }
        order::taking(room::EACH);
        // SAFETY: with one thread there is nobody to lock out, as in `lock`: none starts before
        // this returns, a signal handler on top of it does not get here (`mark`), and the thread
        // itself has no lock of such a thing already, which debug builds check (`order`). So this
        // is the only reference to the value.
        let result = change(unsafe { &mut *self.0.data_ptr() });
        order::freed(room::EACH);
        Some(result)
    }

    /// To change it.
    #[inline(always)]
    pub(crate) fn write(&'static self) -> RwLockWriteGuard<'static, Lock, T> {
        self.0.write()
    }
}

/// So many reads without a change in between restore trust, the first time, and in the end, as
/// powers of two: it takes twice as many each time.
const FIRST: u8 = 4;
const LAST: u8 = 15;

/// What a [`Shared`] is made of.
pub(crate) struct Lock {
    word: Word,
    /// Readers need no more than their own slot.
    trusted: AtomicBool,
    /// How many reads it takes, a power of two.
    enough: AtomicU8,
    /// Reads since the last change, counted by those who have the word.
    reads: AtomicU16,
    /// The thread whose fork has taken the word, 0 for none.
    forker: AtomicU32,
    /// The one that was enrolled before.
    older: AtomicPtr<Lock>,
}

/// The lock that was enrolled last.
static NEWEST: AtomicPtr<Lock> = AtomicPtr::new(ptr::null_mut());

/// All locks that are enrolled.
pub(super) fn all() -> impl Iterator<Item = &'static Lock> {
    let lock = |place: &AtomicPtr<Lock>| {
        // SAFETY: NULL, or the address of a lock that was enrolled, which takes a reference for
        // ever.
        unsafe { place.load(Ordering::Acquire).as_ref() }
    };
    std::iter::successors(lock(&NEWEST), move |newer| lock(&newer.older))
}

// SAFETY: who holds the lock to change something is alone with it. With one thread, as in `lock`.
// With several, everybody takes the word, of which there is one, unless the lock is trusted and he
// only reads. Then he has stored in his slot that he reads, and after that seen that the lock is
// trusted. Who takes the word to change something ends the trust, and after that looks at all
// slots, having made all processors finish their stores in between: either he finds the reader in
// his slot, and waits, or the reader finds that the lock is not trusted, and takes the word. Trust
// is restored only by one who has the word.
unsafe impl lock_api::RawRwLock for Lock {
    const INIT: Lock = Lock {
        word: Word::new(),
        trusted: AtomicBool::new(false),
        reads: AtomicU16::new(0),
        enough: AtomicU8::new(FIRST),
        forker: AtomicU32::new(0),
        older: AtomicPtr::new(ptr::null_mut()),
    };

    type GuardMarker = lock_api::GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) {
        order::taking(room::EACH);
        if !single_threaded() {
            self.begin_reading();
        }
    }

    fn try_lock_shared(&self) -> bool {
        self.try_lock_exclusive()
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self) {
        order::freed(room::EACH);
        if single_threaded() {
            self.word.give();
        } else {
            self.end_reading();
        }
    }

    #[inline(always)]
    fn lock_exclusive(&self) {
        order::taking(room::EACH);
        if !single_threaded() {
            self.word.take();
            self.begin_changing();
        }
    }

    fn try_lock_exclusive(&self) -> bool {
        let taken = single_threaded() || self.word.try_take();
        if taken {
            order::taking(room::EACH);
            self.begin_changing();
        }
        taken
    }

    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        order::freed(room::EACH);
        self.word.give();
    }
}

impl Lock {
    /// What a thread says of it in its slot.
    #[inline(always)]
    fn address(&self) -> *const () {
        ptr::from_ref(self).cast()
    }

    #[inline(always)]
    fn begin_reading(&self) {
        if let Some(slot) = readers::known_slot() {
            slot.reading.store(self.address().cast_mut(), Ordering::Release);
            // First the slot, then the look at the trust: `readers::wait_for` sees to that in
            // other processors.
            compiler_fence(Ordering::SeqCst);
            if self.trusted.load(Ordering::Acquire) {
                return;
            }
        }
        self.take_to_read();
    }

    /// Takes the word, where a slot is not enough.
    #[inline(never)]
    fn take_to_read(&self) {
        let slot = readers::slot();
        if let Some(slot) = slot {
            slot.reading.store(ptr::null_mut(), Ordering::Release);
        }
        self.word.take();
        if slot.is_some() {
            let reads = self.reads.load(Ordering::Relaxed).wrapping_add(1);
            self.reads.store(reads, Ordering::Relaxed);
            if reads >> self.enough.load(Ordering::Relaxed) != 0 {
                self.trusted.store(true, Ordering::Release);
            }
        }
    }

    #[inline(always)]
    fn end_reading(&self) {
        match readers::known_slot() {
            Some(slot) if ptr::eq(slot.reading.load(Ordering::Relaxed), self.address()) => {
                slot.reading.store(ptr::null_mut(), Ordering::Release);
            }
            _ => self.give_after_reading(),
        }
    }

    #[inline(never)]
    fn give_after_reading(&self) {
        self.word.give();
    }

    /// The word is taken; waits for those who read without it.
    #[inline(always)]
    fn begin_changing(&self) {
        self.reads.store(0, Ordering::Relaxed);
        if self.trusted.load(Ordering::Relaxed) {
            self.end_trust();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_trust(&self) {
        self.trusted.store(false, Ordering::SeqCst);
        let enough = self.enough.load(Ordering::Relaxed);
        self.enough.store((enough + 1).min(LAST), Ordering::Relaxed);
        if !single_threaded() {
            readers::wait_for(self.address());
        }
    }

    fn enroll(&'static self) {
        static ENROLLING: lock::Mutex<(), { room::SHARED }> = const_mutex(());
        let _lock = ENROLLING.lock();
        self.older.store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
        NEWEST.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// Takes the word before a fork. Who only reads is not waited for: he changes nothing, and is
    /// not there in the child.
    pub(super) fn take_for_fork(&self, inside: bool) {
        if self.word.take_for_fork(inside) {
            self.forker.store(threads::thread().number(), Ordering::Relaxed);
        }
    }

    /// Whether the fork of this thread has taken the word, which is asked once.
    fn was_taken(&self) -> bool {
        let taken = self.forker.load(Ordering::Relaxed) == threads::thread().number();
        if taken {
            self.forker.store(0, Ordering::Relaxed);
        }
        taken
    }

    pub(super) fn give_after_fork(&self) {
        if self.was_taken() {
            self.word.give();
        }
    }

    /// In the child of a fork. What this thread was reading when its signal handler forked, it now
    /// holds by the word.
    pub(super) fn start_again(&self, reading: *const ()) {
        let taken = self.was_taken();
        self.word.start_again(taken && !ptr::eq(self.address(), reading));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pmda_core::forever::forever;

    /// CACHE-7, H-8: readers find what one change left, whole, with trust and without; no change is
    /// lost.
    #[test]
    fn readers_and_changes() {
        let shared = forever(Shared::new([0u64; 8])).expect("memory");
        shared.enroll();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                scope.spawn(move || {
                    for round in 0..30_000 {
                        // Long times without a change, and short ones.
                        if round % 2_000 < 40 && round % 8 == thread {
                            shared.write().iter_mut().for_each(|number| *number += 1);
                        } else {
                            let numbers = shared.read();
                            assert!(numbers.iter().all(|number| *number == numbers[0]));
                        }
                    }
                });
            }
        });
        assert_eq!(*shared.read(), [6 * 15 * 5; 8]);
        // SAFETY: nobody holds the lock.
        let lock = unsafe { shared.0.raw() };
        assert!(lock.enough.load(Ordering::Relaxed) > FIRST || readers::slot().is_none());
    }

    /// Each lock is enrolled once, the newest first.
    #[test]
    fn enrolled() {
        let locks: [_; 3] = std::array::from_fn(|number| forever(Shared::new(number)).expect("memory"));
        for shared in locks {
            shared.enroll();
            // SAFETY: nobody holds the lock.
            let lock = unsafe { shared.0.raw() };
            assert_eq!(all().filter(|other| ptr::eq(*other, lock)).count(), 1);
        }
    }
}
