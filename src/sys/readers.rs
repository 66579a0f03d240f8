//! Threads that read what a [`shared`](super::shared) lock guards say so in a slot of their own,
//! which costs them two plain stores. Who wants to change it asks the kernel to make all processors
//! finish their stores, and then looks at all slots.

use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use crate::sys::libpcp::cancel;
use crate::sys::threads::{self, ReaderSlot, Thread};

/// How many threads have a slot: those that come later take locks to read.
const SLOTS: usize = 64;

static ALL: [ReaderSlot; SLOTS] = [const { ReaderSlot::new() }; SLOTS];

/// How many of them were ever given away.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// Whether the kernel makes processors finish their stores; `UNKNOWN` until it was asked.
static BARRIER: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const USABLE: u8 = 1;
const UNUSABLE: u8 = 2;

/// For threads that get none.
static NO_SLOT: ReaderSlot = ReaderSlot::new();

/// The slot of this thread, if it has asked for one and got it.
#[inline(always)]
pub(super) fn known_slot() -> Option<&'static ReaderSlot> {
    noted(threads::thread()).filter(|slot| !ptr::eq(*slot, &NO_SLOT))
}

/// The slot of this thread, if it can have one.
pub(super) fn slot() -> Option<&'static ReaderSlot> {
    let thread = threads::thread();
    let slot = noted(thread).unwrap_or_else(|| ask(thread));
    (!ptr::eq(slot, &NO_SLOT)).then_some(slot)
}

/// What a thread has got when it asked.
#[inline(always)]
fn noted(thread: &Thread) -> Option<&'static ReaderSlot> {
    // SAFETY: NULL, or one of the slots above, as `ask` stores them.
    unsafe { thread.slot.load(Ordering::Relaxed).as_ref() }
}

/// Asks for a slot, for good.
#[cold]
#[inline(never)]
fn ask(thread: &Thread) -> &'static ReaderSlot {
    let found = if is_usable() { find(thread) } else { None };
    let slot = found.unwrap_or(&NO_SLOT);
    thread.slot.store(ptr::from_ref(slot).cast_mut(), Ordering::Relaxed);
    slot
}

fn find(thread: &Thread) -> Option<&'static ReaderSlot> {
    let me = ptr::from_ref(thread).cast_mut();
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    let (at, slot) = ALL.iter().enumerate().find(|(_, slot)| {
        let free = slot.owner.compare_exchange(ptr::null_mut(), me, success, failure);
        free.is_ok() || free == Err(me)
    })?;
    GIVEN.fetch_max(at + 1, Ordering::SeqCst);
    Some(slot)
}

/// Whether [`barrier`] can be had.
fn is_usable() -> bool {
    if BARRIER.load(Ordering::Relaxed) == UNKNOWN {
        let usable = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        BARRIER.store(if usable { USABLE } else { UNUSABLE }, Ordering::Relaxed);
    }
    BARRIER.load(Ordering::Relaxed) == USABLE
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: a system call that takes numbers, and touches no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Returns when all threads have finished the stores that they had made, and see those of this one.
fn barrier() {
    while !membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
        // It was registered, so only a filter of system calls that came later can refuse it: what a
        // processor has yet to store is stored long before a millisecond is over.
        if !membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
            cancel::disabled(|| std::thread::sleep(Duration::from_millis(1)));
            return;
        }
    }
}

/// Waits until nobody reads what a lock guards. Who begins to do so sees what this thread has
/// stored before.
#[cold]
#[inline(never)]
pub(super) fn wait_for(lock: *const ()) {
    barrier();
    let given = GIVEN.load(Ordering::SeqCst);
    for slot in &ALL[..given] {
        let mut rounds = 0;
        while ptr::eq(slot.reading.load(Ordering::Acquire), lock) {
            rounds += 1;
            if rounds < 100 {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// In a forked child: forgets all other threads. Gives what this thread was reading when a signal
/// handler of it forked.
pub(super) fn start_again() -> *const () {
    let me = ptr::from_ref(threads::thread()).cast_mut();
    let mut reading = ptr::null_mut();
    for slot in &ALL {
        let was = slot.reading.swap(ptr::null_mut(), Ordering::Relaxed);
        if slot.owner.load(Ordering::Relaxed) == me {
            reading = was;
        } else {
            slot.owner.store(ptr::null_mut(), Ordering::Relaxed);
        }
    }
    reading
}
