//! The command line of an agent as C hands it around: `argc`, `argv` and `pmdaOptions`.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::arg::CText;
use super::types::{pmdaOptionOverride, pmdaOptions};
use super::view::view;
use crate::libpcp::getopt;

view! {
    /// The options of an agent's command line, and the parser's state (INIT-3).
    Options of pmdaOptions, contract
    "`pointer` is NULL, or points to options whose texts and tables are valid, zeroed before their first use."
    get {
        /// Sees each option first.
        override_callback: r#override as pmdaOptionOverride;
        /// The number of errors.
        errors: errors as c_int;
        /// The argument of the option that was found, or NULL.
        argument_ptr: optarg as *mut c_char;
    }
    set {
        /// Stores the version of the structure.
        set_version: version as c_int;
        /// Stores the number of errors.
        set_errors: errors as c_int;
        /// Stores the argument of `-U`.
        set_username: username as *mut c_char;
    }
}

impl Options {
    /// The argument of the option that was found; an empty text when a table says that it takes none.
    pub(crate) fn argument(self) -> CText {
        // SAFETY: the options are valid by the contract of `new`; the argument is NULL or one of the C strings
        // in `argv`, or a part of one.
        unsafe { CText::new((*self.as_ptr()).optarg) }.unwrap_or(CText::EMPTY)
    }

    /// Prints the messages that were collected, and how the agent is used, to stderr.
    pub(crate) fn show_usage(self) {
        // SAFETY: valid by the contract of `new`, and they begin with libpcp's part (INIT-3).
        unsafe { getopt::usage(self.as_ptr()) };
    }

    /// Counts an error.
    pub(crate) fn count_error(self) {
        self.set_errors(self.errors().wrapping_add(1));
    }
}

/// Sets debug options as `-D` does; whether they were understood.
pub(crate) fn set_debug(options: CText) -> bool {
    // SAFETY: a CText is a C string.
    unsafe { getopt::set_debug(options.as_ptr()) }
}

/// A decimal number as C's `strtol` reads it, cut to an `int`, and whether nothing stands behind it.
pub(crate) fn number(text: CText) -> (c_int, bool) {
    let mut end = ptr::null_mut();
    // SAFETY: a CText is a C string; strtol leaves `end` inside of it.
    unsafe {
        let number = libc::strtol(text.as_ptr(), &raw mut end, 10);
        (number as c_int, *end == 0)
    }
}

/// The arguments of a program.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    count: c_int,
    first: *const *mut c_char,
}

impl Arguments {
    /// The arguments of `main`.
    ///
    /// # Safety
    /// `first` is NULL or holds `count` C strings, until the view was used for the last time.
    pub(crate) unsafe fn new(count: c_int, first: *const *mut c_char) -> Option<Arguments> {
        (!first.is_null()).then_some(Arguments { count, first })
    }

    /// Finds the next option: its letter, or -1 at the end.
    pub(crate) fn next(self, options: Options) -> c_int {
        // SAFETY: the arguments are C strings by the contract of `Arguments::new`, and the options are valid by
        // that of `Options::new`.
        unsafe { getopt::next(self.count, self.first, options.as_ptr()) }
    }
}
