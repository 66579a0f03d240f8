//! The event queues of the process and their clients; and the release of filters, which end by
//! another filter, with their client or with their queue.

pub(crate) mod exports;
mod fetch;

use std::ffi::c_int;

use crate::boundary::NoDropCell;
use crate::events;
pub(crate) use crate::queues::fetch::QueueFetch;
pub(crate) use crate::state::Filter;
use crate::state::{self, Globals};
use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::arg::{Cookie, Number, Out};
use crate::view::event_block::{EventBlock, NewEvent};
use crate::view::interface::Function;
use crate::view::types::pmdaEventReleaseFilterCallBack;
use pmda_core::constants::PMDA_FETCH_STATIC;
use pmda_core::error::{Error, Result};
use pmda_core::events::EventArrays;
use pmda_core::log::{Journal, Level, Whole};
use pmda_core::queue::{Counters, Ending, Leftovers, Queues};

/// Works on queues, clients and event arrays under the lock. Under `-Dlibpmda` its messages are
/// logged afterwards, without the lock. The work calls no code of C.
///
/// # Errors
/// `-ENOMEM` when the state or the queues cannot be made; errors of the work.
fn with<R>(
    token: &mut Token,
    work: impl FnOnce(&mut Queues<EventBlock, Filter>, &mut EventArrays) -> Result<R>,
) -> Result<R> {
    let globals = state::lock(token)?;
    let Globals { queues, arrays, .. } = &mut *globals;
    let queues = queues.get_or_make(make)?;
    if log::debug(Debug::Libpmda) {
        queues.journal = Some(Journal::new());
    }
    let outcome = work(queues, arrays);
    if let Some(journal) = queues.journal.take() {
        write_journal(token, journal);
    }
    outcome
}

/// The queues of a process that has none yet.
#[cold]
fn make() -> Queues<EventBlock, Filter> {
    let mut queues = Queues::new();
    queues.revised = SINCE_6_0_5;
    queues
}

/// Writes out the messages of the queues.
#[cold]
fn write_journal(token: &mut Token, mut journal: Journal) {
    log::flush(token, &mut journal);
}

/// Makes a queue for a number of clients that will fetch later (QUEUE-1, E-8).
///
/// # Errors
/// As [`Queues::create`].
pub(crate) fn create(token: &mut Token, name: &[u8], limit: usize, clients: u32) -> Result<c_int> {
    with(token, |queues, arrays| {
        queues.create(name, limit, clients, || arrays.create())
    })
}

/// Stores a counter of a queue in the leading bytes of an atom (QUEUE-5).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use, and for a NULL atom.
pub(crate) fn counter<T: Number>(
    token: &mut Token,
    handle: c_int,
    atom: Out<'_, T>,
    value: impl FnOnce(Counters) -> T,
) -> Result<c_int> {
    let counters = with(token, |queues, _| queues.counters(handle));
    let counters = noted(token, handle, counters)?;
    store(atom, value(counters))
}

/// Stores a value at the start of an atom: the result of a fetch callback.
///
/// # Errors
/// `-EINVAL` for NULL.
fn store<T: Number>(atom: Out<'_, T>, value: T) -> Result<c_int> {
    if atom.is_null() {
        return Err(Error::EINVAL);
    }
    atom.set(value);
    Ok(PMDA_FETCH_STATIC)
}

/// Appends a copy of an event to a queue (QUEUE-10).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use, and for an event that is NULL; `-ENOMEM`.
pub(crate) fn append(token: &mut Token, handle: c_int, event: NewEvent<'_>) -> Result<()> {
    let size = event.size();
    let done = with(token, |queues, _| {
        queues.append(handle, size, |old| EventBlock::copy(old, event))
    });
    noted(token, handle, done).or_else(|error| refused(token, handle, size, error))
}

/// Prints under `-Dlibpmda` that the queue of a handle has gone.
#[cold]
fn log_vacant(token: &mut Token, handle: c_int) {
    if log::debug(Debug::Libpmda) && with(token, |queues, _| Ok(queues.is_vacant(handle))) == Ok(true) {
        // The C library prints the name that it has cleared.
        log::debug_line!(token, "Client queue (null) lookup but not inuse");
    }
}

/// Returns `outcome` unchanged. If it is an error, the cause may be a queue that has gone: that is
/// printed.
///
/// # Errors
/// That of `outcome`.
fn noted<T>(token: &mut Token, handle: c_int, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() {
        log_vacant(token, handle);
    }
    outcome
}

