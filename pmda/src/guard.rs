//! Panics of the agent: each costs what the agent was asked for, and one line in the log.

use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::{Error, Result};

thread_local! {
    /// While the agent is called: what its panic says.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Whether the agent is called at this moment.
    static CALLED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
thread_local! {
    /// How many panics were caught: a test sees what would only be a line in the log.
    pub(crate) static CAUGHT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Panics that the guard catches are not printed: they are logged. To be called once before
/// [`call`], at the start of an agent.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !CALLED.get() {
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

/// Calls the agent. A panic is logged with `what` it was asked for, and gives `PM_ERR_GENERIC`.
pub(crate) fn call<R>(what: impl Display, agent: impl FnOnce() -> Result<R>) -> Result<R> {
    let outcome = CALLED.with(|called| {
        let outer = called.replace(true);
        // What the agent left half done stays so, as after an error.
        let outcome = catch_unwind(AssertUnwindSafe(agent));
        called.set(outer);
        outcome
    });
    outcome.unwrap_or_else(|payload| {
        // Dropping a payload may panic as well.
        std::mem::forget(payload);
        let text = PANIC.take().unwrap_or_else(|| "a panic".to_owned());
        #[cfg(test)]
        CAUGHT.set(CAUGHT.get() + 1);
        log::error!("{what}: the agent has panicked: {text}");
        Err(Error::GENERIC)
    })
}
