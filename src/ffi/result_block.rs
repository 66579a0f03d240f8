//! The result of a fetch: one block an agent, used again by each fetch (FETCH-12).
//!
//! The block begins with what C sees of it: callers that are done with an agent free the result like any other, with
//! `pmFreeResult` or `free` (dbpmda does after a store that was refused). So how large it is stands elsewhere.

use std::ptr;

use super::lock::{Mutex, room};
use super::types::{pmValueSet, pmdaResult};
use crate::error::{Error, Result};

/// How many blocks an agent keeps: one for each fetch inside of another. More than these are freed again.
const KEPT: usize = 4;

/// A result with room for a number of value sets, from malloc; NULL without room.
///
/// A callback may start another fetch for the same agent: that one uses another block. The type has no destructor,
/// since a callback may also leave the fetch by `longjmp`; then the block is lost, once.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    result: *mut pmdaResult,
    /// Number of value sets that there is room for.
    capacity: usize,
}

const NONE: Taken = Taken {
    result: ptr::null_mut(),
    capacity: 0,
};

/// The blocks of an agent that no fetch works on; the one that was used last is in front.
pub(super) struct Results(Mutex<[Taken; KEPT], { room::RESULTS }>);

impl Default for Results {
    fn default() -> Results {
        Results(Mutex::new([NONE; KEPT]))
    }
}

// SAFETY: a block belongs to whoever has taken it, which is a move.
unsafe impl Send for Taken {}

impl Results {
    /// Takes a block, made larger when it has no room for `sets` value sets; there is always room for one.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    pub(super) fn take(&self, sets: usize) -> Result<Taken> {
        let block = self.pop();
        if block.capacity >= sets && !block.result.is_null() {
            return Ok(block);
        }
        let more = (sets.max(1) - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let result = size.map_or(ptr::null_mut(), |size| {
            // SAFETY: malloc has no preconditions.
            unsafe { libc::malloc(size) }.cast::<pmdaResult>()
        });
        if result.is_null() {
            self.put_back(block);
            return Err(Error::NOMEM);
        }
        // SAFETY: the old block is ours, from malloc or NULL.
        unsafe { libc::free(block.result.cast()) };
        let capacity = sets.max(1);
        Ok(Taken { result, capacity })
    }

    fn pop(&self) -> Taken {
        let mut blocks = self.0.lock();
        let block = blocks[0];
        blocks.rotate_left(1);
        blocks[KEPT - 1] = NONE;
        block
    }

    /// Gives a block back: the next fetch uses it. What a fetch inside of this one has left stays for the next one
    /// inside of the next.
    pub(super) fn put_back(&self, block: Taken) {
        if block.result.is_null() {
            return;
        }
        let mut blocks = self.0.lock();
        let beyond = blocks[KEPT - 1];
        blocks.rotate_right(1);
        blocks[0] = block;
        drop(blocks);
        // SAFETY: it was taken out of the list, so it is ours alone; a block from malloc or NULL.
        unsafe { libc::free(beyond.result.cast()) };
    }
}

impl Taken {
    /// The result as C sees it.
    pub(super) fn result(self) -> *mut pmdaResult {
        self.result
    }

    /// The place of a value set.
    ///
    /// # Safety
    /// `index` is less than the number of sets asked for.
    pub(super) unsafe fn set(self, index: usize) -> *mut *mut pmValueSet {
        // SAFETY: inside of the block by the contract above.
        unsafe { (&raw mut (*self.result).vset).cast::<*mut pmValueSet>().add(index) }
    }
}
