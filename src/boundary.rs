//! Calls into C, and the panic guard.
//!
//! What calls functions of an agent, or waits, consists of steps ([`guarded`]), and the exported
//! function makes the calls between them. During a call its frame holds no lock, borrow or
//! destructor. So a callback may call the library again, and may leave by returning, `longjmp`, an
//! exception, `pthread_exit` or a cancellation.
//!
//! Each step runs under the panic guard, as every exported function does, and gets a [`Token`], by
//! which it may take the lock.

use std::any::Any;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::sys::libpcp::log;
use crate::sys::lock::{Mutex, Token};
use crate::sys::reentrancy::ReentrancyGuard;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;

/// Something that is owned across a call into C. It leaks when the call does not return.
pub(crate) struct NoDropCell<T>(ManuallyDrop<Option<T>>);

impl<T> NoDropCell<T> {
    pub(crate) const fn new(value: T) -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(Some(value)))
    }

    pub(crate) const fn none() -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(None))
    }

    /// Puts a value in, and drops the one before.
    pub(crate) fn set(&mut self, value: T) {
        *self.0 = Some(value);
    }

    pub(crate) fn peek(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, if it was not taken.
    pub(crate) fn get(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Takes the value out.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

/// Names of functions in which debug builds panic, separated by blanks: for the tests of this
/// guard.
#[cfg(debug_assertions)]
const PROVOKE: &str = "PCP_PMDA_PANIC";

#[cfg(debug_assertions)]
static PROVOKED: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var(PROVOKE).ok());

/// Runs the body of an exported function and turns its result into what C gets.
///
/// A panic must not cross the edge, as pmcd loads this library. It is logged, and the caller sees
/// `PM_ERR_GENERIC` or NULL (MAIN-54).
///
/// A call in a signal handler on top of a call of the same thread gets `-EBUSY` (or NULL, or
/// nothing) at once: nothing is allocated, locked, waited for or said.
pub(crate) fn guard<R: CReturn>(body: impl FnOnce(&mut Token) -> R) -> R::C {
    let Some(mut entered) = ReentrancyGuard::enter() else {
        return R::BUSY;
    };
    let outcome = inner(|| body(&mut entered.token));
    entered.leave();
    outcome
}

/// Does a call of some ten instructions, with the lock, and without what [`guard`] has for a panic:
/// the work has none, allocates nothing and calls nobody (`tests/short.rs` proves it). `None` if
/// the work gives that, with several threads, on top of another call, or where a handler has left
/// one: then [`guard_apart`] does it.
#[inline(always)]
pub(crate) fn short<T, R>(state: &Mutex<T>, work: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
    #[cfg(debug_assertions)]
    if PROVOKED.is_some() {
        return None;
    }
    let mut entered = ReentrancyGuard::enter_unmarked()?;
    let outcome = state.alone(&mut entered.token).and_then(work);
    entered.leave();
    outcome
}

/// [`guard`] in a frame of its own, so that a short call need not save what only the other way
/// uses. It never unwinds, so its callers have no landing pad.
#[inline(never)]
pub(crate) extern "C" fn guard_apart<R: CReturn>(body: impl FnOnce(&mut Token) -> R) -> R::C {
    guard(body)
}

/// The result of a step, or the exported function's return value without it.
pub(crate) type Guarded<T> = std::result::Result<T, c_int>;

/// [`guard`] for a step. Its frame has nothing to drop, to unlock or to catch: what the steps own
/// meanwhile is in a [`NoDropCell`]. The result stays in registers, as it does not pass through the
/// catcher.
pub(crate) fn guarded<T>(body: impl FnOnce(&mut Token) -> T) -> Guarded<T> {
    const { assert!(!std::mem::needs_drop::<T>()) };
    let Some(mut entered) = ReentrancyGuard::enter() else {
        return Err(BUSY);
    };
    let mut outcome = Err(Error::GENERIC.code());
    // Unwind safety: as in `inner`.
    let end = catch_unwind(AssertUnwindSafe(|| {
        outcome = Ok(run_body(|| body(&mut entered.token)));
    }));
    if let Err(panic) = end {
        caught(panic);
    }
    entered.leave();
    outcome
}

/// [`guarded`] for a step that may fail: then the exported function returns the error.
pub(crate) fn try_guarded<T>(body: impl FnOnce(&mut Token) -> Result<T>) -> Guarded<T> {
    guarded(body)?.map_err(Error::code)
}

/// The return value of an exported function that consists of steps.
pub(crate) fn returned(outcome: Guarded<c_int>) -> c_int {
    outcome.unwrap_or_else(|code| code)
}

/// [`guard`] for what is already inside of the library.
pub(crate) fn inner<R: CReturn>(body: impl FnOnce() -> R) -> R::C {
    // Unwind safety: what a panic may leave half done is behind locks that are released while
    // unwinding, and every core module keeps its invariants at each point where it can panic.
    match catch_unwind(AssertUnwindSafe(|| run_body(body))) {
        Ok(value) => value.into_c(),
        Err(panic) => {
            caught(panic);
            R::FAILED
        }
    }
}

#[cfg(not(debug_assertions))]
#[inline(always)]
fn run_body<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Runs the body, or panics in its place when a test asks for it.
#[cfg(debug_assertions)]
fn run_body<R, F: FnOnce() -> R>(body: F) -> R {
    if let Some(wanted) = &*PROVOKED {
        // The type of the body has the exported function's name as one of its parts.
        let body = std::any::type_name::<F>();
        let is_here = |name: &&str| body.split("::").any(|part| part == *name);
        if let Some(function) = wanted.split_whitespace().find(is_here) {
            panic!("{function} was asked to panic");
        }
    }
    body()
}

#[cold]
#[inline(never)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is dropped here, once, and not where it was caught"
)]
fn caught(panic: Box<dyn Any + Send>) {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    // Logging could panic as well; then there is nothing left to say.
    let _ = catch_unwind(|| log::notify!(Level::Crit, "libpcp_pmda: internal error: {text}"));
}

/// The answer to a call on top of another one.
const BUSY: c_int = -libc::EBUSY;

/// The result of an exported function's body, and its form in C.
pub(crate) trait CReturn {
    /// The C type.
    type C;
    /// The value that C sees after a panic.
    const FAILED: Self::C;
    /// The value of a call in a signal handler on top of another one: not `-EAGAIN`, which asks to
    /// be tried again.
    const BUSY: Self::C;

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

impl CReturn for c_int {
    type C = c_int;
    const FAILED: c_int = Error::GENERIC.code();
    const BUSY: c_int = BUSY;

    fn into_c(self) -> c_int {
        self
    }
}

/// A number that callers take for a count, a flag or the end of a list: `NONE` says "no more".
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

/// Something that the exported function turns into what C gets.
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

    /// MAIN-54.
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

    #[test]
    fn results_pass() {
        assert_eq!(guard(|_| -> Result<c_int> { Ok(5) }), 5);
        assert_eq!(guard(|_| -> Result<c_int> { Err(Error::EINVAL) }), Error::EINVAL.code());
        assert_eq!(guard(|_| -> Result<()> { Ok(()) }), 0);
    }
}
