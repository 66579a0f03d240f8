//! The panic guard that every exported function goes through, and what its result becomes in C.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::sys::libpcp::log;
use crate::sys::reentrancy::ReentrancyGuard;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;

/// Debug builds panic in the functions whose names stand here, separated by blanks: for the tests
/// of this guard.
#[cfg(debug_assertions)]
const PROVOKE: &str = "PCP_PMDA_PANIC";

/// Runs the body of an exported function and turns its result into what C gets.
///
/// A panic must not cross the edge: pmcd loads this library into its own process. It is logged, and
/// the caller sees the failure value of the type, `PM_ERR_GENERIC` or NULL (MAIN-54).
///
/// A signal handler may call us on top of a call of the same thread. It gets `-EBUSY` (or NULL, or
/// nothing) at once: nothing is allocated, locked, waited for or said.
#[inline]
pub(crate) fn guard<R: CReturn>(body: impl FnOnce() -> R) -> R::C {
    let Some(entered) = ReentrancyGuard::enter() else {
        return R::busy();
    };
    let outcome = inner(body);
    entered.leave();
    outcome
}

/// What became of a step of a machine.
pub(crate) enum Outcome<C, D> {
    /// It wants a call into C.
    Call(C),
    /// It was the last.
    Done(D),
    /// It panicked.
    Failed,
    /// It was refused, as this thread is inside of the library already.
    Busy,
}

/// [`guard`] for a step of a machine, whose outcome is for the driver. It does not pass through the
/// hands of the catcher, so that it can stay in registers.
#[inline(always)]
pub(crate) fn step<S, C, D>(body: impl FnOnce() -> S, outcome_of: impl FnOnce(S) -> Outcome<C, D>) -> Outcome<C, D> {
    let Some(entered) = ReentrancyGuard::enter() else {
        return Outcome::Busy;
    };
    let mut outcome = Outcome::Failed;
    // Unwind safety: as in `inner`.
    let end = catch_unwind(AssertUnwindSafe(|| {
        outcome = outcome_of(run(body));
    }));
    if let Err(panic) = end {
        caught::<()>(&*panic);
    }
    // Mostly it is a call: with a way out of its own, the driver need not ask again what it was.
    if let Outcome::Call(wanted) = outcome {
        entered.leave();
        return Outcome::Call(wanted);
    }
    entered.leave();
    outcome
}

/// [`guard`] for what is already inside of the library: catches panics, no more.
#[inline]
pub(crate) fn inner<R: CReturn>(body: impl FnOnce() -> R) -> R::C {
    // Unwind safety: what a panic may leave half done is behind locks that are released while
    // unwinding, and every core module keeps its invariants at each point where it can panic.
    match catch_unwind(AssertUnwindSafe(|| run(body))) {
        Ok(value) => value.into_c(),
        Err(panic) => caught::<R>(&*panic),
    }
}

/// Runs the body.
#[cfg(not(debug_assertions))]
#[inline(always)]
fn run<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Runs the body, or panics in its place when a test asks for it.
#[cfg(debug_assertions)]
fn run<R, F: FnOnce() -> R>(body: F) -> R {
    static WANTED: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var(PROVOKE).ok());
    if let Some(wanted) = &*WANTED {
        // The type of the body is "…::FUNCTION::{{closure}}"; that of a driven one has this inside,
        // as the driver is generic.
        let body = std::any::type_name::<F>();
        let is_here = |name: &&str| {
            body.split("::")
                .zip(body.split("::").skip(1))
                .any(|(function, next)| function == *name && next.starts_with("{{closure}}"))
        };
        if let Some(function) = wanted.split_whitespace().find(is_here) {
            panic!("{function} was asked to panic");
        }
    }
    body()
}

/// The way out after a panic, kept out of line: it is never taken.
#[cold]
#[inline(never)]
fn caught<R: CReturn>(panic: &(dyn Any + Send)) -> R::C {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    // Logging could panic as well; then there is nothing left to say.
    let _ = catch_unwind(|| log::notify!(Level::Crit, "libpcp_pmda: internal error: {text}"));
    R::failed()
}

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
pub(crate) enum Inner<T> {
    /// It gave a value.
    Value(T),
    /// It panicked.
    Failed,
    /// It was refused, as this thread is inside of the library already.
    Busy,
}

impl<T> CReturn for Inside<T> {
    type C = Inner<T>;

    #[inline(always)]
    fn into_c(self) -> Inner<T> {
        Inner::Value(self.0)
    }

    fn failed() -> Inner<T> {
        Inner::Failed
    }

    fn busy() -> Inner<T> {
        Inner::Busy
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

#[cfg(test)]
mod tests {
    use super::*;

    /// MAIN-54: a panic ends here, as the failure of the type.
    #[test]
    fn panics_become_failures() {
        assert_eq!(guard(|| -> Result<c_int> { panic!("a text") }), Error::GENERIC.code());
        assert_eq!(
            guard(|| -> Result<()> { panic!("a number: {}", 1) }),
            Error::GENERIC.code()
        );
        assert_eq!(guard(|| -> *mut c_int { std::panic::panic_any(7) }), ptr::null_mut());
        guard(|| -> () { panic!("nothing to return") });
    }

    /// What is not a panic passes unchanged.
    #[test]
    fn results_pass() {
        assert_eq!(guard(|| -> Result<c_int> { Ok(5) }), 5);
        assert_eq!(guard(|| -> Result<c_int> { Err(Error::INVAL) }), Error::INVAL.code());
        assert_eq!(guard(|| -> Result<()> { Ok(()) }), 0);
    }
}
