//! The names of client attributes.

use std::ffi::{CStr, c_char, c_int};

use super::bindings as pcp;

/// Hands out `name=value` of an attribute; `None` when libpcp does not know it.
///
/// # Safety
/// `value` is NULL or a C string.
pub(crate) unsafe fn text(attribute: c_int, value: *const c_char, say: impl FnOnce(Option<&[u8]>)) {
    let mut buffer = [0 as c_char; 256];
    let value = if value.is_null() { c"".as_ptr() } else { value };
    // SAFETY: a C string, and a buffer of the length that is passed along.
    let text = unsafe { pcp::__pmAttrStr_r(attribute, value, buffer.as_mut_ptr(), buffer.len()) };
    if text.is_null() {
        return say(None);
    }
    // SAFETY: libpcp terminates what it writes into the buffer.
    say(Some(unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_bytes()));
}
