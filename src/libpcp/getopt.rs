//! libpcp's option parser and the messages that it collects.

use std::ffi::{CString, c_char, c_int};

use super::bindings as pcp;

/// Finds the next option. `options` begins with what libpcp calls `pmOptions` (INIT-3).
///
/// # Safety
/// `argv` holds `argc` C strings; `options` is valid for reads and writes of libpcp's part and was zeroed before
/// its first use; its option strings and tables are valid.
pub(crate) unsafe fn next<T>(argc: c_int, argv: *const *mut c_char, options: *mut T) -> c_int {
    // SAFETY: the contract above is libpcp's own.
    unsafe { pcp::pmgetopt_r(argc, argv, options.cast::<pcp::pmOptions>()) }
}

/// Prints the collected messages, and how the program is used.
///
/// # Safety
/// `options` is valid for reads of libpcp's part.
pub(crate) unsafe fn usage<T>(options: *mut T) {
    // SAFETY: the contract above is libpcp's own.
    unsafe { pcp::pmUsageMessage(options.cast::<pcp::pmOptions>()) };
}

/// Adds a line to the messages that `pmflush` and [`usage`] print.
pub(crate) fn message(line: &[u8]) {
    let mut text = line.to_vec();
    text.retain(|byte| *byte != 0);
    text.push(b'\n');
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: the format asks for one C string.
    unsafe { pcp::pmprintf(c"%s".as_ptr(), text.as_ptr()) };
}

/// Sets debug options as `-D` does; whether they were understood.
///
/// # Safety
/// `options` is a C string.
pub(crate) unsafe fn set_debug(options: *const c_char) -> bool {
    // SAFETY: a C string by the contract above.
    unsafe { pcp::pmSetDebug(options) >= 0 }
}
