//! libpcp's option parser and the messages that it collects.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::cancel;
use pmda_core::log::Line;

/// Finds the next option. `options` begins with libpcp's `pmOptions` (INIT-3).
///
/// # Safety
/// `argv` holds `argc` C strings; `options` is valid for reads and writes of libpcp's part and was
/// zeroed before its first use; its option strings and tables are valid.
pub(crate) unsafe fn next<T>(argc: c_int, argv: *const *mut c_char, options: *mut T) -> c_int {
    // SAFETY: `argv` has `argc` strings, and the options begin with libpcp's part (INIT-3), were
    // zeroed once, and are used by one thread, as the caller promises; that is all that the parser
    // asks for.
    cancel::disabled(|| unsafe { pcp::pmgetopt_r(argc, argv, options.cast::<pcp::pmOptions>()) })
}

/// Prints the collected messages, and the usage.
///
/// # Safety
/// `options` is valid for reads of libpcp's part.
pub(crate) unsafe fn usage<T>(options: *mut T) {
    // SAFETY: the options are valid as far as libpcp looks at them, as the caller promises: they
    // are read, and their texts printed.
    cancel::disabled(|| unsafe { pcp::pmUsageMessage(options.cast::<pcp::pmOptions>()) });
}

/// Adds a line with its newline to the messages that `pmflush` and [`usage`] print.
pub(crate) fn message(line: fmt::Arguments<'_>) {
    let mut line = Line::new(line);
    // SAFETY: the format asks for one C string, which is valid during the call.
    cancel::disabled(|| unsafe { pcp::pmprintf(c"%s".as_ptr(), line.c_str().as_ptr()) });
}

/// Sets debug options as `-D` does; returns whether they were understood.
pub(crate) fn set_debug(options: &CStr) -> bool {
    // SAFETY: a C string, which libpcp reads.
    cancel::disabled(|| unsafe { pcp::pmSetDebug(options.as_ptr()) >= 0 })
}
