//! What an agent does wrong. A panic costs what the agent was asked for, and one line in the log;
//! an error is changed where pmcd would take it for another one.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::{Error, Result};

thread_local! {
    /// What the last panic says that the guard is to log.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether this thread is in [`serve`].
    static SERVING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
thread_local! {
    /// How many panics were caught: a test sees what would only be a line in the log.
    pub(crate) static CAUGHT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Panics that the guard catches are not printed: they are logged. To be called once before
/// [`serve`], at the start of an agent.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !SERVING.get() {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
            PANIC.set(Some(format!("{}{place}", text.unwrap_or("a panic"))));
        }));
    });
}

/// Serves a request, or whatever else calls the agent. What panics outside of [`call`] is a mistake
/// of this crate; it gives `PM_ERR_GENERIC`, too.
pub(crate) fn serve<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    SERVING.with(|serving| {
        let outer = serving.replace(true);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        serving.set(outer);
        outcome.unwrap_or_else(|payload| Err(caught(format_args!("a mistake in the crate pmda"), payload)))
    })
}

/// Calls the agent, within [`serve`]. A panic is logged with `what` it was asked for, and gives
/// `PM_ERR_GENERIC`.
pub(crate) fn call<R>(what: impl Display, agent: impl FnOnce() -> Result<R>) -> Result<R> {
    // What the agent left half done stays so, as after an error.
    let outcome = catch_unwind(AssertUnwindSafe(agent));
    outcome.unwrap_or_else(|payload| Err(caught(format_args!("{what}: the agent has panicked"), payload)))
}

#[cold]
fn caught(what: fmt::Arguments<'_>, payload: Box<dyn Any + Send>) -> Error {
    // Dropping a payload may panic as well.
    std::mem::forget(payload);
    let text = PANIC.take().unwrap_or_else(|| "a panic".to_owned());
    #[cfg(test)]
    CAUGHT.set(CAUGHT.get() + 1);
    log::error!("{what}: {text}");
    Error::GENERIC
}

/// An error of the agent as it may stand in a reply: pmcd would take some as failures of the
/// connection, and end the agent (WIRE-30).
pub(crate) fn agents(error: Error) -> Error {
    const TIMEOUT: i32 = -12353;
    if error == Error::IPC || error.code() == TIMEOUT {
        return Error::GENERIC;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this crate does wrong costs a request as well, and no more.
    #[test]
    fn own_mistakes() {
        install();
        // Another test may have run on this thread.
        CAUGHT.set(0);
        let outcome: Result<()> = serve(|| panic!("told to panic"));
        assert_eq!((outcome, SERVING.get(), CAUGHT.get()), (Err(Error::GENERIC), false, 1));
        let outcome = serve(|| {
            let inner: Result<()> = serve(|| call("a test", || panic!("told to panic")));
            Ok((inner.is_err(), SERVING.get()))
        });
        assert_eq!((outcome, CAUGHT.replace(0)), (Ok((true, true)), 2));
    }
}
