//! Views of C's structures and parameters: a structure as a pointer behind functions that copy one
//! field out, or in; texts, and places to be read or written.
//!
//! `Option<VIEW>` is the pointer itself, NULL being `None`, so exported functions and methods take
//! their arguments as views. What a C caller has to ensure is the view's contract, which its
//! declaration states once.
//! `tests/sources/generated.rs` turns the views back into pointers for the headers.
//!
//! A view lasts as long as the call that it came in by: `'call`. So it cannot be stored beyond the
//! call, nor sent to another thread:
//!
//! ```
//! # use pcp_pmda::view::interface::Ext;
//! fn in_the_call(ext: Ext<'_>) -> std::ffi::c_int {
//!     let copy = ext;
//!     copy.domain()
//! }
//! ```
//!
//! ```compile_fail
//! # use pcp_pmda::view::interface::Ext;
//! fn stored(ext: Ext<'_>, place: &std::cell::Cell<Option<Ext<'static>>>) {
//!     place.set(Some(ext));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! # use pcp_pmda::view::interface::Ext;
//! fn sent(ext: Ext<'_>) -> std::ffi::c_int {
//!     std::thread::scope(|scope| scope.spawn(|| ext.domain()).join().unwrap_or(0))
//! }
//! ```
//!
//! A number or a function may be stored into a structure by safe code. To store a pointer is
//! `unsafe`, and so is the number of elements behind a pointer: another view of the same structure
//! follows them, and that is safe code, too. An exception are pointers whose type proves where they
//! lead to, such as `Lasting` and other views.
//!
//! ```
//! # use pcp_pmda::view::memory::Lasting;
//! # use pcp_pmda::view::interface::Ext;
//! # use pcp_pmda::view::types::pmdaMetric;
//! fn numbers_and_tables(ext: Ext<'_>, table: Lasting<pmdaMetric>) {
//!     ext.set_ordinal(-1);
//!     ext.set_fetch_callback(None);
//!     ext.set_metrics(table);
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::interface::Ext;
//! fn wild_pointer(ext: Ext<'_>) {
//!     ext.set_profile(std::ptr::without_provenance_mut(16));
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::arg::Out;
//! fn local_text(name: Out<'_, *mut std::ffi::c_char>) {
//!     name.set_text(&[b'x', 0]);
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::arg::Out;
//! # use pcp_pmda::view::types::pmAtomValue;
//! fn local_block(atom: Out<'_, pmAtomValue>) {
//!     atom.set_block(Some((&mut [0; 4]).as_mut_slice().into()));
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::interface::{Dispatch, Ext};
//! fn wild_record(ext: Ext<'_>, dispatch: Dispatch<'_>) {
//!     ext.tell_other_library(dispatch);
//! }
//! ```
//!
//! ```compile_fail,E0133
//! # use pcp_pmda::view::interface::Ext;
//! fn larger_than_its_table(ext: Ext<'_>) {
//!     ext.set_metric_count(1000);
//! }
//! ```

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::sys::refusal::{Refusable, Refusal};
use crate::view::memory::{self, Block};
use crate::view::types::{pmAtomValue, pmDesc};
use pmda_core::error::{Error, Result};
use pmda_core::log::Bytes;

