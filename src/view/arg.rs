//! The one place where raw pointers become safe types: parameters, with or without a length, and
//! values of events.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::view::declare::view;
use crate::view::memory::{self, Block};
use crate::view::types::{pmAtomValue, pmDesc, pmValueBlock};
use pmda_core::error::{Error, Result};

/// An address that prints as C's `%p` does it.
#[derive(Clone, Copy)]
pub(crate) struct Pointer<T>(pub(crate) *const T);

impl<T> Display for Pointer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_null() {
            return out.write_str("(nil)");
        }
        fmt::Pointer::fmt(&self.0, out)
    }
}

/// A C string. Its bytes are looked at only until control goes back to C, which may change or free
/// it. As a parameter, `Option<CText>` is what C declares as `const char *`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct CText<'call>(NonNull<c_char>, PhantomData<&'call c_char>);

/// A C string that C declares as `char *`, though nobody writes to it.
pub type MutableText<'call> = CText<'call>;

impl<'call> CText<'call> {
    /// No characters.
    pub(crate) const EMPTY: CText<'static> = CText::of(c"");

    /// A text of ours.
    pub(crate) const fn of(text: &CStr) -> CText<'_> {
        CText(NonNull::new(text.as_ptr().cast_mut()).expect("an address"), PhantomData)
    }

    /// A copy of a text, in a block from malloc that stays.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn copied(text: &[u8]) -> Result<CText<'static>> {
        let copy = memory::string(text)?.into_raw();
        NonNull::new(copy)
            .map(|copy| CText(copy, PhantomData))
            .ok_or(Error::NOMEM)
    }

    /// The text behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `text` is NULL or a NUL terminated string. It stays so, unchanged, while [`CText::bytes`] of
    /// it are in use.
    #[inline(always)]
    pub(crate) unsafe fn new(text: *const c_char) -> Option<CText<'call>> {
        NonNull::new(text.cast_mut()).map(|text| CText(text, PhantomData))
    }

    /// The bytes without the NUL.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.c_str().to_bytes()
    }

    /// The byte behind a start of the text, 0 at its end; `None` if the text starts otherwise.
    pub(crate) fn behind(self, start: &[u8]) -> Option<u8> {
        // SAFETY: a NUL terminated string by the contract of `new`, and as many bytes as are
        // compared at most. Where they are equal, and none of them is NUL, one more byte of the
        // string follows.
        unsafe {
            let same = libc::strncmp(self.0.as_ptr(), start.as_ptr().cast(), start.len()) == 0;
            (same && !start.contains(&0)).then(|| *self.0.as_ptr().add(start.len()).cast::<u8>())
        }
    }

    /// The text with its NUL.
    #[inline(always)]
    pub(crate) fn c_str(&self) -> &CStr {
        // SAFETY: a NUL terminated string that does not change meanwhile, by the contract of `new`.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }
    }

    /// The text as C sees it.
    pub(crate) fn as_ptr(self) -> *mut c_char {
        self.0.as_ptr()
    }
}

/// Where C wants a value to be stored during a call, or NULL where it does not want it. As a
/// parameter it is a pointer of C, `T *`, and the caller promises what [`Out::new`] demands.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<'call, T>(*mut T, PhantomData<&'call T>);

impl<'call, T: Copy> Out<'call, T> {
    /// Nothing is wanted.
    pub(crate) const NONE: Self = Out(std::ptr::null_mut(), PhantomData);

    /// The place behind a pointer.
    ///
    /// # Safety
    /// `place` is NULL or valid for writes during `'call`.
    #[inline(always)]
    pub(crate) unsafe fn new(place: *mut T) -> Self {
        Out(place, PhantomData)
    }

    /// A place in a frame of ours, which is used through the view alone meanwhile.
    #[inline(always)]
    pub(crate) fn to(place: &'call mut T) -> Self {
        Out(place, PhantomData)
    }

    /// Whether C does not want the value.
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The place as C sees it.
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Stores a value that C follows, if C wants it.
    ///
    /// # Safety
    /// What the value leads to is as C expects it at this place.
    #[inline(always)]
    pub unsafe fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a write by the contract of `new`. What was there is
            // C's, and is not dropped.
            unsafe { self.0.write(value) };
        }
    }
}

/// What C does not follow.
pub trait Number: Copy {}

impl Number for c_int {}

impl Number for u32 {}

impl Number for u64 {}

impl Number for pmDesc {}

impl<T: Number> Out<'_, T> {
    /// Stores a number, if C wants it.
    #[inline(always)]
    pub fn set(self, value: T) {
        // SAFETY: a number leads to nothing.
        unsafe { self.put(value) };
    }
}

impl<T> Out<'_, *mut T> {
    /// Hands a block over, which C frees; where C does not want it, it is freed here.
    pub(crate) fn hand_over(self, block: Block<T>) {
        if !self.0.is_null() {
            // SAFETY: a block from malloc, which nobody else has.
            unsafe { self.put(block.into_raw()) };
        }
    }
}

impl Out<'_, *mut c_void> {
    /// Stores what the agent has attached, or NULL, if C wants it.
    #[inline(always)]
    pub(crate) fn give(self, private: Option<Private>) {
        // SAFETY: the agent's own pointer goes back to it.
        unsafe { self.put(private.map_or(std::ptr::null_mut(), Private::as_ptr)) };
    }
}

