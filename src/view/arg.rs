//! The one place where raw pointers become safe types: parameters, and values of events.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::view::block::{self, Block};
use crate::view::buffer::CBytes;
use crate::view::declare::view;
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

/// Bytes without a NUL: a C string may start with them.
#[derive(Clone, Copy)]
pub(crate) struct NoNul<'a>(&'a [u8]);

impl<'a> NoNul<'a> {
    /// The bytes up to the first NUL, as C would see them.
    pub(crate) fn until_nul(bytes: &'a [u8]) -> NoNul<'a> {
        let end = bytes.iter().position(|byte| *byte == 0);
        NoNul(&bytes[..end.unwrap_or(bytes.len())])
    }

    /// The bytes.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.0
    }
}

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
        let copy = block::string(text)?.into_raw();
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

    /// The bytes of the text, for a comparison.
    #[inline(always)]
    pub(crate) fn no_nul(&self) -> NoNul<'_> {
        NoNul(self.bytes())
    }

    /// The byte behind a start of the text, 0 at its end; `None` if the text starts otherwise.
    pub(crate) fn behind(self, start: NoNul<'_>) -> Option<u8> {
        // SAFETY: a NUL terminated string by the contract of `new`, and as many bytes as are
        // compared, none of them NUL. Where they are equal one more byte of the string follows.
        unsafe {
            let same = libc::strncmp(self.0.as_ptr(), start.0.as_ptr().cast(), start.0.len()) == 0;
            same.then(|| *self.0.as_ptr().add(start.0.len()).cast::<u8>())
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
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<'call, T>(*mut T, PhantomData<&'call T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'call, T> Out<'call, T> {
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
pub trait Number {}

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
#[derive(Debug)]
#[repr(transparent)]
pub struct In<'call, T>(*const T, PhantomData<&'call T>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

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
