//! What is left of the library when it is unloaded.
//!
//! dbpmda and pmcd close the shared object of an agent, and with the last agent this library goes,
//! and its variables with it. Nothing is freed then: what agents have attached hangs on what the
//! caches hold. All that leads there afterwards is the `pmdaExt`, if the host still has it, and
//! whatever pointer into the middle of a block lies about, for which valgrind says "possibly lost".
//! So at unload the variables that lead to memory are copied into a block that each agent's record
//! leads to.

use std::mem::size_of;

use crate::cache::domains;
use crate::dynamic::exports;
use crate::events;
use crate::help;
use crate::queues;
use crate::record;
use crate::sys::lock::Mutex;
use crate::sys::mark;
use crate::view::memory::Block;
use crate::view::tree;

/// Runs when the library is unloaded, and when the process ends.
// SAFETY: the loader calls what stands in this section once, and expects no arguments to be taken.
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADED: extern "C" fn() = unloaded;

extern "C" fn unloaded() {
    // A signal handler that ends the process on top of a call may hold locks itself. Without a
    // record there is nothing that the copy could hang on.
    if mark::is_inside() || !record::are_any() {
        return;
    }
    let mut size = 0;
    each(|_, length| size += length);
    if size == 0 {
        return;
    }
    let Ok(block) = Block::<u8>::zeroed(size) else { return };
    let (start, mut end) = (block.as_ptr(), 0);
    each(|variable, length| {
        // Another thread may have made a first cache meanwhile.
        if length <= size - end {
            // SAFETY: the variable is locked, so that nobody writes to it, and as long as `each`
            // says. That many bytes of the block are left behind `end`, as was looked at just now.
            unsafe { std::ptr::copy_nonoverlapping(variable, start.add(end), length) };
            end += length;
        }
    });
    record::leave_behind(block.into_raw().cast());
}

/// All variables that lead to memory: where they are, and their length, a multiple of that of a
/// pointer.
fn each(mut work: impl FnMut(*const u8, usize)) {
    if domains::NEWEST.get().is_some() {
        work((&raw const domains::NEWEST).cast(), size_of_val(&domains::NEWEST));
    }
    variable(&help::DATABASES, |databases| !databases.is_empty(), &mut work);
    variable(&events::ARRAYS, |arrays| !arrays.is_empty(), &mut work);
    variable(&queues::QUEUES, |queues| !queues.is_empty(), &mut work);
    variable(&tree::INDEXES, |indexes| !indexes.is_empty(), &mut work);
    if !exports::GLOBAL.snapshot().is_empty() {
        work((&raw const exports::GLOBAL).cast(), size_of_val(&exports::GLOBAL));
    }
}

fn variable<T, const ROOM: usize>(
    variable: &'static Mutex<T, ROOM>,
    leads_to_memory: impl Fn(&T) -> bool,
    work: &mut impl FnMut(*const u8, usize),
) {
    const { assert!(size_of::<T>() % size_of::<usize>() == 0) };
    if let Some(held) = variable.try_lock() {
        if leads_to_memory(&held) {
            work((&raw const *held).cast(), size_of::<T>());
        }
    }
}
