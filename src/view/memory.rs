//! Blocks from malloc, for everything that C code frees.

use std::ffi::{c_char, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};

use pmda_core::error::{Error, Result};

unsafe extern "C" {
    safe fn malloc(size: usize) -> *mut c_void;
    safe fn calloc(count: usize, size: usize) -> *mut c_void;
}

/// What malloc aligns each block to at least, on all architectures: C's `max_align_t` asks for this
/// on s390x, and for the same or more on others. (That of the crate libc is not C's everywhere.)
pub(crate) const ALIGNMENT: usize = 8;

/// A block from malloc that is freed again unless it is handed over to C with [`Block::into_raw`].
pub(crate) struct Block<T> {
    start: NonNull<T>,
}

impl<T> Block<T> {
    /// Room for `count` elements, all bytes zero; at least one byte, so never NULL.
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory, or the size does not fit.
    pub(crate) fn zeroed(count: usize) -> Result<Block<T>> {
        // calloc checks the product itself.
        let start = calloc(count.max(1), size_of::<T>().max(1));
        NonNull::new(start.cast::<T>())
            .map(|start| Block { start })
            .ok_or(Error::NOMEM)
    }

    /// Room for `count` elements that are still to be written.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn room(count: usize) -> Result<Block<T>> {
        let size = count.max(1).checked_mul(size_of::<T>().max(1)).ok_or(Error::NOMEM)?;
        NonNull::new(malloc(size).cast::<T>())
            .map(|start| Block { start })
            .ok_or(Error::NOMEM)
    }

    /// The first element.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// A block with one value in it.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn holding(value: T) -> Result<Block<T>> {
        let mut block = Block::room(1)?;
        block.put(value);
        Ok(block)
    }

    /// Puts a value at the start of the block. What was there is not dropped.
    pub(crate) fn put(&mut self, value: T) -> &mut T {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        // SAFETY: the block has room for one element at least, is aligned as malloc does it, and
        // belongs to nobody else.
        let place: &mut MaybeUninit<T> = unsafe { self.start.cast().as_mut() };
        place.write(value)
    }

    /// Puts a value at the start of the block, which is never freed.
    pub(crate) fn leak(mut self, value: T) -> &'static T {
        self.put(value);
        // SAFETY: the value that was just written; the block belongs to nobody else, and stays for
        // ever.
        unsafe { &*self.into_raw() }
    }

    /// Hands the block over: the receiver frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).start.as_ptr()
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // SAFETY: a block is made of what calloc or malloc has given, and one that was handed over
        // is not dropped: so it is freed once.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// A copy of `text` with a NUL behind it, in a block of its own.
///
/// # Errors
/// `-ENOMEM` when there is no memory.
pub(crate) fn string(text: &[u8]) -> Result<Block<c_char>> {
    let size = text.len().checked_add(1).ok_or(Error::NOMEM)?;
    let block = Block::<c_char>::room(size)?;
    // SAFETY: the new block has room for the text and the NUL, and cannot overlap with the text.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), block.as_ptr(), text.len());
        block.as_ptr().add(text.len()).write(0);
    }
    Ok(block)
}
