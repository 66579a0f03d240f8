//! Calls into C, and the panic guard.
//!
//! A function that calls the agent, or waits for a descriptor, consists of steps ([`guarded`]); the
//! exported function makes the calls between them. During such a call the only frames of the
//! library on the stack are those of exported functions. They hold no lock, no borrow and no value
//! with a destructor. So a callback may call the library again, and may leave by return, `longjmp`
//! or an exception.
//!
//! Each step has the lock of the library, and runs under the panic guard, as the body of every
//! exported function does. The step gets a [`Token`], which leads to the values that the lock
//! guards, and which gives the lock to others while the step waits for something
//! ([`Token::apart`]).

use std::any::Any;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::sys::libpcp::fit;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::{Step, Token};
use crate::sys::refusal::Refusable;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;

/// A value that is owned across a call into C. It has no destructor. If the call does not return,
/// the value leaks: no code of the library runs then that could free it.
pub(crate) struct NoDropCell<T>(ManuallyDrop<Option<T>>);

impl<T> NoDropCell<T> {
    /// A cell with a value.
    pub(crate) const fn new(value: T) -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(Some(value)))
    }

    /// An empty cell.
    pub(crate) const fn none() -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(None))
    }

    /// Puts a value into the cell, and drops the one before.
    pub(crate) fn set(&mut self, value: T) {
        *self.0 = Some(value);
    }

    /// A shared reference to the value, if it was not taken.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, if it was not taken.
    pub(crate) fn get(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Takes the value out: it is dropped like any other from now on.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

/// The environment variable with the names of functions in which debug builds panic, separated by
/// blanks: for the tests of the guard.
#[cfg(debug_assertions)]
const PROVOKE: &str = "PCP_PMDA_PANIC";

#[cfg(debug_assertions)]
static PROVOKED: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var(PROVOKE).ok());

/// Runs the body of an exported function and turns its result into what C gets.
///
/// A panic must not reach C: pmcd loads this library into its own process. It is logged, and the
/// caller gets the failure value of the type, `PM_ERR_GENERIC` or NULL (MAIN-54).
///
/// A signal handler may call the library on top of a step of the same thread. It gets `-EBUSY` (or
/// NULL, or nothing) at once: nothing is allocated, locked, waited for or logged.
pub(crate) fn guard<R: CReturn>(body: impl FnOnce(&mut Token) -> R) -> R::C {
    let Some(mut step) = enter() else {
        return R::BUSY;
    };
    let outcome = inner(&mut step.token, body);
    step.leave();
    outcome
}

/// Begins a step. `None` on top of another one, and beside a libpcp that the library was not built
/// for (MAIN-58). The lock is closed until the first call has looked which libpcp it is.
#[inline(always)]
fn enter() -> Option<Step> {
    /// Another try, if the library fits.
    #[cold]
    #[inline(never)]
    fn enter_first() -> Option<Step> {
        if fit::fits() { Step::enter() } else { None }
    }

    Step::enter().or_else(enter_first)
}

/// The result of a step or, if the step failed, the value that the exported function returns.
pub(crate) type Guarded<T> = std::result::Result<T, c_int>;

/// [`guard`] for a step of a function that makes calls into C between its steps. After the step the
/// frame of that function has nothing to drop, to unlock or to catch: what it owns is in a
/// [`NoDropCell`], and the result has no destructor, as is asserted. The result is not passed
/// through `catch_unwind`, so that it can stay in registers.
///
/// # Errors
/// The return value after a panic, or on top of another step.
pub(crate) fn guarded<T>(body: impl FnOnce(&mut Token) -> T) -> Guarded<T> {
    const { assert!(!std::mem::needs_drop::<T>()) };
    let Some(mut step) = enter() else {
        return Err(BUSY);
    };
    let mut outcome = Err(Error::GENERIC.code());
    // Unwind safety: as in `inner`.
    let end = catch_unwind(AssertUnwindSafe(|| {
        outcome = Ok(run_body(&mut step.token, body));
    }));
    if let Err(panic) = end {
        caught(&mut step.token, panic);
    }
    step.leave();
    outcome
}

/// [`guarded`] for a step that may fail.
///
/// # Errors
/// As [`guarded`]; the code of the step's error.
pub(crate) fn try_guarded<T>(body: impl FnOnce(&mut Token) -> Result<T>) -> Guarded<T> {
    guarded(body)?.map_err(Error::code)
}

/// The return value of an exported function that consists of steps.
pub(crate) fn returned(outcome: Guarded<c_int>) -> c_int {
    outcome.unwrap_or_else(|code| code)
}

/// [`guard`] for code that is already inside of the library: it catches panics, and does nothing
/// else.
pub(crate) fn inner<R: CReturn>(token: &mut Token, body: impl FnOnce(&mut Token) -> R) -> R::C {
    let function = std::any::type_name_of_val(&body);
    // Unwind safety: the caller gives the lock back, and every core module keeps its invariants at
    // each point where it can panic.
    match catch_unwind(AssertUnwindSafe(|| run_body(token, body))) {
        Ok(value) => {
            if let Some(argument) = value.refused() {
                tell_refused(token, function, argument);
            }
            value.into_c()
        }
        Err(panic) => {
            caught(token, panic);
            R::FAILED
        }
    }
}

