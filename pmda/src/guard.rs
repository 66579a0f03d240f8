//! Mistakes of an agent. A panic costs what the agent was called for, and one line in the log.
//! Error codes that pmcd would take for others are changed.

use std::any::Any;
use std::cell::Cell;
use std::fmt::{self, Display};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Code, Error, Result};

thread_local! {
    /// The text of the last panic, which the guard is to log. It has no destructor, so that it is
    /// there until the very end of a thread: a host may call when other objects of the thread have
    /// been destroyed.
    static PANIC: ManuallyDrop<Cell<Option<String>>> = const { ManuallyDrop::new(Cell::new(None)) };
    static THREAD: Thread = const { Thread { number: Cell::new(0), serving: Cell::new(false) } };
}

/// State of a thread. Without a destructor, as [`PANIC`].
struct Thread {
    /// 0 when it has none yet.
    number: Cell<usize>,
    /// Set while it is in [`serve`].
    serving: Cell<bool>,
}

/// The number of a thread, which no other thread of the process ever has. An address or the
/// system's number of a thread would be used again after its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadNumber(usize);

impl Thread {
    #[inline]
    fn number(&self) -> ThreadNumber {
        if self.number.get() == 0 {
            self.give_number();
        }
        ThreadNumber(self.number.get())
    }

    #[cold]
    fn give_number(&self) {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        self.number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
}

#[cfg(test)]
thread_local! {
    /// The number of caught panics, for tests.
    pub(crate) static CAUGHT: Cell<u32> = const { Cell::new(0) };
}

/// Makes panics that the guard catches be logged rather than printed. To be called before
/// [`serve`], at the start of an agent; later calls do nothing.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_serving() {
                return before(info);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
            PANIC.with(|panic| panic.set(Some(format!("{}{place}", text.unwrap_or("a panic")))));
        }));
    });
}

fn is_serving() -> bool {
    THREAD.with(|thread| thread.serving.get())
}

/// Serves a request, or any other call from outside. The work gets the thread's number.
///
/// # Errors
/// Those of the work. `PM_ERR_GENERIC` for a panic outside of [`call`], which is a mistake of this
/// crate.
#[inline]
pub(crate) fn serve<R>(work: impl FnOnce(ThreadNumber) -> Result<R>) -> Result<R> {
    THREAD.with(|thread| {
        let outer = thread.serving.replace(true);
        let outcome = catch_unwind(AssertUnwindSafe(|| work(thread.number())));
        thread.serving.set(outer);
        outcome.unwrap_or_else(|payload| Err(caught(format_args!("a mistake in the crate pmda"), payload)))
    })
}

/// Calls the agent, within [`serve`]. A panic is logged with `what` the agent was called for.
///
/// # Errors
/// Those of the agent; `PM_ERR_GENERIC` for a panic.
#[inline]
pub(crate) fn call<R>(what: impl Display, agent: impl FnOnce() -> Result<R>) -> Result<R> {
    // Unwind safe: what the agent has left half done stays so, as after an error.
    let outcome = catch_unwind(AssertUnwindSafe(agent));
    outcome.unwrap_or_else(|payload| Err(caught(format_args!("{what}: the agent has panicked"), payload)))
}

/// Drops the payload of a panic. That may panic as well, and so on: after eight times the payload
/// is leaked.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(another) => payload = another,
        }
        PANIC.with(|panic| panic.take());
    }
    std::mem::forget(payload);
}

#[cold]
fn caught(what: fmt::Arguments<'_>, payload: Box<dyn Any + Send>) -> Error {
    let text = PANIC.with(|panic| panic.take()).unwrap_or_else(|| "a panic".to_owned());
    discard(payload);
    #[cfg(test)]
    CAUGHT.set(CAUGHT.get() + 1);
    log::error!("{what}: {text}");
    Error::GENERIC.logged()
}

/// An agent's error for a reply: pmcd takes some for failures of the connection, and would end the
/// agent (WIRE-30).
pub(crate) fn agents(error: Error) -> Error {
    match error.code() {
        Code::IPC | Code::TIMEOUT => error.with_code(Code::GENERIC),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Payloads are dropped, as long as that ends.
    #[test]
    fn payloads() {
        struct Bomb(Arc<AtomicUsize>, usize);
        impl Drop for Bomb {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
                if self.1 > 0 {
                    std::panic::panic_any(Bomb(Arc::clone(&self.0), self.1 - 1));
                }
            }
        }
        install();
        for (bombs, dropped) in [(0, 1), (3, 4), (100, 8)] {
            let count = Arc::new(AtomicUsize::new(0));
            let bomb = Bomb(Arc::clone(&count), bombs);
            let outcome: Result<()> = serve(|_| call("a test", || std::panic::panic_any(bomb)));
            assert_eq!((outcome, count.load(Ordering::Relaxed)), (Err(Error::GENERIC), dropped));
        }
    }

    /// Errors of this crate cost a request, too.
    #[test]
    fn own_mistakes() {
        install();
        CAUGHT.set(0);
        let outcome: Result<()> = serve(|_| panic!("told to panic"));
        assert_eq!((outcome, is_serving(), CAUGHT.get()), (Err(Error::GENERIC), false, 1));
        let outcome = serve(|_| {
            let inner: Result<()> = serve(|_| call("a test", || panic!("told to panic")));
            Ok((inner.is_err(), is_serving()))
        });
        assert_eq!((outcome, CAUGHT.replace(0)), (Ok((true, true)), 2));
    }
}
