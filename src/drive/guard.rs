//! The panic guard that every exported function goes through.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::drive::ret::CReturn;
use crate::sys::libpcp::log;
use crate::sys::reentrancy::ReentrancyGuard;
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

#[cfg(test)]
mod tests {
    use std::ffi::c_int;
    use std::ptr;

    use super::*;
    use pmda_core::error::{Error, Result};

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
