//! The command line of an agent: `argc`, `argv` and `pmdaOptions`.

use std::ffi::{c_char, c_int};
use std::marker::PhantomData;

use crate::sys::libpcp;
use crate::sys::lock::Token;
use crate::view::arg::{CText, view};
use crate::view::types::{pmdaOptionOverride, pmdaOptions};

view! {
    /// The options of an agent's command line, and the parser's state (INIT-3).
    Options of pmdaOptions, contract
    "`pointer` is NULL, or points to options whose texts and tables are valid, zeroed before their first use."
    fields {
        /// Sees each option first.
        override_callback: r#override as pmdaOptionOverride;
        /// The argument of the option that was found, or NULL.
        optarg: optarg as *mut c_char;
        /// The number of errors.
        errors [set_errors]: errors as c_int;
        /// The version of the structure.
        version [set_version]: version as c_int;
    }
    kept {
        /// Stores the argument of `-U`.
        set_username: username as Option<CText<'static>>;
    }
}

impl Options<'_> {
    /// The argument of the option that was found; an empty text if the option has none.
    pub(crate) fn argument(self) -> CText<'static> {
        self.argument_if_any().unwrap_or(CText::EMPTY)
    }

    /// The argument of the option that was found, if it has one.
    pub(crate) fn argument_if_any(self) -> Option<CText<'static>> {
        // SAFETY: NULL, or libpcp's parser has stored a part of one of the strings in `argv`, which
        // are terminated. They stay as long as the process: agents and the C library keep pointers
        // to them as well.
        unsafe { CText::new(self.optarg()) }
    }

    /// Prints the messages that were collected, and the usage of the agent, to stderr.
    pub(crate) fn show_usage(self, token: &mut Token) {
        // SAFETY: valid options by the contract of `new`. They begin with libpcp's `pmOptions`
        // (INIT-3).
        unsafe { libpcp::print_usage(token, self.as_ptr()) };
    }

    /// Counts an error.
    pub(crate) fn count_error(self) {
        self.set_errors(self.errors().wrapping_add(1));
    }
}

/// A decimal number as `strtol` reads it, cut to an `int`, and whether nothing follows it.
pub(crate) fn number(text: CText<'_>) -> (c_int, bool) {
    let mut end = text.as_ptr();
    // SAFETY: a C string by the contract of `CText`. strtol stores an address within it in `end`,
    // its NUL at the latest.
    unsafe {
        let number = libc::strtol(text.as_ptr(), &raw mut end, 10);
        (number as c_int, *end == 0)
    }
}

/// The arguments of a program: `argc` and `argv`.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'call> {
    count: c_int,
    first: *const *mut c_char,
    call: PhantomData<&'call c_char>,
}

impl<'call> Arguments<'call> {
    /// The arguments of `main`; `None` for NULL.
    ///
    /// # Safety
    /// `first` is NULL or holds `count` C strings, until the view was used for the last time.
    pub(crate) unsafe fn new(count: c_int, first: *const *mut c_char) -> Option<Arguments<'call>> {
        (!first.is_null()).then_some(Arguments {
            count,
            first,
            call: PhantomData,
        })
    }

    /// Finds the next option, and returns its letter, or -1 at the end.
    pub(crate) fn next(self, token: &mut Token, options: Options<'_>) -> c_int {
        // SAFETY: the arguments are C strings by the contract of `Arguments::new`, and the options
        // are valid by the contract of `Options::new`.
        unsafe { libpcp::next_option(token, self.count, self.first, options.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_long};

    use super::{CText, number};

    /// The number after `-d` is read as by `strtol` (INIT-20).
    #[test]
    fn numbers() {
        for (text, expected) in [
            (c"", (0, true)),
            (c"12", (12, true)),
            (c" \t\n\x0b\x0c\r+12", (12, true)),
            (c"-7", (-7, true)),
            (c"12x", (12, false)),
            (c"12 ", (12, false)),
            (c"x", (0, false)),
            (c" ", (0, false)),
            (c"-", (0, false)),
            (c"+-1", (0, false)),
            (c"0x10", (0, false)),
            (c"2147483647", (c_int::MAX, true)),
        ] {
            assert_eq!(number(CText::of(text)), expected, "{text:?}");
        }
        let [most, least] = [c"99999999999999999999", c"-99999999999999999999"].map(|text| number(CText::of(text)));
        assert_eq!(
            (most, least),
            ((c_long::MAX as c_int, true), (c_long::MIN as c_int, true))
        );
    }
}
