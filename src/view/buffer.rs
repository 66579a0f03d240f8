//! Bytes, texts and buffers that C gives with a length, and values of events.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use crate::view::arg::{CText, view};
use crate::view::types::{pmAtomValue, pmValueBlock};
use pmda_core::error::{Error, Result};

view! {
    /// An atom whose type tells the member.
    Parameter of pmAtomValue, contract
    "`pointer` is NULL, or points to the member for its type: a string is NULL or terminated, a value block NULL or as \
     long as it says."
    fields {
        /// The bits of a four-byte type.
        word: ul as u32;
        /// The bits of an eight-byte type.
        long: ull as u64;
        /// A value block, or NULL.
        block: vbp as *mut pmValueBlock;
    }
}

impl<'call> Parameter<'call> {
    /// The string of an atom.
    ///
    /// # Safety
    /// The type that came with the atom is `PM_TYPE_STRING`.
    pub(crate) unsafe fn text(self) -> Option<CText<'call>> {
        // SAFETY: NULL or a terminated string, by the contract of `new` and the type.
        unsafe { CText::new((*self.as_ptr()).cp) }
    }

    /// The payload of a value block: its length counts its own word (EVENT-4, E-5). `-EINVAL`
    /// without a block, and for one that is shorter than its word.
    ///
    /// # Safety
    /// The type that came with the atom is one of value blocks.
    pub(crate) unsafe fn payload(self) -> Result<CBytes<'call>> {
        let block = self.block();
        if block.is_null() {
            return Err(Error::EINVAL);
        }
        // SAFETY: not NULL, so it has the leading word by the contract of `new`; the payload
        // follows it and is as long as the word says.
        unsafe {
            let length = ((*block).vlen() as usize).checked_sub(4).ok_or(Error::EINVAL)?;
            Ok(CBytes::with_len((&raw const (*block).vbuf).cast::<u8>(), length))
        }
    }
}

/// Bytes of C, good until control goes back to C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CBytes<'call> {
    start: *const u8,
    len: usize,
    call: PhantomData<&'call u8>,
}

impl<'call> CBytes<'call> {
    /// The bytes from `start` on; none for NULL and for a negative count.
    ///
    /// # Safety
    /// `start` is NULL or readable for `count` bytes. They stay so, unchanged, while
    /// [`CBytes::bytes`] of them are in use.
    pub(crate) unsafe fn new(start: *const c_void, count: c_int) -> CBytes<'call> {
        let len = usize::try_from(count).unwrap_or(0);
        CBytes {
            start: start.cast(),
            len: if start.is_null() { 0 } else { len },
            call: PhantomData,
        }
    }

    /// `len` bytes from `start` on.
    ///
    /// # Safety
    /// `start` is readable for `len` bytes, or NULL with none. They stay so, unchanged, while
    /// [`CBytes::bytes`] of them are in use.
    pub(crate) unsafe fn with_len<T>(start: *const T, len: usize) -> CBytes<'call> {
        CBytes {
            start: start.cast(),
            len,
            call: PhantomData,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `new` was told that `len` bytes are readable and do not change meanwhile; with
        // a length other than 0 the pointer is not NULL.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A text of C with a length: it ends there or at a NUL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CField<'call> {
    start: *const c_char,
    length: c_int,
    call: PhantomData<&'call u8>,
}

impl<'call> CField<'call> {
    /// The text from `start` on, not read yet.
    ///
    /// # Safety
    /// `start` is NULL or readable for `length` bytes or up to a NUL, unchanged, while
    /// [`CField::bytes`] of it are in use.
    pub(crate) unsafe fn new(start: *const c_char, length: c_int) -> CField<'call> {
        CField {
            start,
            length,
            call: PhantomData,
        }
    }

    /// The length that C has given.
    pub(crate) fn length(self) -> c_int {
        self.length
    }

    /// Returns whether there is a length alone.
    pub(crate) fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// The bytes before the NUL or the end; none for a length that is not positive. `-EINVAL` for
    /// NULL with a positive length.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        let Ok(length @ 1..) = usize::try_from(self.length) else {
            return Ok(&[]);
        };
        if self.start.is_null() {
            return Err(Error::EINVAL);
        }
        // SAFETY: strnlen stops at `length` and at a NUL, so it stays within what `new` was told is
        // readable.
        Ok(unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), libc::strnlen(self.start, length)) })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CBuffer<'call> {
    start: *mut u8,
    size: c_int,
    call: PhantomData<&'call u8>,
}

impl<'call> CBuffer<'call> {
    /// The buffer from `start` on.
    ///
    /// # Safety
    /// `start` is NULL or valid for reads and writes of `size` bytes until the view was used for
    /// the last time. Nobody else writes there while [`CBuffer::filled`] of it is in use.
    pub(crate) unsafe fn new<T>(start: *mut T, size: c_int) -> CBuffer<'call> {
        CBuffer {
            start: start.cast(),
            size,
            call: PhantomData,
        }
    }

    /// Returns whether C does not want the buffer filled.
    pub(crate) fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// The size that C has given.
    pub(crate) fn size(self) -> c_int {
        self.size
    }

    /// Start and size of the buffer; `-EINVAL` for NULL and for a size that is not positive.
    pub(crate) fn room(self) -> Result<(*mut u8, usize)> {
        match usize::try_from(self.size) {
            Ok(size) if size > 0 && !self.start.is_null() => Ok((self.start, size)),
            _ => Err(Error::EINVAL),
        }
    }

    /// The first bytes of the buffer, which were filled.
    ///
    /// # Panics
    /// When the buffer has fewer.
    pub(crate) fn filled(&self, len: usize) -> &[u8] {
        let Ok((start, size)) = self.room() else { return &[] };
        assert!(len <= size, "{len} bytes of {size}");
        // SAFETY: `new` was told that `size` bytes are readable, and `len` is not more.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Stores bytes at an offset.
    ///
    /// # Panics
    /// When they do not fit.
    pub(crate) fn write(self, offset: usize, bytes: &[u8]) {
        let Ok((start, size)) = self.room() else { return };
        assert!(
            offset.checked_add(bytes.len()).is_some_and(|end| end <= size),
            "beyond {size} bytes"
        );
        // SAFETY: the assertion keeps the bytes in the buffer, which is writable by the contract of
        // `new`; `copy` does not mind when they come from the same place.
        unsafe { std::ptr::copy(bytes.as_ptr(), start.add(offset), bytes.len()) };
    }

    /// Stores a text and a NUL; `-E2BIG` when they do not fit.
    pub(crate) fn write_text(self, text: &[u8]) -> Result<()> {
        match self.room() {
            Ok((_, size)) if size > text.len() => {
                self.write(0, text);
                self.write(text.len(), &[0]);
                Ok(())
            }
            _ => Err(Error::os(libc::E2BIG)),
        }
    }
}