/// Declares a typed view of a C structure: the structure, the contract of its pointer, and the
/// fields that are read and written.
///
/// A view is a pointer that is not NULL. It holds no reference, so C may change the structure at
/// any time; each function reads or writes one field at that moment. The structure may be at any
/// address: an agent may have it in a packed structure or in a buffer, and C's processors allow
/// that where Rust's references do not.
///
/// - `fields` are read. They have a setter, which is safe, if its name stands in brackets. Only a
///   field that nobody follows may have one: a number or a function.
/// - `followed` are pointers, and numbers of elements behind pointers. They have `unsafe` setters
///   alone: safe functions of the same view (`views`, `arrays`) follow these fields.
/// - `kept` are pointers that are written by a safe setter, from a type that nobody has without a
///   valid pointer of that kind (a view, or a `'static` reference).
/// - `views` and `arrays` are pointers that are read as views of what they point to.
macro_rules! view {
    (
        $(#[$doc:meta])*
        $name:ident of $structure:ty, contract $contract:literal
        $(fields { $($(#[$get_doc:meta])* $get:ident $([$set:ident])?: $get_field:ident $(. $get_part:ident)? as $get_type:ty;)* })?
        $(followed { $($(#[$put_doc:meta])* $put:ident: $put_field:ident as $put_type:ty;)* })?
        $(kept { $($(#[$keep_doc:meta])* $keep:ident: $keep_field:ident as $keep_type:ty;)* })?
        $(views { $($(#[$view_doc:meta])* $view:ident: $view_field:ident as $view_type:ident;)* })?
        $(arrays { $($(#[$array_doc:meta])* $array:ident: $array_field:ident [$array_count:ident] as $array_type:ident;)* })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(transparent)]
        pub struct $name<'call>(std::ptr::NonNull<$structure>, std::marker::PhantomData<&'call $structure>);

        impl<'call> $name<'call> {
            /// The view of what a pointer points to; `None` for NULL.
            ///
            /// # Safety
            #[doc = $contract]
            /// The contract holds for `'call`.
            #[allow(dead_code, reason = "some come from C alone, as arguments")]
            pub(crate) unsafe fn new(pointer: *mut $structure) -> Option<$name<'call>> {
                std::ptr::NonNull::new(pointer).map(|pointer| $name(pointer, std::marker::PhantomData))
            }

            /// The pointer, for C.
            #[allow(dead_code, reason = "not each is handed on to C")]
            pub(crate) fn as_ptr(self) -> *mut $structure {
                self.0.as_ptr()
            }

            $($(
                $(#[$get_doc])*
                #[allow(dead_code, reason = "some are only written")]
                pub fn $get(self) -> $get_type {
                    // SAFETY: the structure is valid for reads by the contract of `new`. The field
                    // is copied, and no reference to it is made, so other pointers to it do no
                    // harm.
                    unsafe { (&raw const (*self.0.as_ptr()).$get_field $(. $get_part)?).read_unaligned() }
                }

                $(
                    #[doc = concat!("Stores what [`", stringify!($name), "::", stringify!($get), "`] reads.")]
                    pub fn $set(self, value: $get_type) {
                        // SAFETY: the structure is valid for writes by the contract of `new`, and
                        // no reference to the field exists: C has none, and views make none.
                        unsafe { (&raw mut (*self.0.as_ptr()).$get_field).write_unaligned(value) };
                    }
                )?
            )*)?

            $($(
                $(#[$put_doc])*
                ///
                /// # Safety
                /// With this value the structure still fulfils the contract of the view, for as
                /// long as the structure has the value.
                pub unsafe fn $put(self, value: $put_type) {
                    // SAFETY: the structure is valid for writes and no reference to the field
                    // exists, as for `fields`. The caller answers for the value.
                    unsafe { (&raw mut (*self.0.as_ptr()).$put_field).write_unaligned(value) };
                }
            )*)?

            $($(
                $(#[$keep_doc])*
                pub fn $keep(self, value: $keep_type) {
                    const { assert!(size_of::<$keep_type>() == size_of::<*mut std::ffi::c_void>()) };
                    // SAFETY: the structure is valid for writes and no reference to the field
                    // exists, as for `fields`. The value is a pointer or NULL, as large as the
                    // field. Its type proves that what it points to is valid.
                    unsafe {
                        (&raw mut (*self.0.as_ptr()).$keep_field)
                            .cast::<$keep_type>()
                            .write_unaligned(value);
                    }
                }
            )*)?

            $($(
                $(#[$view_doc])*
                pub fn $view(self) -> Option<$view_type<'call>> {
                    // SAFETY: the structure is valid for reads by the contract of `new`. The
                    // contract says as well that the pointer in it is NULL, or fulfils the contract
                    // of the other view. The pointer is copied.
                    unsafe { $view_type::new((&raw const (*self.0.as_ptr()).$view_field).read_unaligned().cast()) }
                }
            )*)?

            $($(
                $(#[$array_doc])*
                pub fn $array(self) -> $array_type<'call> {
                    // SAFETY: the structure is valid for reads by the contract of `new`. The
                    // contract says as well that the pointer in it is NULL, or leads to as many
                    // valid elements as the count tells. Both are copied.
                    unsafe {
                        let first = (&raw const (*self.0.as_ptr()).$array_field).read_unaligned();
                        let count = (&raw const (*self.0.as_ptr()).$array_count).read_unaligned();
                        $array_type::new(first.cast(), count)
                    }
                }
            )*)?
        }
    };
}

pub(super) use view;

/// An address that is printed as by C's `%p`.
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
/// it. As a parameter, `Option<CText>` is C's `const char *`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct CText<'call>(NonNull<c_char>, PhantomData<&'call c_char>);

/// A C string that C declares as `char *`, though nobody writes to it.
pub type MutableText<'call> = CText<'call>;

impl<'call> CText<'call> {
    /// A text without characters.
    pub(crate) const EMPTY: CText<'static> = CText::of(c"");

    /// The view of a text of ours.
    pub(crate) const fn of(text: &CStr) -> CText<'_> {
        CText(NonNull::new(text.as_ptr().cast_mut()).expect("an address"), PhantomData)
    }

    /// A copy of a text, in a block from malloc that is never freed.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn copied(text: &[u8]) -> Result<CText<'static>> {
        let copy = memory::string(text)?.into_raw();
        NonNull::new(copy)
            .map(|copy| CText(copy, PhantomData))
            .ok_or(Error::ENOMEM)
    }

    /// The text that a pointer leads to; `None` for NULL.
    ///
    /// # Safety
    /// `text` is NULL or a NUL terminated string. It stays so, unchanged, while [`CText::bytes`] of
    /// it are in use.
    pub(crate) unsafe fn new(text: *const c_char) -> Option<CText<'call>> {
        NonNull::new(text.cast_mut()).map(|text| CText(text, PhantomData))
    }

    /// The bytes in front of the NUL.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.c_str().to_bytes()
    }

    /// The byte after the prefix `start`, 0 at the end of the text; `None` if the text starts
    /// otherwise.
    pub(crate) fn byte_after(self, start: &[u8]) -> Option<u8> {
        let (text, len) = (self.0.as_ptr(), start.len());
        // SAFETY: `text` is a NUL terminated string by the contract of `new`, and `start` has `len`
        // bytes: strncmp and strnlen stop at the NUL and after `len` bytes. If `text` has `len`
        // bytes or more before its NUL, it has a byte at `len`.
        unsafe {
            let same = libc::strncmp(text, start.as_ptr().cast(), len) == 0 && libc::strnlen(text, len) == len;
            same.then(|| *text.add(len).cast::<u8>())
        }
    }

    /// The bytes with the NUL.
    pub(crate) fn c_str(&self) -> &CStr {
        // SAFETY: a NUL terminated string, unchanged while it is borrowed, by the contract of
        // `new`.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }
    }

    pub(crate) fn as_ptr(self) -> *mut c_char {
        self.0.as_ptr()
    }
}

/// A text in a message, as C's `%s` prints it: NULL is `(null)`.
pub(crate) struct Shown<'call>(pub(crate) Option<CText<'call>>);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.0.as_ref().map_or(b"(null)", CText::bytes)).fmt(out)
    }
}

/// The address to which C wants a value stored during a call, or NULL; it may be any address. As a
/// parameter it is C's `T *`, and the caller promises what [`Out::new`] demands.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<'call, T>(*mut T, PhantomData<&'call T>);

impl<'call, T: Copy> Out<'call, T> {
    /// NULL: the value is not wanted.
    pub(crate) const NONE: Self = Out(std::ptr::null_mut(), PhantomData);

    /// The argument that a pointer of C is.
    ///
    /// # Safety
    /// `pointer` is NULL or valid for writes during `'call`, whatever its alignment.
    pub(crate) unsafe fn new(pointer: *mut T) -> Self {
        Out(pointer, PhantomData)
    }

    /// The address of a variable in our frame, which is used through the view alone during `'call`.
    pub(crate) fn to(variable: &'call mut T) -> Self {
        Out(variable, PhantomData)
    }

    /// Returns whether C does not want the value.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn as_ptr(self) -> *mut T {
        self.0
    }

    /// Stores a value that C follows, if C wants it.
    ///
    /// # Safety
    /// What the value leads to is as C expects it at this address.
    pub unsafe fn set_pointer(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a write by the contract of `new`. The old value is
            // `Copy`, so nothing is dropped. The caller answers for what the new one leads to.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// An argument that C may leave NULL, where a function needs one. The name is that of the header.
pub(crate) trait Needed: Sized {
    /// The argument that is not NULL.
    type Given;

    /// The argument.
    ///
    /// # Errors
    /// `error` for NULL.
    fn needed_or(self, argument: &'static &'static str, error: Error) -> Refusable<Self::Given>;

    /// The argument.
    ///
    /// # Errors
    /// `-EINVAL` for NULL.
    #[inline(always)]
    fn needed(self, argument: &'static &'static str) -> Refusable<Self::Given> {
        self.needed_or(argument, Error::EINVAL)
    }
}

impl<T> Needed for Option<T> {
    type Given = T;

    #[inline(always)]
    fn needed_or(self, argument: &'static &'static str, error: Error) -> Refusable<T> {
        self.ok_or_else(|| Refusal::of(argument, error))
    }
}

impl<T: Copy> Needed for Out<'_, T> {
    type Given = Self;

    #[inline(always)]
    fn needed_or(self, argument: &'static &'static str, error: Error) -> Refusable<Self> {
        (!self.is_null()).then_some(self).needed_or(argument, error)
    }
}

/// A value that C does not follow as a pointer: any value of the type may be stored for C by safe
/// code.
pub trait Number: Copy {}

impl Number for c_int {}

impl Number for u32 {}

impl Number for u64 {}

impl Number for pmDesc {}

impl<T: Number> Out<'_, T> {
    /// Stores a number, if C wants it.
    pub fn set(self, value: T) {
        // SAFETY: a `Number` leads to nothing.
        unsafe { self.set_pointer(value) };
    }
}

impl<T> Out<'_, *mut T> {
    /// Hands over a block, which C frees with `free()`. If C does not want it, it is freed here.
    pub(crate) fn hand_over(self, block: Block<T>) {
        if !self.0.is_null() {
            // SAFETY: a block from malloc, which nobody else has: C frees it, as the exported
            // function says.
            unsafe { self.set_pointer(block.into_raw()) };
        }
    }
}

impl Out<'_, *mut c_void> {
    /// Stores the pointer that the agent has attached to an instance, or NULL, if C wants it. For
    /// places where an agent expects such a pointer back.
    pub(crate) fn set_private(self, private: Option<Private>) {
        // SAFETY: NULL, or a pointer that the agent itself has given: a `Private` comes as an
        // argument from C alone, since it has no constructor. What it leads to is the agent's
        // affair, and is as the agent expects it for as long as the agent keeps it so.
        unsafe { self.set_pointer(private.map_or(std::ptr::null_mut(), Private::as_ptr)) };
    }
}

impl Out<'_, *mut c_char> {
    /// Stores the address of a text of ours, which ends in a NUL, if C wants it. The text stays
    /// ours.
    ///
    /// # Safety
    /// The text stays, unchanged, for as long as the manual of the exported function says.
    pub unsafe fn set_text(self, terminated: &[u8]) {
        debug_assert_eq!(terminated.last(), Some(&0), "a NUL at the end");
        // SAFETY: a text that stays, as the caller says.
        unsafe { self.set_pointer(terminated.as_ptr().cast_mut().cast()) };
    }
}

impl<'call> Out<'call, pmAtomValue> {
    /// Stores the address of a value block of ours, or NULL, if C wants it. The block stays ours.
    ///
    /// # Safety
    /// The block begins with its type and length, as a `pmValueBlock`, and stays for as long as the
    /// manual of the exported function says.
    pub unsafe fn set_block(self, block: Option<NonNull<[u8]>>) {
        let vbp = block.map_or(std::ptr::null_mut(), |block| block.as_ptr().cast());
        // SAFETY: a block with its length in front that stays, as the caller says.
        unsafe { self.set_pointer(pmAtomValue { vbp }) };
    }

    /// The member of an atom that holds a value of this type.
    pub(crate) fn member<M: Number>(self) -> Out<'call, M> {
        const { assert!(size_of::<M>() <= size_of::<pmAtomValue>()) };
        // All members of a union begin where the union begins.
        Out(self.0.cast(), PhantomData)
    }
}

impl Out<'_, c_int> {
    /// Adds to the number that C has stored, if C wants it.
    pub(crate) fn add(self, number: c_int) {
        if !self.0.is_null() {
            // SAFETY: not NULL, hence valid for a write by the contract of `new`, and for a read as
            // well: C has stored a number at a place that a number is added to.
            unsafe { self.0.write_unaligned(self.0.read_unaligned().wrapping_add(number)) };
        }
    }
}

/// A place where C has a value during a call, or NULL. As a parameter it is C's `T *`, though
/// nobody writes there; the caller promises that it is NULL, or valid for reads during `'call`.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct In<'call, T>(*const T, PhantomData<&'call T>);

impl<T: Copy> In<'_, T> {
    /// The value; `None` for NULL.
    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: not NULL, hence valid for a read: an `In` comes as an argument alone (it has no
        // constructor), and its caller promises that.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

/// A pointer that an agent gives for its own functions, such as a decoder of events. It is handed
/// back to them, and never followed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Cookie(pub(crate) *mut c_void);

// SAFETY: an address that is not followed here. Which thread may follow it is the agent's affair:
// its functions get it on the thread that has called the library.
unsafe impl Send for Cookie {}

/// A pointer that an agent attaches to an instance of a cache. It is handed back, and never
/// followed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Private(NonNull<c_void>);

// SAFETY: an address that is not followed here. Agents get it back on the thread that asks for it.
unsafe impl Send for Private {}

// SAFETY: a shared address can only be copied: nobody follows or changes it here, so two threads
// that see it have nothing to race for.
unsafe impl Sync for Private {}

impl Private {
    /// The pointer as the agent has given it.
    pub(crate) fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr()
    }
}

impl fmt::Pointer for Private {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, out)
    }
}
