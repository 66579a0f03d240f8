//! The copy of an event that a queue stores: time and data in one block from malloc.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::printed;
use crate::sys::refusal::{Refusable, Refusal};
use crate::view::memory;
use crate::view::types::timeval;
use pmda_core::error::{Error, Result};
use pmda_core::queue::{Excerpt, Payload};

/// The start of a block, in front of the data.
#[repr(C)]
pub(crate) struct EventHeader {
    when: timeval,
    /// Number of bytes from the offset `DATA` on, for the data and a NUL.
    capacity: usize,
}

/// Offset of the data in a block, in bytes. It is a multiple of 16, so that the data are aligned as
/// a block of malloc is, up to 16 (QUEUE-12).
const DATA: usize = size_of::<EventHeader>().next_multiple_of(16);

/// The capacity is a multiple of this, in bytes, so that events of nearly the same size can use one
/// block after another.
const STEP: usize = 32;

/// An event as an agent hands it over.
#[derive(Clone, Copy)]
pub(crate) struct NewEvent<'call> {
    data: *const c_void,
    size: usize,
    when: *const timeval,
    call: PhantomData<&'call timeval>,
}

impl<'call> NewEvent<'call> {
    /// The event that two pointers lead to. Nothing is read yet.
    ///
    /// # Safety
    /// `data` is NULL or readable for `size` bytes, `when` is NULL or points to a `struct timeval`
    /// at any address, until the event was copied. Both stay unchanged until then.
    pub(crate) unsafe fn new(data: *const c_void, size: usize, when: *const timeval) -> NewEvent<'call> {
        NewEvent {
            data,
            size,
            when,
            call: PhantomData,
        }
    }

    /// The number of bytes of data.
    pub(crate) fn size(self) -> usize {
        self.size
    }
}

/// The time and data of one event, at an address that does not change, with a NUL after the data
/// (QUEUE-12).
///
/// The agent's decoders and filters get the address, and may write to both (QUEUE-31). So Rust
/// never makes a reference to them: all access is by pointer.
#[derive(Debug)]
pub(crate) struct EventBlock {
    start: NonNull<EventHeader>,
}

// SAFETY: the block is memory from malloc, which any thread may use and free. No other value owns
// it, and C has its address only during a call of a decoder or filter.
unsafe impl Send for EventBlock {}

impl EventBlock {
    /// The capacity for data and NUL, in bytes. Callbacks get pointers to the time and the data
    /// only, so they do not change this.
    fn capacity(&self) -> usize {
        // SAFETY: `instead` has written the header, and no reference to it exists.
        unsafe { (&raw const (*self.start.as_ptr()).capacity).read() }
    }

    /// Copies an event, into the block `old` if that is large enough, and not much too large.
    /// Otherwise `old` is freed.
    ///
    /// # Errors
    /// `-EINVAL` for a NULL time, and for NULL data with a size (E-12); `-ENOMEM`.
    pub(crate) fn copy(old: Option<EventBlock>, event: NewEvent<'_>) -> Refusable<EventBlock> {
        let NewEvent { data, size, when, .. } = event;
        if when.is_null() {
            return Err(Refusal::of(&"tv", Error::EINVAL));
        }
        if data.is_null() && size > 0 {
            return Err(Refusal::of(&"data", Error::EINVAL));
        }
        let block = match old {
            Some(old) if old.capacity() > size && old.capacity() / 2 <= size + STEP => old,
            old => EventBlock::instead(old, size)?,
        };
        // SAFETY: the block has room for more than `size` bytes from `DATA` on. This function owns
        // it, so it does not overlap with the event, whose time and `size` bytes of data are
        // readable by the contract of `NewEvent::new`.
        unsafe {
            (*block.start.as_ptr()).when = when.read_unaligned();
            let copy = block.start.as_ptr().cast::<u8>().add(DATA);
            if size > 0 {
                ptr::copy_nonoverlapping(data.cast::<u8>(), copy, size);
            }
            copy.add(size).write(0);
        }
        Ok(block)
    }

    /// A block for `size` bytes and a NUL, in place of one that is too small, which is freed first.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    fn instead(old: Option<EventBlock>, size: usize) -> Result<EventBlock> {
        drop(old);
        let capacity = size.checked_add(1).and_then(|size| size.checked_next_multiple_of(STEP));
        let total = capacity.and_then(|capacity| capacity.checked_add(DATA));
        let (Some(capacity), Some(total)) = (capacity, total) else {
            return Err(Error::ENOMEM);
        };
        let start = memory::Block::<u8>::uninit(total)?.into_raw().cast::<EventHeader>();
        let when = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the block has room for the header, and malloc aligns for it, as is asserted
        // below.
        unsafe { start.write(EventHeader { when, capacity }) };
        NonNull::new(start)
            .map(|start| EventBlock { start })
            .ok_or(Error::ENOMEM)
    }
}

const _: () = assert!(align_of::<EventHeader>() <= memory::ALIGNMENT);

impl Drop for EventBlock {
    fn drop(&mut self) {
        // SAFETY: `instead` has got the block from malloc, and no other value owns it: it is freed
        // once.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// The time and data of an event, for the calls of a fetch. The fetch keeps the [`EventBlock`]
/// alive: it is in the backlog or among the events that the fetch returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventView {
    start: NonNull<EventHeader>,
}

impl EventView {
    /// The data, for a decoder or filter.
    pub(crate) fn data(self) -> *mut c_void {
        self.start.as_ptr().wrapping_byte_add(DATA).cast()
    }

    /// The beginning of the data, which have `size` bytes, for debug output.
    pub(crate) fn excerpt(self, size: usize) -> Excerpt {
        Excerpt::new(size, |buffer| {
            let len = buffer.len().min(size);
            // SAFETY: the fetch keeps the block alive, and it holds `size` bytes of data. `buffer`
            // is memory of the excerpt, so the two do not overlap.
            unsafe { ptr::copy_nonoverlapping(self.data().cast::<u8>(), buffer.as_mut_ptr(), len) };
            for byte in &mut buffer[..len] {
                *byte = printed(*byte);
            }
            len
        })
    }

    /// The time, for a decoder.
    pub(crate) fn when(self) -> *mut timeval {
        const { assert!(std::mem::offset_of!(EventHeader, when) == 0) };
        self.start.as_ptr().cast()
    }
}

impl Payload for EventBlock {
    type EventData = EventView;
    const KEPT: usize = 1 << 18;

    fn view(&self) -> EventView {
        EventView { start: self.start }
    }

    fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    fn excerpt(view: EventView, size: usize) -> Excerpt {
        view.excerpt(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block is used again for an event that fits, but a large one not for a small event.
    #[test]
    fn used_again() {
        let when = timeval { tv_sec: 1, tv_usec: 2 };
        let data = [b'x'; 4000];
        let copy = |old: Option<EventBlock>, size: usize| {
            // SAFETY: both stay as long as this function, and the data are longer than each size.
            let event = unsafe { NewEvent::new(data.as_ptr().cast(), size, &raw const when) };
            let block = EventBlock::copy(old, event).expect("memory");
            assert!(block.capacity() > size);
            block
        };
        let block = copy(None, 3000);
        let start = block.start;
        let block = copy(Some(block), 2000);
        assert_eq!(block.start, start);
        let small = copy(Some(block), 10);
        assert!(small.capacity() < 100, "{}", small.capacity());
        assert!(copy(Some(small), 4000).capacity() < 4100);
    }
}