impl Out<'_, *mut c_char> {
    /// Has C's pointer lead to a text of ours with its NUL, if C wants it.
    #[inline(always)]
    pub(crate) fn lend(self, terminated: &[u8]) {
        debug_assert_eq!(terminated.last(), Some(&0), "a NUL at the end");
        // SAFETY: a text that is there. How long it stays is for the manual to say.
        unsafe { self.put(terminated.as_ptr().cast_mut().cast()) };
    }
}

impl<'call> Out<'call, pmAtomValue> {
    /// Stores the address of a block of ours, or NULL.
    pub(crate) fn lend(self, block: Option<&mut [u32]>) {
        let vbp = block.map_or(std::ptr::null_mut(), <[u32]>::as_mut_ptr).cast();
        // SAFETY: a block with its length in front. How long it stays is for the manual to say.
        unsafe { self.put(pmAtomValue { vbp }) };
    }

    /// The member of an atom that holds a value of this type.
    pub(crate) fn member<M: Number>(self) -> Out<'call, M> {
        const { assert!(size_of::<M>() <= size_of::<pmAtomValue>()) };
        // All members of a union begin where it begins.
        Out(self.0.cast(), PhantomData)
    }
}

impl Out<'_, c_int> {
    /// Adds to the number that is there, if C wants it.
    pub(crate) fn add(self, number: c_int) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a read and a write: the constructors of such places
            // say so.
            unsafe { self.0.write(self.0.read().wrapping_add(number)) };
        }
    }
}

/// Where C has a value to be read during a call, or NULL. As a parameter it is what C declares as
/// `T *`, though nobody writes there; the caller promises that it is NULL, or valid for reads
/// during `'call`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<'call, T>(*const T, PhantomData<&'call T>);

impl<T: Copy> In<'_, T> {
    /// The value; `None` for NULL.
    #[inline(always)]
    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: not NULL, hence valid for a read: one comes as an argument alone, and that is
        // what the exported function demands of it.
        (!self.0.is_null()).then(|| unsafe { self.0.read() })
    }
}

/// What an agent gives for its own functions: it is handed back to them, and never looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Cookie(pub(crate) *mut c_void);

// SAFETY: an address that is not followed here. Which thread may follow it is the agent's affair:
// its functions get it on the thread that has called the library.
unsafe impl Send for Cookie {}

/// What an agent attaches to an instance of a cache. It is handed back, and never looked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Private(NonNull<c_void>);

// SAFETY: an address that is not followed here. Agents get it back on the thread that asks for it.
unsafe impl Send for Private {}

// SAFETY: a shared address can only be copied: nobody follows or changes it here, so two threads
// that see it have nothing to race for.
unsafe impl Sync for Private {}

impl Private {
    /// The pointer as C has given it.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr()
    }
}

impl fmt::Pointer for Private {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, out)
    }
}

view! {
    /// An atom whose type says which member C has filled in.
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
    views {
        /// The string of an atom that holds one.
        text: cp as CText;
    }
}

impl<'call> Parameter<'call> {
    /// The payload of a value block: its length counts its own word (EVENT-4, E-5).
    ///
    /// # Errors
    /// `-EINVAL` without a block, and for one that is shorter than its word.
    pub(crate) fn payload(self) -> Result<CBytes<'call>> {
        let block = self.block();
        if block.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: not NULL, so it has the leading word by the contract of `new`; the payload
        // follows it and is as long as the word says.
        unsafe {
            let length = ((*block).vlen() as usize).checked_sub(4).ok_or(Error::INVAL)?;
            Ok(CBytes::with_len((&raw const (*block).vbuf).cast::<u8>(), length))
        }
    }
}

/// Bytes of C, looked at only until control goes back to C.
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
        // SAFETY: `new` was told that `len` bytes are readable and do not change meanwhile; with
        // a length other than 0 the pointer is not NULL.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// A text that C gives with a length: it ends there or at a NUL.
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

    /// Whether C has given a length alone.
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
            return Err(Error::INVAL);
        }
        // SAFETY: strnlen stops at `length` and at a NUL, so it stays within what `new` was told is
        // readable.
        Ok(unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), libc::strnlen(self.start, length)) })
    }
}

/// A buffer of C, to be filled.
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

    /// Whether C does not want what would be in the buffer.
    pub(crate) fn is_null(self) -> bool {
        self.start.is_null()
    }

    /// The size that C has given.
    pub(crate) fn size(self) -> c_int {
        self.size
    }

    /// Beginning and size of a buffer that there is.
    ///
    /// # Errors
    /// `-EINVAL` for NULL and for a size that is not positive.
    pub(crate) fn room(self) -> Result<(*mut u8, usize)> {
        match usize::try_from(self.size) {
            Ok(size) if size > 0 && !self.start.is_null() => Ok((self.start, size)),
            _ => Err(Error::INVAL),
        }
    }

    /// The first bytes of the buffer, which somebody has filled.
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

    /// Stores a text and a NUL.
    ///
    /// # Errors
    /// `-E2BIG` when they do not fit.
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
