//! Mistakes of an agent. A panic fails the call of the agent, and has one line in the log: as long
//! as calls for the same thing panic at the same place, no other line follows. Error codes that
//! pmcd would misunderstand are changed.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use pmda_core::log::Bytes;

use crate::code::Code;
use crate::error::{Error, Result};

thread_local! {
    /// The last panic. It has no destructor, so it exists until the very end of a thread: a host
    /// may call when other objects of the thread have been destroyed. [`OwnThread`] empties it.
    static PANIC: ManuallyDrop<Cell<Option<Panic>>> = const { ManuallyDrop::new(Cell::new(None)) };
    static THREAD: Thread = const {
        Thread { number: Cell::new(0), serving: Cell::new(false), has_notes: Cell::new(false) }
    };
    static NOTES: ManuallyDrop<RefCell<Notes>> = const { ManuallyDrop::new(RefCell::new(Notes::new())) };
}

/// State of a thread. Without a destructor, as [`PANIC`].
struct Thread {
    /// 0 when it has none yet.
    number: Cell<usize>,
    /// Set while it is in [`serve`].
    serving: Cell<bool>,
    /// The thread's [`Notes`] are not empty.
    has_notes: Cell<bool>,
}

/// Maximum number of calls whose panics are remembered, so that each is logged once.
const CALLS: usize = 10_000;

/// The panics of a thread's agent that later calls have to know.
struct Notes {
    /// The calls of the agent that have panicked, with the places in its source: from the first
    /// panic until such a call returns.
    logged: BTreeMap<String, BTreeSet<String>>,
    /// The first panic of a part of the present call, for its line.
    part: Option<Panic>,
}

impl Notes {
    const fn new() -> Notes {
        Notes {
            logged: BTreeMap::new(),
            part: None,
        }
    }

    /// Takes note of a panic. Returns false if such a call has panicked at the same location since one
    /// last returned.
    fn is_new(&mut self, what: &str, panic: &Panic) -> bool {
        if self.logged.len() >= CALLS && !self.logged.contains_key(what) {
            self.logged.clear();
        }
        let locations = self.logged.entry(what.to_owned()).or_default();
        locations.insert(panic.location.clone())
    }
}

/// A panic, as the log tells it.
struct Panic {
    /// The part of the call that has panicked, such as an instance.
    part: Option<String>,
    text: String,
    /// File, line and column.
    location: String,
}

impl Panic {
    /// Takes the last panic of this thread, and drops its payload.
    fn take(payload: Box<dyn Any + Send>) -> Panic {
        let panic = PANIC.with(|panic| panic.take());
        discard(payload);
        panic.unwrap_or_else(|| Panic::of("a panic", String::new()))
    }

    fn of(text: &str, location: String) -> Panic {
        Panic {
            part: None,
            text: Bytes(text.as_bytes()).to_string(),
            location,
        }
    }
}

impl Display for Panic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.part {
            write!(out, "{part}: ")?;
        }
        write!(out, "{}{}", self.text, self.location)
    }
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
            let location = info.location();
            let location = location.map(|location| format!(" at {location}")).unwrap_or_default();
            PANIC.with(|panic| panic.set(Some(Panic::of(text.unwrap_or("a panic"), location))));
        }));
    });
}

/// A thread of this crate: when it ends, its notes go with it.
pub(crate) struct OwnThread(());

impl OwnThread {
    /// Begins such a thread. As [`install`].
    pub(crate) fn begin() -> OwnThread {
        install();
        OwnThread(())
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        drop(PANIC.with(|panic| panic.take()));
        let notes = NOTES.with(|notes| std::mem::replace(&mut *notes.borrow_mut(), Notes::new()));
        drop(notes);
        THREAD.with(|thread| thread.has_notes.set(false));
    }
}

/// Returns whether the agent is called within [`serve`] on this thread.
pub(crate) fn is_serving() -> bool {
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

/// The log's words for a call of the agent that has panicked, and for one that has returned again.
const PANICKED: &str = "the agent has panicked";

/// Calls the agent, within [`serve`]. A panic is logged with `what` the agent was called for, by
/// which calls for the same thing are known.
///
/// # Errors
/// Those of the agent; `PM_ERR_GENERIC` for a panic.
#[inline]
pub(crate) fn call<R>(what: impl Display, agent: impl FnOnce() -> Result<R>) -> Result<R> {
    // Unwind safe: what the agent has left half done stays so, as after an error.
    let outcome = catch_unwind(AssertUnwindSafe(agent));
    match outcome {
        Ok(outcome) => {
            if THREAD.with(|thread| thread.has_notes.get()) {
                returned(format_args!("{what}: {PANICKED}"));
            }
            outcome
        }
        Err(payload) => Err(caught(format_args!("{what}: {PANICKED}"), payload)),
    }
}

/// Calls the agent for a part of a [`call`], such as the values of some instances. A panic costs
/// this part only.
///
/// # Errors
/// A panic.
#[inline]
pub(crate) fn part<R>(agent: impl FnOnce() -> R) -> std::result::Result<R, PartPanic> {
    catch_unwind(AssertUnwindSafe(agent)).map_err(PartPanic)
}

/// A panic of a part of a call.
#[must_use]
pub(crate) struct PartPanic(Box<dyn Any + Send>);

impl PartPanic {
    /// Takes note that this part has panicked. The call logs the first one.
    #[cold]
    pub(crate) fn of(self, part: impl Display) -> Error {
        let mut panic = Panic::take(self.0);
        panic.part = Some(part.to_string());
        NOTES.with(|notes| {
            notes.borrow_mut().part.get_or_insert(panic);
        });
        THREAD.with(|thread| thread.has_notes.set(true));
        Error::GENERIC.logged()
    }
}

/// Takes note that a call has returned: without a panic, or with one of a part.
#[cold]
fn returned(what: fmt::Arguments<'_>) {
    match NOTES.with(|notes| notes.borrow_mut().part.take()) {
        Some(panic) => log_panic(what, &panic),
        None => NOTES.with(|notes| {
            let logged = &mut notes.borrow_mut().logged;
            logged.remove(&what.to_string());
            THREAD.with(|thread| thread.has_notes.set(!logged.is_empty()));
        }),
    }
}

/// Logs a panic, unless it is known.
fn log_panic(what: fmt::Arguments<'_>, panic: &Panic) {
    let what = what.to_string();
    THREAD.with(|thread| thread.has_notes.set(true));
    // The notes are free again before the line is written, by a logger of the agent perhaps.
    let is_new = NOTES.with(|notes| notes.borrow_mut().is_new(&what, panic));
    if is_new {
        log::error!("{what}: {panic}");
    }
}

/// Drops the payload of a panic. That may panic as well, and so on: after eight times the payload
/// is leaked.
pub(crate) fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(another) => payload = another,
        }
        PANIC.with(|panic| drop(panic.take()));
    }
    std::mem::forget(payload);
}

