//! Arrays of label sets, one for each instance, as `pmdaLabel` gives them out.

use std::ffi::c_int;
use std::ptr;

use super::label_set::LabelSet;
use super::memory::Block;
use super::types::pmLabelSet;
use crate::error::{Error, Result};
use crate::libpcp::labels::Sets;

/// An array of label sets that grows; freed with all that is in it unless it is handed over.
pub(crate) struct LabelArray {
    first: *mut pmLabelSet,
    filled: usize,
    room: usize,
}

impl LabelArray {
    /// An empty array with room for some sets.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(room: usize) -> Result<LabelArray> {
        let room = room.max(1);
        let first = Block::<pmLabelSet>::zeroed(room)?.into_raw();
        Ok(LabelArray { first, filled: 0, room })
    }

    /// Adds an empty set, which is there until the array grows.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn push(&mut self) -> Result<LabelSet> {
        if self.filled == self.room {
            self.grow()?;
        }
        // SAFETY: the block has `room` places, all zero at first, which is more than are filled. The sets point to nothing
        // but what is put into them through this view and by the agent, from malloc.
        let set = unsafe { LabelSet::new(self.first.add(self.filled)) };
        self.filled += 1;
        set.ok_or(Error::NOMEM)
    }

    fn grow(&mut self) -> Result<()> {
        let room = self.room.checked_mul(2).ok_or(Error::NOMEM)?;
        let larger = Block::<pmLabelSet>::zeroed(room)?.into_raw();
        // SAFETY: both blocks are ours and the new one is larger; sets may be moved like any other value. The old block is
        // freed without what its sets point to, since that is now in the new one.
        unsafe {
            ptr::copy_nonoverlapping(self.first, larger, self.filled);
            libc::free(self.first.cast());
        }
        (self.first, self.room) = (larger, room);
        Ok(())
    }

    /// The array as libpcp frees it, and the number of its sets.
    pub(crate) fn into_sets(self) -> (Sets, c_int) {
        let array = std::mem::ManuallyDrop::new(self);
        let count = c_int::try_from(array.filled).unwrap_or(c_int::MAX);
        // SAFETY: the array is ours with what its sets point to, in blocks from malloc, and is given up here.
        (unsafe { Sets::own(array.first, count) }, count)
    }
}

impl Drop for LabelArray {
    fn drop(&mut self) {
        let count = c_int::try_from(self.filled).unwrap_or(c_int::MAX);
        // SAFETY: the array is ours with what its sets point to, and libpcp frees such arrays.
        drop(unsafe { Sets::own(self.first, count) });
    }
}
