//! The names of client attributes.

use std::ffi::{CStr, c_int};

use crate::sys::libpcp::bindings as pcp;

/// An attribute as libpcp writes it.
pub(crate) struct Text([u8; 256]);

impl Text {
    /// `name=value` of an attribute; `None` when libpcp does not know it.
    pub(crate) fn new(attribute: c_int, value: &CStr) -> Option<Text> {
        let mut text = Text([0; 256]);
        let (start, size) = (text.0.as_mut_ptr().cast(), text.0.len());
        // SAFETY: a C string, and a buffer of the length that is passed along.
        let written = unsafe { pcp::__pmAttrStr_r(attribute, value.as_ptr(), start, size) };
        (!written.is_null()).then_some(text)
    }

    /// The bytes before the NUL.
    pub(crate) fn bytes(&self) -> &[u8] {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default().to_bytes()
    }
}
