//! libpcp's option parser and the messages that it collects.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::lock::Token;
use pmda_core::log::Line;

/// Finds the next option, and returns its letter, or -1 at the end. `options` begins with libpcp's
/// `pmOptions` (INIT-3).
///
/// # Safety
/// `argv` holds `argc` C strings; `options` is valid for reads and writes of libpcp's part and was
/// zeroed before its first use; its option strings and tables are valid.
pub(crate) unsafe fn next<T>(token: &mut Token, argc: c_int, argv: *const *mut c_char, options: *mut T) -> c_int {
    // SAFETY: `argv` has `argc` strings. The options begin with libpcp's part (INIT-3), were zeroed
    // before their first use, and have valid strings and tables, as the caller promises. The parser
    // demands no more.
    token.apart(|| unsafe { pcp::pmgetopt_r(argc, argv, options.cast::<pcp::pmOptions>()) })
}

/// Prints the collected messages, and the usage of the program, to stderr.
///
/// # Safety
/// `options` is valid for reads of libpcp's part, with its texts and tables.
pub(crate) unsafe fn usage<T>(token: &mut Token, options: *mut T) {
    // SAFETY: libpcp reads its part of the options, with its texts and tables, which are valid as
    // the caller promises.
    token.apart(|| unsafe { pcp::pmUsageMessage(options.cast::<pcp::pmOptions>()) });
}

/// Adds a line, newline included, to the messages that `pmflush` and [`usage`] print.
pub(crate) fn message(token: &mut Token, line: fmt::Arguments<'_>) {
    let mut line = Line::new(line);
    line.limit();
    // SAFETY: the format asks for one C string, which is valid during the call.
    token.apart(|| unsafe { pcp::pmprintf(c"%s".as_ptr(), line.c_str().as_ptr()) });
}

/// Sets debug options as `-D` does. Returns whether all of them are known.
pub(crate) fn set_debug(token: &mut Token, options: &CStr) -> bool {
    // SAFETY: a C string, which libpcp reads.
    token.apart(|| unsafe { pcp::pmSetDebug(options.as_ptr()) >= 0 })
}