#[cold]
fn caught(what: fmt::Arguments<'_>, payload: Box<dyn Any + Send>) -> Error {
    let panic = Panic::take(payload);
    #[cfg(test)]
    CAUGHT.set(CAUGHT.get() + 1);
    // A part that has panicked before needs no line beside that of the whole.
    NOTES.with(|notes| notes.borrow_mut().part = None);
    log_panic(what, &panic);
    // For the caller of a harness, who has no log if the agent has not started.
    Error::GENERIC.text(format_args!("{what}: {panic}")).logged()
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
    use crate::logger::capture::Lines;

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

    /// The notes of a thread of this crate go with it.
    #[test]
    fn notes_end_with_the_thread() {
        let known = || NOTES.with(|notes| notes.borrow().logged.len());
        let thread = OwnThread::begin();
        let outcome: Result<()> = serve(|_| call("a test", || panic!("told to panic")));
        let error = outcome.expect_err("a panic").to_string();
        assert!(
            error.starts_with("a test: the agent has panicked: told to panic at "),
            "{error}"
        );
        assert_eq!(known(), 1);
        drop(thread);
        assert_eq!(known(), 0);
    }

    /// A panic is logged once, until such a call returns; another place is told of as well.
    #[test]
    fn one_line_for_each_state() {
        install();
        let lines = Lines::of_this_thread();
        crate::logger::start("guard", log::LevelFilter::Info);
        let run = |what: &str, does: &str| {
            let outcome = serve(|_| {
                call(what, || {
                    assert!(does != "panic", "told to panic");
                    assert!(does != "other", "told to, {} lines", lines.text().len());
                    Ok(does)
                })
            });
            assert_eq!(outcome.is_err(), does != "return", "{does}");
            let text = lines.text();
            let shown = text.lines().map(|line| line.split(" at ").next().unwrap_or_default());
            shown.map(str::to_owned).collect::<Vec<_>>()
        };
        let line = |what: &str| format!("Error: {what}: the agent has panicked: told to panic");
        let mut expected = vec![line("one")];
        for (what, does, new) in [
            ("one", "panic", None),
            ("one", "panic", None),
            ("two", "return", None),
            ("two", "panic", Some(line("two"))),
            ("one", "panic", None),
            ("one", "return", None),
            ("two", "panic", None),
            ("one", "panic", Some(line("one"))),
        ] {
            expected.extend(new);
            assert_eq!(run(what, does), expected, "{what} {does}");
        }
        let other = run("one", "other");
        assert!(other.len() == 4 && other[3].contains("told to, "), "{other:?}");
        assert_eq!(run("one", "other"), other);
        assert_eq!(run("one", "panic"), other);
    }

    /// Parts of a call panic for themselves; the call logs the first one.
    #[test]
    fn parts() {
        install();
        let lines = Lines::of_this_thread();
        crate::logger::start("guard", log::LevelFilter::Info);
        let run = |bad: &'static [u32]| {
            serve(|_| {
                call("rows", || {
                    let row = |row: u32| {
                        let value = part(|| {
                            assert!(!bad.contains(&row), "told to panic");
                            row
                        });
                        value.map_err(|panic| panic.of(format_args!("row {row}")))
                    };
                    Ok([1, 2, 3].map(|number| row(number).ok()))
                })
            })
        };
        for _ in 0..3 {
            assert_eq!(run(&[2, 3]), Ok([Some(1), None, None]));
        }
        let line = "Error: rows: the agent has panicked: row 2: told to panic at ";
        assert!(
            lines.text().starts_with(line) && lines.text().lines().count() == 1,
            "{}",
            lines.text()
        );
        assert_eq!(run(&[]), Ok([Some(1), Some(2), Some(3)]));
        assert!(
            run(&[3]).is_ok() && lines.text().contains(": row 3: "),
            "{}",
            lines.text()
        );
        assert_eq!(lines.text().lines().count(), 2);
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
