//! Arrays that grow in a block from malloc, for everything that C takes over or looks into.

use std::ptr;

use super::memory::Block;
use crate::error::{Error, Result};

/// An array in a block from malloc. It is freed with its block unless it is handed over to C; what
/// its elements point to is not freed.
pub(crate) struct CVec<T: Copy> {
    block: Block<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> CVec<T> {
    /// An empty array with room for some elements, all bytes of the block zero.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_capacity(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        let block = Block::zeroed(capacity)?;
        Ok(CVec {
            block,
            len: 0,
            capacity,
        })
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends an element, and gives its address, which is good until the array grows.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    pub(crate) fn push(&mut self, element: T) -> Result<*mut T> {
        let place = self.room()?;
        // SAFETY: `room` has made sure that this place is in the block, and is not an element yet.
        unsafe { place.write(element) };
        self.len += 1;
        Ok(place)
    }

    /// Appends an element with all bytes zero, and gives its address, which is good until the array
    /// grows. C fills it in.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    pub(crate) fn push_zeroed(&mut self) -> Result<*mut T>
    where
        T: Zeroed,
    {
        let place = self.room()?;
        // SAFETY: as in `push`; a T may be all zero, as `Zeroed` promises.
        unsafe { place.write_bytes(0, 1) };
        self.len += 1;
        Ok(place)
    }

    /// The place behind the last element, in a larger block when there is none left.
    fn room(&mut self) -> Result<*mut T> {
        if self.len == self.capacity {
            let capacity = self.capacity.checked_mul(2).ok_or(Error::NOMEM)?;
            let larger = Block::zeroed(capacity)?;
            // SAFETY: the larger block has room for all elements of the old one, and is another block.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.len) };
            self.block = larger;
            self.capacity = capacity;
        }
        // SAFETY: the block has `capacity` places, which is more than `len`.
        Ok(unsafe { self.block.as_ptr().add(self.len) })
    }

    /// The elements as C sees them.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.block.as_ptr()
    }

    /// Hands the block over: whoever gets the pointer frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        self.block.into_raw()
    }
}

/// Types of C that may be all zero.
///
/// # Safety
/// A value whose bytes are all zero is valid.
pub(crate) unsafe trait Zeroed: Copy {
    /// The value whose bytes are all zero.
    #[inline(always)]
    fn zeroed() -> Self {
        // SAFETY: the contract of the trait.
        unsafe { std::mem::zeroed() }
    }
}

/// Says of plain structures of C that they may be all zero.
macro_rules! zeroed {
    ($($type:ty),*) => { $(
        // SAFETY: numbers, unions of numbers, and pointers and functions that may be NULL.
        unsafe impl Zeroed for $type {}
    )* };
}

zeroed!(
    super::types::pmdaMetric,
    super::types::pmDesc,
    super::types::pmAtomValue,
    super::types::pmLabelSet,
    super::types::pmLabel,
    super::types::pmdaInstid,
    super::types::pmdaIndom
);