/// Logs why an event was not stored. An event that is too large is no error (E-19).
///
/// # Errors
/// `error`, if it is one.
#[cold]
fn refused(token: &mut Token, handle: c_int, size: usize, error: Error) -> Result<()> {
    if error == Error::TOOBIG {
        if let Ok(text) = with(token, |queues, _| queues.too_large(handle, size)) {
            log::notify!(token, Level::Warning, "{}", Whole(&text));
        }
        return Ok(());
    }
    if error == Error::ENOMEM {
        let bytes = size.saturating_add(1);
        log::notify!(token, Level::Err, "event allocation failure: {bytes} bytes");
    }
    Err(error)
}

/// The release of filters one by one, and the end of queues that have lost their last client by it.
/// The agent's release functions are called between the steps.
pub(crate) struct Release {
    /// A filter that another one has replaced.
    replaced: Option<Filter>,
    /// The client that ends, and which of its filters were released.
    client: Option<(c_int, Ending)>,
    /// True if queues that were shut down may have lost their last client.
    reaps: bool,
    /// The filters of a queue that has gone.
    leftovers: NoDropCell<Leftovers<Filter>>,
}

impl Release {
    /// The release of a filter that was replaced, if there was one.
    fn new(replaced: Option<Filter>) -> Release {
        Release {
            replaced,
            client: None,
            reaps: false,
            leftovers: NoDropCell::none(),
        }
    }

    /// Installs a filter for a client and a queue, and grants access; the filter before it is
    /// released (QUEUE-25). A filter with NULL data clears it.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, or a filter without `apply` (E-12).
    pub(crate) fn replaced(token: &mut Token, context: c_int, handle: c_int, filter: Filter) -> Result<Release> {
        let filtering = !filter.data.0.is_null();
        if filtering && filter.apply.is_none() {
            return Err(Error::EINVAL);
        }
        let old = with(token, |queues, _| queues.set_filter(context, handle, filter, filtering));
        Ok(Release::new(noted(token, handle, old)?))
    }

    /// Lets a queue go as soon as it has no clients (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub(crate) fn queue(token: &mut Token, handle: c_int) -> Result<Release> {
        let leftovers = with(token, |queues, _| queues.shutdown(handle));
        let mut release = Release::new(None);
        if let Some(leftovers) = noted(token, handle, leftovers)? {
            release.clean_up(token, leftovers);
        }
        Ok(release)
    }

    /// Ends a client: its filters are released, and queues that were shut down go with their last
    /// client (QUEUE-26).
    pub(crate) fn client(context: c_int) -> Release {
        Release {
            client: Some((context, Ending::default())),
            ..Release::new(None)
        }
    }

    /// Frees the event array of a queue that has gone, and keeps its filters for release.
    fn clean_up(&mut self, token: &mut Token, leftovers: Leftovers<Filter>) {
        // The agent may have released the array already: its handle is a small number, which it can
        // guess.
        let _ = events::release(token, leftovers.array);
        self.leftovers.set(leftovers);
    }

    /// The next filter to release: its function, and the pointer that the function gets, which is
    /// NULL if the agent has set a NULL filter (E-13).
    pub(crate) fn next(&mut self, token: &mut Token) -> Option<(Function<pmdaEventReleaseFilterCallBack>, Cookie)> {
        loop {
            let filter = self.next_filter(token)?;
            if let Some(release) = filter.release {
                return Some((release, filter.data));
            }
        }
    }

    /// The next filter, with a release function or without.
    fn next_filter(&mut self, token: &mut Token) -> Option<Filter> {
        if let Some(filter) = self.replaced.take() {
            return Some(filter);
        }
        if let Some((context, ending)) = &mut self.client {
            if let Ok(Some(filter)) = with(token, |queues, _| Ok(queues.end(*context, ending))) {
                return Some(filter);
            }
            (self.client, self.reaps) = (None, true);
        }
        loop {
            if let Some(filter) = self.leftovers.get().and_then(Iterator::next) {
                return Some(filter);
            }
            drop(self.leftovers.take());
            if !self.reaps {
                return None;
            }
            let leftovers = with(token, |queues, _| Ok(queues.reap())).ok()??;
            self.clean_up(token, leftovers);
        }
    }
}
