//! The operating system: the lock of the library, streams, and listening sockets.

#![allow(unsafe_code)]

use std::ffi::c_int;

pub(crate) mod blocking;
pub(crate) mod descriptor;
pub(crate) mod libpcp;
pub mod lock;
pub(crate) mod pdu_trace;
pub(crate) mod process;
pub(crate) mod root_socket;
mod safe_externs;
pub(crate) mod socket;

/// The slice of a C array, which is given as pointer and count. It is empty when the pointer is
/// NULL or the count is not positive.
///
/// # Safety
/// `first` is NULL or valid for reads of `count` elements that stay unchanged for `'a`.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: not NULL, and a positive count: `count` elements that stay unchanged for `'a`, as
        // the caller promises.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

/// [`slice()`], mutable.
///
/// # Safety
/// `first` is NULL or valid for reads and writes of `count` elements that nobody else uses during
/// `'a`.
pub(crate) unsafe fn slice_mut<'a, T>(first: *mut T, count: c_int) -> &'a mut [T] {
    match usize::try_from(count) {
        // SAFETY: not NULL, and a positive count: `count` elements that nobody else uses during
        // `'a`, as the caller promises.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts_mut(first, count) },
        _ => &mut [],
    }
}
