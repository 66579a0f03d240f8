//! The stored copy of an event.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::view::memory;
use crate::view::types::timeval;
use pmda_core::error::{Error, Result};
use pmda_core::queue::{Excerpt, Payload};

#[repr(C)]
pub(crate) struct EventHeader {
    when: timeval,
    /// Bytes behind the header.
    room: usize,
}

/// Offset of the data in a block, which is aligned as the block is, up to 16 (QUEUE-12).
const DATA: usize = size_of::<EventHeader>().next_multiple_of(16);

/// The room is a multiple of this, so that events of nearly the same size can use one block.
const STEP: usize = 32;

/// An event of C's.
#[derive(Clone, Copy)]
pub(crate) struct NewEvent<'call> {
    data: *const c_void,
    size: usize,
    when: *const timeval,
    call: PhantomData<&'call timeval>,
}

impl<'call> NewEvent<'call> {
    /// The event behind two pointers, not read yet.
    ///
    /// # Safety
    /// `data` is NULL or readable for `size` bytes, `when` is NULL or points to a `struct timeval`,
    /// until the event was copied.
    pub(crate) unsafe fn new(data: *const c_void, size: usize, when: *const timeval) -> NewEvent<'call> {
        NewEvent {
            data,
            size,
            when,
            call: PhantomData,
        }
    }

    pub(crate) fn size(self) -> usize {
        self.size
    }
}

/// Time and data of one event, at a stable address, with a NUL behind the data (QUEUE-12).
///
/// Decoders and filters may write to both (QUEUE-31), so there are no references to them.
#[derive(Debug)]
pub(crate) struct EventBlock {
    start: NonNull<EventHeader>,
}

// SAFETY: the block is memory from malloc, which any thread may use and free; no other value has
// its address, and C has it only during a call.
unsafe impl Send for EventBlock {}

impl EventBlock {
    /// Bytes behind the header, which callbacks cannot change.
    fn room(&self) -> usize {
        // SAFETY: the block has its header, and nobody has a reference to it.
        unsafe { (&raw const (*self.start.as_ptr()).room).read() }
    }

    /// Copies an event, into the block `old` if it is large enough. `-ENOMEM`; `-EINVAL` for NULL
    /// where there is something to copy (E-12).
    pub(crate) fn copy(old: Option<EventBlock>, event: NewEvent<'_>) -> Result<EventBlock> {
        let NewEvent { data, size, when, .. } = event;
        if when.is_null() || (data.is_null() && size > 0) {
            return Err(Error::EINVAL);
        }
        let block = match old {
            Some(old) if old.room() > size => old,
            old => EventBlock::instead(old, size)?,
        };
        // SAFETY: there is room for more than `size` bytes behind the header. Nobody but us has the
        // block, so it does not overlap with what is copied, which is readable by the contract of
        // `NewEvent::new`.
        unsafe {
            (*block.start.as_ptr()).when = when.read();
            let copy = block.start.as_ptr().cast::<u8>().add(DATA);
            if size > 0 {
                ptr::copy_nonoverlapping(data.cast::<u8>(), copy, size);
            }
            copy.add(size).write(0);
        }
        Ok(block)
    }

    /// A block for `size` bytes and a NUL, in place of one that is too small.
    #[cold]
    fn instead(old: Option<EventBlock>, size: usize) -> Result<EventBlock> {
        drop(old);
        let room = size.checked_add(1).and_then(|size| size.checked_next_multiple_of(STEP));
        let total = room.and_then(|room| room.checked_add(DATA));
        let (Some(room), Some(total)) = (room, total) else {
            return Err(Error::ENOMEM);
        };
        let start = memory::Block::<u8>::room(total)?.into_raw().cast::<EventHeader>();
        let when = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the block has room for the header, and malloc aligns for it, as is asserted
        // below.
        unsafe { start.write(EventHeader { when, room }) };
        NonNull::new(start)
            .map(|start| EventBlock { start })
            .ok_or(Error::ENOMEM)
    }
}

const _: () = assert!(align_of::<EventHeader>() <= memory::ALIGNMENT);

impl Drop for EventBlock {
    fn drop(&mut self) {
        // SAFETY: `instead` has got the block from malloc, and no other value has it: it is freed
        // once.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// The time and data of an event that its fetch keeps alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventView {
    start: NonNull<EventHeader>,
}

impl EventView {
    pub(crate) fn data(self) -> *mut c_void {
        self.start.as_ptr().wrapping_byte_add(DATA).cast()
    }

    /// The beginning of the data, which has `size` bytes, for debug output.
    pub(crate) fn excerpt(self, size: usize) -> Excerpt {
        Excerpt::new(size, |room| {
            let len = room.len().min(size);
            // SAFETY: the block is alive and holds `size` bytes of data, which are not in `room`.
            unsafe { ptr::copy_nonoverlapping(self.data().cast::<u8>(), room.as_mut_ptr(), len) };
            len
        })
    }

    pub(crate) fn when(self) -> *mut timeval {
        const { assert!(std::mem::offset_of!(EventHeader, when) == 0) };
        self.start.as_ptr().cast()
    }
}

impl Payload for EventBlock {
    type EventData = EventView;

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
