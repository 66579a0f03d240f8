//! The event queues of the process and their clients; the release of filters, which end by another
//! filter, with their client or with their queue; and the work of `pmdaEventQueueRecords`, by which
//! a client fetches the events that it has not seen.

pub(crate) mod exports;

use std::ffi::c_int;
use std::ptr::NonNull;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::boundary::NoDropCell;
use crate::events;
use crate::state::{self, Globals};
use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::sys::refusal::{Refusable, Refusal};
use crate::view::arg::{Cookie, Needed, Number, Out};
use crate::view::event_block::{EventBlock, EventView, NewEvent};
use crate::view::interface::Function;
use crate::view::types::pmdaEventReleaseFilterCallBack;
use pmda_core::constants::{PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC};
use pmda_core::error::{Error, Result};
use pmda_core::events::{EventArray, EventArrays, Form, Stamp};
use pmda_core::log::{Journal, Level, Whole};
use pmda_core::queue::{Counters, End, Ending, FetchSession, FetchState, Leftovers, Queues};

pub(crate) use crate::state::Filter;

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
    if queues.has_gone() {
        drop_gone(queues);
    }
    // Mostly there is no journal, and `take` would write `None` all the same.
    if queues.journal.is_none() {
        return outcome;
    }
    if let Some(journal) = queues.journal.take() {
        write_journal(token, journal);
    }
    outcome
}

/// Drops the events that have left, and that are too large to be kept: memory of the library's own,
/// so no code of the agent runs.
#[cold]
fn drop_gone(queues: &mut Queues<EventBlock, Filter>) {
    while queues.take_gone().is_some() {}
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
) -> Refusable<c_int> {
    store(atom, value(with(token, |queues, _| queues.counters(handle))?))
}

/// Stores a value at the start of an atom: the result of a fetch callback.
///
/// # Errors
/// `-EINVAL` for NULL.
fn store<T: Number>(atom: Out<'_, T>, value: T) -> Refusable<c_int> {
    atom.needed(&"avp")?.set(value);
    Ok(PMDA_FETCH_STATIC)
}

/// Appends a copy of an event to a queue (QUEUE-10).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use, and for an event that is NULL; `-ENOMEM`.
pub(crate) fn append(token: &mut Token, handle: c_int, event: NewEvent<'_>) -> Refusable<()> {
    let size = event.size();
    let mut argument = None;
    let done = with(token, |queues, _| {
        queues.append(handle, size, |old| {
            EventBlock::copy(old, event).map_err(|refusal| {
                argument = refusal.argument;
                refusal.error
            })
        })
    });
    done.or_else(|error| refused(token, handle, size, error))
        .map_err(|error| Refusal { error, argument })
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
    /// The filters of a removed queue.
    leftovers: NoDropCell<Leftovers<Filter>>,
}

