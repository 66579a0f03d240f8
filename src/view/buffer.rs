//! Bytes, texts and buffers that C gives with a length, and values of events.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;

use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, view};
use crate::view::types::{pmAtomValue, pmValueBlock};
use crate::view::value::ValueBlock;
use pmda_core::error::{Error, Result};
use pmda_core::wire::block;

view! {
    /// An atom. The type that is passed with it tells which member C has filled in.
    Parameter of pmAtomValue, contract
    "`pointer` is NULL, or points to the member for its type: a string is NULL or terminated, a value block NULL or as \
     long as it says."
    fields {
        /// The bits of a four-byte type.
        word: ul as u32;
        /// The bits of an eight-byte type.
        long: ull as u64;
        /// A string, or NULL.
        string: cp as *mut c_char;
        /// A value block, or NULL.
        block: vbp as *mut pmValueBlock;
    }
}

impl<'call> Parameter<'call> {
    /// The string of an atom that holds one.
    ///
    /// # Safety
    /// The type that came with the atom is `PM_TYPE_STRING`.
    pub(crate) unsafe fn text(self) -> Option<CText<'call>> {
        // SAFETY: the member of this type is NULL or a terminated string, by the contract of `new`.
        unsafe { CText::new(self.string()) }
    }

    /// The payload of a value block. The length in the block counts the word that holds it, 4 bytes
    /// (EVENT-4, E-5).
    ///
    /// # Errors
    /// `-EINVAL` without a block, and for a length below 4.
    ///
    /// # Safety
    /// The type that came with the atom is one whose values are value blocks.
    pub(crate) unsafe fn payload(self) -> Refusable<CBytes<'call>> {
        // SAFETY: NULL, or a block that is as long as its header says, by the contract of `new`. It
        // stays so until control goes back to C, as the contract of `CBytes` demands.
        let block = unsafe { ValueBlock::new(self.block()) }.needed(&"avp->vbp")?;
        let payload = block.bytes().get(block::HEADER..).ok_or(Error::EINVAL)?;
        // SAFETY: the bytes of a slice.
        Ok(unsafe { CBytes::with_len(payload.as_ptr(), payload.len()) })
    }
}

/// Bytes of C with a length. They are read only until control goes back to C, which may change or
/// free them.
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

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: by the contracts of `new` and `with_len`, `len` bytes are readable and do not
        // change while they are borrowed; with a length above 0 the pointer is not NULL.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A text that C passes with a length. It ends at that length, or at an earlier NUL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CField<'call> {
    start: *const c_char,
    length: c_int,
    call: PhantomData<&'call u8>,
}

impl<'call> CField<'call> {
    /// The text from `start` on. Nothing is read yet.
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

    /// Returns whether C has given a length alone: the pointer is NULL.
    pub(crate) fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// The bytes before the NUL or the end; none for a length that is not positive.
    ///
    /// # Errors
    /// `-EINVAL` for NULL with a positive length.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        let Ok(length @ 1..) = usize::try_from(self.length) else {
            return Ok(&[]);
        };
        if self.start.is_null() {
            return Err(Error::EINVAL);
        }
        // SAFETY: not NULL, hence readable for `length` bytes or up to a NUL, by the contract of
        // `new`. strnlen stops at both, so the slice is within that; it is unchanged while it is
        // borrowed.
        Ok(unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), libc::strnlen(self.start, length)) })
    }
}

/// A buffer of C that is to be filled.
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
    /// `start` is NULL or valid for reads and writes of `size` bytes, until the view is used for
    /// the last time. Nobody writes there while a slice of [`CBuffer::filled`] is in use.
    pub(crate) unsafe fn new<T>(start: *mut T, size: c_int) -> CBuffer<'call> {
        CBuffer {
            start: start.cast(),
            size,
            call: PhantomData,
        }
    }

    /// Returns whether C has given no buffer: it does not want the content.
    pub(crate) fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// The size in bytes, as C has given it.
    pub(crate) fn size(self) -> c_int {
        self.size
    }

    /// Start and size of the buffer.
    ///
    /// # Errors
    /// `-EINVAL` for NULL and for a size that is not positive.
    pub(crate) fn raw_parts(self) -> Result<(*mut u8, usize)> {
        match usize::try_from(self.size) {
            Ok(size) if size > 0 && !self.start.is_null() => Ok((self.start, size)),
            _ => Err(Error::EINVAL),
        }
    }

    /// The first `len` bytes of the buffer, which somebody has filled; none without a buffer.
    ///
    /// # Panics
    /// When the buffer has fewer.
    pub(crate) fn filled(&self, len: usize) -> &[u8] {
        let Ok((start, size)) = self.raw_parts() else {
            return &[];
        };
        assert!(len <= size, "{len} bytes of {size}");
        // SAFETY: `size` bytes are readable, and nobody writes there meanwhile, by the contract of
        // `new`; `len` is not more, as was asserted.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Stores bytes at an offset, unless the buffer is NULL.
    ///
    /// # Panics
    /// When they do not fit.
    pub(crate) fn write(self, offset: usize, bytes: &[u8]) {
        let Ok((start, size)) = self.raw_parts() else { return };
        assert!(
            offset.checked_add(bytes.len()).is_some_and(|end| end <= size),
            "beyond {size} bytes"
        );
        // SAFETY: the assertion keeps the bytes within the buffer, which is writable by the
        // contract of `new`. `copy` allows bytes that come from the same buffer.
        unsafe { std::ptr::copy(bytes.as_ptr(), start.add(offset), bytes.len()) };
    }

    /// Stores a text and a NUL.
    ///
    /// # Errors
    /// `-E2BIG` when they do not fit, or the buffer is NULL.
    pub(crate) fn write_text(self, text: &[u8]) -> Result<()> {
        match self.raw_parts() {
            Ok((_, size)) if size > text.len() => {
                self.write(0, text);
                self.write(text.len(), &[0]);
                Ok(())
            }
            _ => Err(Error::os(libc::E2BIG)),
        }
    }
}
