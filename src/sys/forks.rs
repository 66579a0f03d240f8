//! A fork copies one thread and all locks, also those that other threads hold. So all of them are
//! taken before it, and freed behind it, in the child as well.

use std::sync::atomic::Ordering;

use crate::sys::lock::{ROOMS, room};
use crate::sys::mark;
use crate::sys::readers;
use crate::sys::shared;
use crate::sys::threads::{self, single_threaded};
use crate::sys::word::Word;

/// Before a fork: takes every lock, in the order of [`room`], so that the child finds nothing half
/// done.
///
/// A signal handler may fork on top of a call: then its thread may hold locks itself, and may be
/// waited for by others. Those are left to the call, which goes on in the child, too, when the
/// handler returns; no other lock is held for so long.
extern "C" fn before() {
    let mut taken = 0;
    if !single_threaded() {
        let inside = mark::is_inside();
        for (room, word) in ROOMS.iter().enumerate() {
            if room == room::EACH {
                // No other is made now.
                shared::all().for_each(|lock| lock.take_for_fork(inside));
            }
            taken |= u32::from(word.0.take_for_fork(inside)) << room;
        }
    }
    threads::thread().taken.store(taken, Ordering::Relaxed);
}

/// The locks of the rooms, and whether [`before`] has taken them.
fn rooms() -> impl Iterator<Item = (&'static Word, bool)> {
    let taken = threads::thread().taken.swap(0, Ordering::Relaxed);
    let words = ROOMS.iter().enumerate();
    words.map(move |(room, word)| (&word.0, taken & (1 << room) != 0))
}

/// Behind a fork, in the parent.
extern "C" fn parent() {
    shared::all().for_each(shared::Lock::give_after_fork);
    let taken = rooms().filter(|(_, taken)| *taken);
    taken.for_each(|(word, _)| word.give());
}

/// Behind a fork, in the child: nobody else is here.
extern "C" fn child() {
    let reading = readers::start_again();
    shared::all().for_each(|lock| lock.start_again(reading));
    rooms().for_each(|(word, taken)| word.start_again(taken));
}

/// Runs when the library is loaded. The C library takes the handlers back when it is unloaded.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without
// any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    // SAFETY: three functions without arguments. They stay as long as this library, with which the
    // C library forgets them.
    unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
}