impl Release {
    /// The release of the filter that was replaced, if any.
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
        Ok(Release::new(old?))
    }

    /// Lets a queue go as soon as it has no clients (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub(crate) fn queue(token: &mut Token, handle: c_int) -> Result<Release> {
        let leftovers = with(token, |queues, _| queues.shutdown(handle));
        let mut release = Release::new(None);
        if let Some(leftovers) = leftovers? {
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

    /// Frees the event array of a removed queue, and keeps its filters for release.
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

/// Walks through the events that a client has not seen (QUEUE-31, QUEUE-32).
///
/// There is one step for each event, and none for the start and the end: the fetch begins in the
/// step that finds its first event, and ends in the one that passes its last.
///
/// An event that is shown to a filter or decoder stays alive, although this structure owns nothing
/// and has nothing to drop: so the callback may leave as it likes.
pub(crate) struct QueueFetch {
    /// The event that a call is about, and the array that decoders add records to.
    pub(crate) session: FetchSession<EventView, Filter>,
    /// The content of the caller's atom in the end, if any: an array of the state, or NULL.
    pub(crate) shown: Option<Option<NonNull<[u8]>>>,
    /// The outcome in the end.
    pub(crate) status: Result<c_int>,
    /// The answers of all decoders: not 0 if one has found something worth a record.
    records: c_int,
}

impl QueueFetch {
    /// A fetch of a client from a queue, which is still to begin.
    #[inline(always)]
    pub(crate) fn new(handle: c_int, context: c_int) -> QueueFetch {
        QueueFetch {
            session: FetchSession::new(handle, context),
            shown: None,
            status: Ok(PMDA_FETCH_NOVALUES),
            records: 0,
        }
    }

    /// Ends the fetch after a decoder has failed. Returns false: no call is due.
    #[cold]
    fn break_off(&mut self, queues: &mut Queues<EventBlock, Filter>, arrays: &mut EventArrays, error: Error) -> bool {
        queues.break_off(&mut self.session);
        self.outcome(arrays, Err(error))
    }

    /// Returns whether a call is due about the event that is shown.
    #[inline(always)]
    fn outcome(&mut self, arrays: &mut EventArrays, status: Result<()>) -> bool {
        match self.session.state {
            FetchState::Showing(..) => true,
            FetchState::Ended(end) => self.end(arrays, end, status),
        }
    }

    /// At the end of the fetch stores the address of the array: NULL when no decoder has found
    /// anything worth a record. There is no call to be made then.
    #[inline(always)]
    fn end(&mut self, arrays: &mut EventArrays, end: End, mut status: Result<()>) -> bool {
        let mut array = arrays.get(self.session.array);
        if let End::Missed(count @ 1..) = end {
            status = match &mut array {
                Ok(array) => add_missed(array, count),
                Err(error) => Err(*error),
            };
            self.records |= c_int::from(status.is_ok());
        }
        let shown = array.ok().filter(|_| self.records != 0 && end != End::Gone);
        let outcome = if shown.is_some() {
            PMDA_FETCH_STATIC
        } else {
            PMDA_FETCH_NOVALUES
        };
        self.shown = Some(shown.map(|array| NonNull::from(array.publish(Form::Low))));
        self.status = status.map(|()| outcome);
        false
    }

    /// Starts the fetch. Returns whether a call is due.
    #[inline(always)]
    pub(crate) fn start(&mut self, token: &mut Token) -> bool {
        let first = with(token, |queues, arrays| {
            queues.begin(&mut self.session, |array| arrays.get(array).map(EventArray::reset))?;
            Ok(self.outcome(arrays, Ok(())))
        });
        first.unwrap_or_else(|error| {
            if error == Error::NOCONTEXT {
                // The array was released through its handle.
                self.shown = Some(None);
            }
            self.status = Err(error);
            false
        })
    }

    /// Goes on with the answer to the last call. Returns whether another call is due.
    #[inline(always)]
    pub(crate) fn resume(&mut self, token: &mut Token, answer: c_int) -> bool {
        let next = with(token, |queues, arrays| {
            if let FetchState::Showing(_, Some(_)) = self.session.state {
                queues.judged(&mut self.session, answer);
                return Ok(self.outcome(arrays, Ok(())));
            }
            Ok(match Error::check(answer) {
                Ok(records) => {
                    self.records |= records;
                    queues.advance(&mut self.session);
                    self.outcome(arrays, Ok(()))
                }
                Err(error) => self.break_off(queues, arrays, error),
            })
        });
        next.unwrap_or_else(|error| {
            self.status = Err(error);
            false
        })
    }
}

/// Adds a record that says, with the present time, how many events the client has missed
/// (QUEUE-35).
///
/// # Errors
/// Those of [`EventArray::add_missed`].
#[cold]
fn add_missed(array: &mut EventArray, count: u64) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let stamp = Stamp::Low(seconds, i64::from(now.subsec_micros()));
    array.add_missed(stamp, c_int::try_from(count).unwrap_or(c_int::MAX))
}
