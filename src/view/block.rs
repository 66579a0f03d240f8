//! Arrays that grow in a block from malloc, for everything that C takes over or looks into.

use std::mem::MaybeUninit;
use std::ptr;

use crate::view::memory::Block;
use pmda_core::error::{Error, Result};

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

    /// An empty array with room for some elements, which are still to be written.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_room(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        let block = Block::room(capacity)?;
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
        let place: *mut T = self.spare()?.write(element);
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
        self.push(T::zeroed())
    }

    /// Appends elements with all bytes zero until there are `len`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn pad(&mut self, len: usize) -> Result<()>
    where
        T: Zeroed,
    {
        while self.len < len {
            self.push_zeroed()?;
        }
        Ok(())
    }

    /// The place behind the last element, in a larger block when there is none left.
    fn spare(&mut self) -> Result<&mut MaybeUninit<T>> {
        if self.len == self.capacity {
            let capacity = self.capacity.checked_mul(2).ok_or(Error::NOMEM)?;
            let larger = Block::zeroed(capacity)?;
            // SAFETY: the larger block has room for all elements of the old one, and is another
            // block.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.len) };
            self.block = larger;
            self.capacity = capacity;
        }
        // SAFETY: the block is ours alone, and has `capacity` places, which is more than `len`.
        Ok(unsafe { &mut *self.block.as_ptr().add(self.len).cast() })
    }

    /// The elements.
    pub(crate) fn entries(&self) -> &[T] {
        // SAFETY: the block is ours, and its first `len` elements were written.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.len) }
    }

    /// The elements as C sees them.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.block.as_ptr()
    }

    /// The block without its count.
    pub(crate) fn into_block(self) -> Block<T> {
        self.block
    }

    /// Hands the block over: the receiver frees it with `free()`.
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
        // SAFETY: an `unsafe impl` of the trait promises that zeros are a value of its type.
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
    crate::view::types::pmdaMetric,
    crate::view::types::pmDesc,
    crate::view::types::pmAtomValue,
    crate::view::types::pmLabelSet,
    crate::view::types::pmLabel,
    crate::view::types::pmdaInstid,
    crate::view::types::pmdaIndom
);
