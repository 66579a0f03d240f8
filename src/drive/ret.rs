//! The one place where a result becomes what a C function returns.

use std::ffi::c_int;
use std::ptr;

use pmda_core::error::{Error, Result};

/// The answer to a call on top of another one.
const BUSY: c_int = -libc::EBUSY;

/// What an exported function's body may return, and how C sees it.
pub(crate) trait CReturn {
    /// The C type.
    type C;

    /// The value as C sees it.
    fn into_c(self) -> Self::C;

    /// What C sees after a panic.
    fn failed() -> Self::C;

    /// What C sees of a call in a signal handler on top of another one: not `-EAGAIN`, which asks
    /// to be tried again.
    fn busy() -> Self::C;
}

/// A status or a count; an error is its negative code.
impl CReturn for Result<c_int> {
    type C = c_int;

    fn into_c(self) -> c_int {
        self.unwrap_or_else(Error::code)
    }

    fn failed() -> c_int {
        Error::GENERIC.code()
    }

    fn busy() -> c_int {
        BUSY
    }
}

/// Success is 0.
impl CReturn for Result<()> {
    type C = c_int;

    fn into_c(self) -> c_int {
        self.map_or_else(Error::code, |()| 0)
    }

    fn failed() -> c_int {
        Error::GENERIC.code()
    }

    fn busy() -> c_int {
        BUSY
    }
}

/// A number that is not a status, as it is.
impl CReturn for c_int {
    type C = c_int;

    fn into_c(self) -> c_int {
        self
    }

    fn failed() -> c_int {
        Error::GENERIC.code()
    }

    fn busy() -> c_int {
        BUSY
    }
}

/// A number that callers take for a count, a flag or the end of a list: `NONE` says "no more",
/// whatever went wrong.
pub(crate) struct Plain<const NONE: c_int>(pub(crate) c_int);

impl<const NONE: c_int> CReturn for Plain<NONE> {
    type C = c_int;

    fn into_c(self) -> c_int {
        self.0
    }

    fn failed() -> c_int {
        NONE
    }

    fn busy() -> c_int {
        NONE
    }
}

impl CReturn for () {
    type C = ();

    fn into_c(self) {}

    fn failed() {}

    fn busy() {}
}

/// A pointer; "none" and a panic are NULL.
impl<T> CReturn for *mut T {
    type C = *mut T;

    fn into_c(self) -> *mut T {
        self
    }

    fn failed() -> *mut T {
        ptr::null_mut()
    }

    fn busy() -> *mut T {
        ptr::null_mut()
    }
}

/// A value for the driver of a machine rather than for C.
pub(crate) struct Inside<T>(pub(crate) T);

/// What became of a step.
pub(crate) enum Outcome<T> {
    /// It gave a value.
    Value(T),
    /// It panicked.
    Failed,
    /// It was refused, as this thread is inside of the library already.
    Busy,
}

impl<T> CReturn for Inside<T> {
    type C = Outcome<T>;

    #[inline(always)]
    fn into_c(self) -> Outcome<T> {
        Outcome::Value(self.0)
    }

    fn failed() -> Outcome<T> {
        Outcome::Failed
    }

    fn busy() -> Outcome<T> {
        Outcome::Busy
    }
}

/// Something for the exported function itself, which turns it into what C gets; `None` after a
/// panic.
impl<T> CReturn for Option<&T> {
    type C = Self;

    fn into_c(self) -> Self {
        self
    }

    fn failed() -> Self {
        None
    }

    fn busy() -> Self {
        None
    }
}
