//! The result of a fetch: one block an agent, used again by each fetch (FETCH-12).
//!
//! The block begins with what C sees of it: callers that are done with an agent free the result like any other, with
//! `pmFreeResult` or `free` (dbpmda does after a store that was refused). So how large it is stands elsewhere.

use std::ffi::c_int;
use std::ptr;

use super::types::{pmValueSet, pmdaResult, timeval};
use super::value_set;
use crate::error::{Error, Result};
use crate::os::lock::{Mutex, room};

/// How many blocks an agent keeps: one for each fetch inside of another. More than these are freed again.
const KEPT: usize = 4;

/// A block from malloc with room for a number of value sets; NULL without room.
#[derive(Clone, Copy)]
struct Room {
    result: *mut pmdaResult,
    /// Number of value sets that there is room for.
    capacity: usize,
}

const NONE: Room = Room {
    result: ptr::null_mut(),
    capacity: 0,
};

/// The blocks of an agent that no fetch works on; the one that was used last is in front.
pub(crate) struct Results(Mutex<[Room; KEPT], { room::RESULTS }>);

impl Default for Results {
    fn default() -> Results {
        Results(Mutex::new([NONE; KEPT]))
    }
}

// SAFETY: a block belongs to whoever has taken it, which is a move.
unsafe impl Send for Room {}

/// A time stamp that begins with these bytes, and is zero behind them (FETCH-60).
pub(crate) fn time_from(bytes: [u8; 8]) -> timeval {
    const { assert!(size_of::<timeval>() >= 8) };
    let mut stamp = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: the structure has room for the bytes, as was asserted, and any bytes make two numbers.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut stamp).cast(), bytes.len()) };
    stamp
}

/// A result that a fetch fills in. It owns its block, but has no destructor: a callback may leave by `longjmp`, and
/// then the block is lost, once. A fetch inside of this one uses another block.
pub(crate) struct ResultBlock {
    room: Room,
    /// How many value sets were filled in.
    filled: usize,
}

impl ResultBlock {
    /// No block.
    pub(crate) const NONE: ResultBlock = ResultBlock { room: NONE, filled: 0 };

    /// Fills in the head.
    pub(crate) fn begin(&mut self, stamp: timeval, numpmid: c_int) {
        let result = self.room.result;
        if !result.is_null() {
            // SAFETY: not NULL, hence a block of ours with room for a result.
            unsafe {
                (*result).timestamp = stamp;
                (*result).numpmid = numpmid;
            }
        }
    }

    /// Fills in the next value set.
    ///
    /// # Panics
    /// When there is no room.
    #[inline]
    pub(crate) fn push(&mut self, set: *mut pmValueSet) {
        assert!(self.filled < self.room.capacity, "{} value sets", self.filled);
        // SAFETY: the block has room for `capacity` sets, which is more than are filled in.
        unsafe {
            let sets = (&raw mut (*self.room.result).vset).cast::<*mut pmValueSet>();
            sets.add(self.filled).write(set);
        }
        self.filled += 1;
    }

    /// Frees the value sets that were filled in.
    pub(crate) fn free_sets(&mut self) {
        let result = self.room.result;
        if result.is_null() {
            return;
        }
        // SAFETY: not NULL, hence a block of ours, whose first `filled` sets were made by the fetch that frees them.
        unsafe {
            (*result).numpmid = c_int::try_from(self.filled).unwrap_or(c_int::MAX);
            let sets = (&raw const (*result).vset).cast::<*mut pmValueSet>();
            for index in 0..self.filled {
                value_set::free(sets.add(index).read());
            }
        }
        self.filled = 0;
    }

    /// The result as C sees it.
    pub(crate) fn as_ptr(&self) -> *mut pmdaResult {
        self.room.result
    }
}

impl Results {
    /// Takes a block, made larger when it has no room for `sets` value sets; there is always room for one.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    #[inline]
    pub(crate) fn take(&self, sets: usize) -> Result<ResultBlock> {
        let room = self.pop();
        if room.capacity >= sets && !room.result.is_null() {
            return Ok(ResultBlock { room, filled: 0 });
        }
        self.larger(room, sets)
    }

    /// A block with room for more value sets than the one that there is.
    #[cold]
    fn larger(&self, room: Room, sets: usize) -> Result<ResultBlock> {
        let more = (sets.max(1) - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let result = size.map_or(ptr::null_mut(), |size| {
            // SAFETY: malloc has no preconditions.
            unsafe { libc::malloc(size) }.cast::<pmdaResult>()
        });
        if result.is_null() {
            self.put_back(&mut ResultBlock { room, filled: 0 });
            return Err(Error::NOMEM);
        }
        // SAFETY: the old block is ours, from malloc or NULL.
        unsafe { libc::free(room.result.cast()) };
        let capacity = sets.max(1);
        Ok(ResultBlock {
            room: Room { result, capacity },
            filled: 0,
        })
    }

    fn pop(&self) -> Room {
        let mut blocks = self.0.lock();
        let block = blocks[0];
        blocks.rotate_left(1);
        blocks[KEPT - 1] = NONE;
        block
    }

    /// Gives a block back: the next fetch uses it. What a fetch inside of this one has left stays for the next one
    /// inside of the next.
    #[inline]
    pub(crate) fn put_back(&self, block: &mut ResultBlock) {
        let room = std::mem::replace(&mut block.room, NONE);
        if room.result.is_null() {
            return;
        }
        let mut blocks = self.0.lock();
        let beyond = blocks[KEPT - 1];
        blocks.rotate_right(1);
        blocks[0] = room;
        drop(blocks);
        // SAFETY: it was taken out of the list, so it is ours alone; a block from malloc or NULL.
        unsafe { libc::free(beyond.result.cast()) };
    }
}
