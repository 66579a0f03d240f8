//! Blocks from malloc, for everything that C code frees.

use std::ffi::c_char;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crate::error::{Error, Result};

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
        // SAFETY: calloc has no preconditions; it checks the product itself.
        let start = unsafe { libc::calloc(count.max(1), size_of::<T>().max(1)) };
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
        // SAFETY: malloc has no preconditions.
        let start = unsafe { libc::malloc(size) };
        NonNull::new(start.cast::<T>())
            .map(|start| Block { start })
            .ok_or(Error::NOMEM)
    }

    /// The first element.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// Puts a value at the start of the block, which is never freed.
    pub(crate) fn leak(self, value: T) -> &'static T {
        let start = self.into_raw();
        // SAFETY: the block has room for one element at least, is aligned for it as the users of this type see to, belongs
        // to nobody else, and stays for ever.
        unsafe {
            start.write(value);
            &*start
        }
    }

    /// Hands the block over: whoever gets the pointer frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).start.as_ptr()
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // SAFETY: the block came from calloc or malloc and was not handed over.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// A copy of `text` with a NUL behind it, in a block of its own.
///
/// # Errors
/// `-ENOMEM` when there is no memory.
pub(crate) fn string(text: &[u8]) -> Result<Block<c_char>> {
    let size = text.len().checked_add(1).ok_or(Error::NOMEM)?;
    // SAFETY: malloc has no preconditions.
    let start = NonNull::new(unsafe { libc::malloc(size) }.cast::<c_char>()).ok_or(Error::NOMEM)?;
    // SAFETY: the new block has room for the text and the NUL, and cannot overlap with the text.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), start.as_ptr(), text.len());
        start.as_ptr().add(text.len()).write(0);
    }
    Ok(Block { start })
}
