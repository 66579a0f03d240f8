//! The result of a fetch: one block an agent, used again by each fetch (FETCH-12).

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::types::{pmValueSet, pmdaResult};
use crate::error::{Error, Result};

/// A result with room for a number of value sets, from malloc. C sees `result`; the library alone frees the block.
#[repr(C)]
pub(crate) struct ResultBlock {
    /// Number of value sets that there is room for.
    capacity: usize,
    result: pmdaResult,
}

/// A block that was taken out of its agent's record for the time of one fetch.
///
/// A callback may start another fetch for the same agent: that one finds no block, and uses one of its own. The type
/// has no destructor, since a callback may also leave the fetch by `longjmp`; then the block is lost, once.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    block: *mut ResultBlock,
}

impl Taken {
    /// Takes the block of an agent, made larger when it has no room for `sets` value sets; there is always room for one.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    pub(super) fn new(home: &AtomicPtr<ResultBlock>, sets: usize) -> Result<Taken> {
        let block = home.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a block in a record is a valid one, and whoever has swapped it out owns it.
        if !block.is_null() && unsafe { (*block).capacity } >= sets {
            return Ok(Taken { block });
        }
        let more = (sets.max(1) - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<ResultBlock>()));
        let larger = size.map_or(ptr::null_mut(), |size| {
            // SAFETY: malloc has no preconditions.
            unsafe { libc::malloc(size) }.cast::<ResultBlock>()
        });
        if larger.is_null() {
            Taken { block }.put_back(home);
            return Err(Error::NOMEM);
        }
        // SAFETY: the new block has room for a ResultBlock; the old one is ours, from malloc or NULL.
        unsafe {
            (*larger).capacity = sets.max(1);
            libc::free(block.cast());
        }
        Ok(Taken { block: larger })
    }

    /// The result as C sees it.
    pub(super) fn result(self) -> *mut pmdaResult {
        // SAFETY: only the address of a field of a valid block is computed.
        unsafe { &raw mut (*self.block).result }
    }

    /// The place of a value set.
    ///
    /// # Safety
    /// `index` is less than the number of sets asked for.
    pub(super) unsafe fn set(self, index: usize) -> *mut *mut pmValueSet {
        // SAFETY: inside of the block by the contract above.
        unsafe { (&raw mut (*self.result()).vset).cast::<*mut pmValueSet>().add(index) }
    }

    /// Gives the block back. A fetch inside of this one may have left a block of its own; its result has been used up
    /// by now.
    pub(super) fn put_back(self, home: &AtomicPtr<ResultBlock>) {
        let other = home.swap(self.block, Ordering::AcqRel);
        // SAFETY: it was swapped out of the record, so it is ours alone; a block from malloc or NULL.
        unsafe { libc::free(other.cast()) };
    }
}
