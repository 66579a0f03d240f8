//! Lines of the log for tests: a harness keeps what its agent logs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;

/// Maximum number of lines that are kept for a test.
const LINES: usize = 10_000;

thread_local! {
    static READER: Cell<Reader> = const { Cell::new(Reader(None)) };
}

static KEPT: Mutex<BTreeMap<u64, Vec<String>>> = Mutex::new(BTreeMap::new());

/// The test that reads the lines of a thread, if any.
#[derive(Clone, Copy)]
pub(crate) struct Reader(Option<u64>);

impl Reader {
    /// The reader of this thread. A thread that this one starts takes it over.
    pub(crate) fn current() -> Reader {
        READER.get()
    }

    /// Makes it that of this thread.
    pub(crate) fn take_over(self) {
        READER.set(self);
    }
}

/// Lines that are kept until this is dropped.
#[derive(Debug)]
pub(crate) struct Lines(u64);

impl Lines {
    /// No lines yet: those that this thread logs from now on.
    pub(crate) fn of_this_thread() -> Lines {
        static LAST: Mutex<u64> = Mutex::new(0);
        let number = {
            let mut last = LAST.lock();
            *last += 1;
            *last
        };
        KEPT.lock().insert(number, Vec::new());
        let lines = Lines(number);
        lines.follow();
        lines
    }

    /// Keeps what this thread logs from now on.
    pub(crate) fn follow(&self) {
        Reader(Some(self.0)).take_over();
    }

    /// All lines so far.
    pub(crate) fn text(&self) -> String {
        KEPT.lock()
            .get(&self.0)
            .map_or_else(String::new, |lines| lines.concat())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        KEPT.lock().remove(&self.0);
        if READER.get().0 == Some(self.0) {
            READER.set(Reader(None));
        }
    }
}

/// Keeps a message for the tests that read it: for the test of this thread, or for all tests if the
/// agent has started the thread itself. Returns false without such a test.
pub(super) fn keep(severity: &str, message: &fmt::Arguments<'_>) -> bool {
    // A thread may log while its other objects are destroyed.
    let Ok(Reader(reader)) = READER.try_with(Cell::get) else {
        return false;
    };
    // Before the lock: what is logged may be a type of the agent that logs when it is shown.
    let line = format!("{severity}: {message}\n");
    let mut kept = KEPT.lock();
    let is_for = |number: &u64| reader.is_none_or(|reader| reader == *number);
    let mut is_kept = false;
    for (_, lines) in kept.iter_mut().filter(|(number, _)| is_for(number)) {
        is_kept = true;
        if lines.len() < LINES {
            lines.push(line.clone());
        }
    }
    is_kept
}