/// Logs under `-Dlibpmda` which argument of which function was refused (MAIN-59). `body` is the name of the body's
/// type, in which the exported function's name follows that of its module, `exports`.
#[cold]
fn tell_refused(token: &mut Token, body: &str, argument: &str) {
    if log::debug(Debug::Libpmda) {
        let function = body.split("::").skip_while(|part| *part != "exports").nth(1);
        log::trace!(
            token,
            "{}: argument {argument} must not be NULL\n",
            function.unwrap_or(body)
        );
    }
}

/// Runs the body.
#[cfg(not(debug_assertions))]
#[inline(always)]
fn run_body<R>(token: &mut Token, body: impl FnOnce(&mut Token) -> R) -> R {
    body(token)
}

/// Runs the body, or panics in its place when a test asks for it.
#[cfg(debug_assertions)]
fn run_body<R, F: FnOnce(&mut Token) -> R>(token: &mut Token, body: F) -> R {
    if let Some(wanted) = &*PROVOKED {
        // The type of the body has the exported function's name as one of its parts.
        let body = std::any::type_name::<F>();
        let is_here = |name: &&str| body.split("::").any(|part| part == *name);
        if let Some(function) = wanted.split_whitespace().find(is_here) {
            panic!("{function} was asked to panic");
        }
    }
    body(token)
}

/// Logs a panic.
#[cold]
#[inline(never)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is dropped here, once, and not where it was caught"
)]
fn caught(token: &mut Token, panic: Box<dyn Any + Send>) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    // Logging could panic as well: then nothing is said.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        log::notify!(token, Level::Crit, "libpcp_pmda: internal error: {text}");
    }));
}

/// The answer to a call on top of another one.
const BUSY: c_int = -libc::EBUSY;

/// The result of an exported function's body, and its form in C.
pub(crate) trait CReturn {
    /// The C type.
    type C;
    /// The value that C sees after a panic.
    const FAILED: Self::C;
    /// The value that C sees of a call in a signal handler on top of another call. It is not
    /// `-EAGAIN`, after which callers try again: in the handler that would not end.
    const BUSY: Self::C;

    /// The argument that was refused since it is NULL.
    fn refused(&self) -> Option<&'static str> {
        None
    }

    /// The value that C sees.
    fn into_c(self) -> Self::C;
}

/// A status or a count; an error is its negative code.
impl CReturn for Result<c_int> {
    type C = c_int;
    const FAILED: c_int = Error::GENERIC.code();
    const BUSY: c_int = BUSY;

    fn into_c(self) -> c_int {
        self.unwrap_or_else(Error::code)
    }
}

/// Success is 0.
impl CReturn for Result<()> {
    type C = c_int;
    const FAILED: c_int = Error::GENERIC.code();
    const BUSY: c_int = BUSY;

    fn into_c(self) -> c_int {
        self.map_or_else(Error::code, |()| 0)
    }
}

/// The result of a function that may refuse an argument.
impl<T: Copy> CReturn for Refusable<T>
where
    Result<T>: CReturn<C = c_int>,
{
    type C = c_int;
    const FAILED: c_int = Error::GENERIC.code();
    const BUSY: c_int = BUSY;

    fn refused(&self) -> Option<&'static str> {
        self.err()?.argument.copied()
    }

    fn into_c(self) -> c_int {
        self.map_err(|refusal| refusal.error).into_c()
    }
}

/// A number that is not a status is passed on unchanged.
impl CReturn for c_int {
    type C = c_int;
    const FAILED: c_int = Error::GENERIC.code();
    const BUSY: c_int = BUSY;

    fn into_c(self) -> c_int {
        self
    }
}

/// A number that callers take for a count, a flag or the end of a list. `NONE` means "no more": it
/// is returned after any failure, as callers do not expect an error code.
pub(crate) struct Plain<const NONE: c_int>(pub(crate) c_int);

impl<const NONE: c_int> CReturn for Plain<NONE> {
    type C = c_int;
    const FAILED: c_int = NONE;
    const BUSY: c_int = NONE;

    fn into_c(self) -> c_int {
        self.0
    }
}

impl CReturn for () {
    type C = ();
    const FAILED: () = ();
    const BUSY: () = ();

    fn into_c(self) {}
}

/// A pointer; "none" and a panic are NULL.
impl<T> CReturn for *mut T {
    type C = *mut T;
    const FAILED: *mut T = ptr::null_mut();
    const BUSY: *mut T = ptr::null_mut();

    fn into_c(self) -> *mut T {
        self
    }
}

/// A result for the exported function itself, which turns it into what C gets; `None` after a panic
/// and on top of another call.
impl<T> CReturn for Option<T> {
    type C = Self;
    const FAILED: Self = None;
    const BUSY: Self = None;

    #[inline(always)]
    fn into_c(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic ends at the guard, as the failure of the type (MAIN-54).
    #[test]
    fn panics_become_failures() {
        assert_eq!(guard(|_| -> Result<c_int> { panic!("a text") }), Error::GENERIC.code());
        assert_eq!(
            guard(|_| -> Result<()> { panic!("a number: {}", 1) }),
            Error::GENERIC.code()
        );
        assert_eq!(guard(|_| -> *mut c_int { std::panic::panic_any(7) }), ptr::null_mut());
        guard(|_| -> () { panic!("nothing to return") });
    }

    /// A result passes the guard unchanged.
    #[test]
    fn results_pass() {
        assert_eq!(guard(|_| -> Result<c_int> { Ok(5) }), 5);
        assert_eq!(guard(|_| -> Result<c_int> { Err(Error::EINVAL) }), Error::EINVAL.code());
        assert_eq!(guard(|_| -> Result<()> { Ok(()) }), 0);
    }
}
