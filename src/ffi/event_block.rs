//! The stored copy of an event.

use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use libc::timeval;

use crate::error::{Error, Result};

/// What stands in front of the data. The alignment makes the data start at a multiple of 16 (QUEUE-12).
#[repr(C, align(16))]
struct Header {
    owners: AtomicUsize,
    when: timeval,
}

/// Time and data of one event, at an address that does not change, with a NUL behind the data (QUEUE-12).
///
/// Decoders and filters may write to both (QUEUE-31), so Rust never makes references to them. A clone is another
/// owner of the same copy: it keeps an event alive while a callback looks at it, even if the queue drops it (E-14).
/// An owner that is lost when a callback leaves with `longjmp` keeps the copy for ever, and harms nothing else.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<Header>,
}

// SAFETY: the block is plain memory from malloc, and the count of its owners is atomic.
unsafe impl Send for Block {}

impl Block {
    /// Copies an event.
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory; `-EINVAL` for NULL where there is something to copy (E-12).
    ///
    /// # Safety
    /// `data` is NULL or readable for `size` bytes; `when` is NULL or points to a `struct timeval`.
    pub(super) unsafe fn copy(data: *const c_void, size: usize, when: *const timeval) -> Result<Block> {
        if when.is_null() || (data.is_null() && size > 0) {
            return Err(Error::INVAL);
        }
        let total = size.checked_add(size_of::<Header>() + 1).ok_or(Error::NOMEM)?;
        // SAFETY: malloc has no preconditions; its blocks are aligned for max_align_t, which the assertion below
        // holds against the header's alignment.
        let start = NonNull::new(unsafe { libc::malloc(total) }.cast::<Header>()).ok_or(Error::NOMEM)?;
        // SAFETY: the block has room for the header, the data and the NUL; it is new, so nothing overlaps.
        unsafe {
            start.write(Header {
                owners: AtomicUsize::new(1),
                when: when.read(),
            });
            let copy = start.add(1).cast::<u8>();
            if size > 0 {
                ptr::copy_nonoverlapping(data.cast::<u8>(), copy.as_ptr(), size);
            }
            copy.add(size).write(0);
        }
        Ok(Block { start })
    }

    /// The data.
    pub(super) fn data(&self) -> *mut c_void {
        // SAFETY: the data follows the header in the same block.
        unsafe { self.start.add(1) }.as_ptr().cast()
    }

    /// The time of the event.
    pub(super) fn when(&self) -> *mut timeval {
        // SAFETY: the block has a header.
        unsafe { &raw mut (*self.start.as_ptr()).when }
    }

    fn owners(&self) -> &AtomicUsize {
        // SAFETY: the block has a header, and callbacks get no pointer to this field of it.
        unsafe { &(*self.start.as_ptr()).owners }
    }
}

/// malloc aligns for every fundamental type.
const _: () = assert!(align_of::<Header>() <= Layout::new::<libc::max_align_t>().align());

impl Clone for Block {
    fn clone(&self) -> Block {
        self.owners().fetch_add(1, Ordering::Relaxed);
        Block { start: self.start }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // The last owner frees; the usual case of a single owner needs no atomic update.
        if self.owners().load(Ordering::Acquire) != 1 {
            if self.owners().fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: the block came from malloc and has no other owner.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}
