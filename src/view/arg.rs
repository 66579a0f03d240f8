//! The one place where raw pointers become safe types.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};
use std::ptr::NonNull;

use crate::view::types::pmAtomValue;

/// A C array given as pointer and count; empty when the pointer is NULL or the count is not
/// positive.
///
/// # Safety
/// `first` is NULL or valid for reads of `count` elements that stay unchanged for `'a`.
#[inline(always)]
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: not NULL and a positive count: then the caller has promised `count` elements that
        // stay for `'a`.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

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
pub struct CText(NonNull<c_char>);

/// A C string that C declares as `char *`, though nobody writes to it.
pub type MutableText = CText;

impl CText {
    /// No characters.
    pub(crate) const EMPTY: CText = CText(NonNull::new(c"".as_ptr().cast_mut()).expect("an address"));

    /// The text behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `text` is NULL or a NUL terminated string. It stays so, unchanged, while [`CText::bytes`] of
    /// it are in use.
    #[inline(always)]
    pub(crate) unsafe fn new(text: *const c_char) -> Option<CText> {
        NonNull::new(text.cast_mut()).map(CText)
    }

    /// The bytes without the NUL.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.c_str().to_bytes()
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

/// Where C wants a value to be stored, or NULL where it does not want it. As a parameter it is a
/// pointer of C, `T *`, and whoever calls promises what [`Out::new`] demands.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Nothing is wanted.
    pub(crate) const NONE: Out<T> = Out(std::ptr::null_mut());

    /// The place behind a pointer.
    ///
    /// # Safety
    /// `place` is NULL or valid for writes until the view was used for the last time.
    #[inline(always)]
    pub(crate) unsafe fn new(place: *mut T) -> Out<T> {
        Out(place)
    }

    /// Whether C does not want the value.
    #[inline(always)]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Stores the value, if C wants it.
    #[inline(always)]
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a write by the contract of `new`. What was there is
            // C's, and is not dropped.
            unsafe { self.0.write(value) };
        }
    }

    /// The place as C sees it.
    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }
}

impl Out<pmAtomValue> {
    /// The member of an atom that holds a value of this type.
    pub(crate) fn member<M: Member>(self) -> Out<M> {
        // All members of a union begin where it begins.
        Out(self.0.cast())
    }
}

/// The types of an atom's members that counters are stored in.
pub(crate) trait Member {}

impl Member for u32 {}

impl Member for u64 {}

impl Out<c_int> {
    /// Adds to the number that is there, if C wants it.
    pub(crate) fn add(self, number: c_int) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a read and a write: the constructors of such places
            // say so.
            unsafe { self.0.write(self.0.read().wrapping_add(number)) };
        }
    }
}

/// Where C has a value to be read, or NULL. As a parameter it is what C declares as `T *`, though
/// nobody writes there, and whoever calls promises what [`In::new`] demands.
#[derive(Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> In<T> {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// The place behind a pointer. Nothing is read yet.
    ///
    /// # Safety
    /// `place` is NULL or valid for reads until the view was used for the last time.
    #[inline(always)]
    pub(crate) unsafe fn new(place: *const T) -> In<T> {
        In(place)
    }

    /// The value; `None` for NULL.
    #[inline(always)]
    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: not NULL, hence valid for a read by the contract of `new`.
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
    /// What is behind a pointer; nothing for NULL.
    #[inline(always)]
    pub(crate) fn new(pointer: *mut c_void) -> Option<Private> {
        NonNull::new(pointer).map(Private)
    }

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
