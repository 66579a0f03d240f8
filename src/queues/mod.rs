//! The event queues of the process and their clients; and what ends their filters: another filter,
//! the end of a client, and the end of a queue.

pub(crate) mod exports;
mod fetch;

use std::ffi::c_int;
use std::vec;

use crate::drive::{Machine, NoDropCell, Step};
pub(crate) use crate::queues::fetch::Fetch;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::view::agent::Function;
use crate::view::arg::{Cookie, Number, Out};
use crate::view::event_block::{Block, NewEvent};
use crate::view::types::{pmdaEventApplyFilterCallBack, pmdaEventReleaseFilterCallBack};
use crate::{events, library};
use pmda_core::error::{Error, Result};
use pmda_core::events::Arrays;
use pmda_core::fetch as agent_fetch;
use pmda_core::log::{Bytes, Journal, Level};
use pmda_core::queue::{ClientEndReport, Counters, Filters, Leftovers, Queues};

/// A filter as the agent gave it.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    /// What its functions get.
    pub(crate) data: Cookie,
    /// Decides about an event; anything but 0 drops it.
    pub(crate) apply: pmdaEventApplyFilterCallBack,
    /// Frees it.
    pub(crate) release: pmdaEventReleaseFilterCallBack,
}

/// A filter's own function, and what it gets.
pub(crate) type ReleaseCall = (Function<pmdaEventReleaseFilterCallBack>, Cookie);

impl Filter {
    /// The agent's release function, if it has one: it gets NULL if there is no filter (E-12,
    /// E-13).
    fn release(self) -> Option<ReleaseCall> {
        self.release.map(|release| (release, self.data))
    }
}

fn made(queues: &mut Vec<Queues<Block, Filter>>) -> Result<&mut Queues<Block, Filter>> {
    if queues.is_empty() {
        queues.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
        queues.push(Queues::new());
    }
    Ok(&mut queues[0])
}

/// Works on all queues and clients. Nothing of C is called meanwhile.
///
/// # Errors
/// `-ENOMEM` when there is no memory for the state of the library.
fn with<R>(work: impl FnOnce(&mut Queues<Block, Filter>) -> R) -> Result<R> {
    Ok(work(made(&mut library::lock()?.queues)?))
}

/// [`with`] for work on event arrays as well.
///
/// # Errors
/// As [`with`].
fn with_arrays<R>(work: impl FnOnce(&mut Queues<Block, Filter>, &mut Arrays) -> R) -> Result<R> {
    let library = &mut *library::lock()?;
    Ok(work(made(&mut library.queues)?, &mut library.arrays))
}

/// Makes a queue for a number of clients that will fetch later (QUEUE-1, E-8).
///
/// # Errors
/// As [`Queues::create`].
pub(crate) fn create(name: &[u8], limit: usize, clients: u32) -> Result<c_int> {
    with_arrays(|queues, arrays| queues.create(name, limit, clients, || arrays.create()))?
}

/// The handle of a queue (QUEUE-3).
///
/// # Errors
/// `-ESRCH`.
pub(crate) fn find(name: &[u8]) -> Result<c_int> {
    with(|queues| queues.find(name))?
}

/// Stores one of the counters of a queue in the leading bytes of an atom (QUEUE-5).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use, and for no atom.
pub(crate) fn counter<T: Number>(handle: c_int, atom: Out<'_, T>, value: impl FnOnce(Counters) -> T) -> Result<c_int> {
    let counters = with(|queues| queues.counters(handle))?;
    let counters = noted(handle, counters)?;
    store(atom, value(counters))
}

/// Stores the number of registered clients (QUEUE-21).
///
/// # Errors
/// `-EINVAL` for no atom.
pub(crate) fn clients(atom: Out<'_, u32>) -> Result<c_int> {
    let count = with(|queues| queues.clients())?;
    store(atom, count)
}

fn store<T: Number>(atom: Out<'_, T>, value: T) -> Result<c_int> {
    if atom.is_null() {
        return Err(Error::INVAL);
    }
    atom.set(value);
    Ok(agent_fetch::STATIC)
}

/// Appends a copy of an event to a queue (QUEUE-10).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use, or NULL for what is to be copied; `-ENOMEM`.
pub(crate) fn append(handle: c_int, event: NewEvent<'_>) -> Result<()> {
    let done = if log::debug(Debug::Libpmda) {
        append_logged(handle, event)
    } else {
        with(|queues| queues.append(handle, event.size(), |old| Block::copy(old, event))).and_then(|done| done)
    };
    done.or_else(|error| refused(handle, event.size(), error))
}

/// Appends an event, and says what becomes of it and of others.
#[cold]
fn append_logged(handle: c_int, event: NewEvent<'_>) -> Result<()> {
    let mut journal = Journal::new();
    let done = with(|queues| {
        queues.trace_append(handle, event.size(), SINCE_6_0_5, &mut journal);
        let done = queues.append(handle, event.size(), |old| Block::copy(old, event));
        if done.is_ok() {
            queues.trace_appended(handle, event.size(), &mut journal);
        }
        done
    })?;
    log::flush(&mut journal);
    noted(handle, done)
}

/// Says under -Dlibpmda that there is no queue any more behind a handle.
#[cold]
fn log_vacant(handle: c_int) {
    if log::debug(Debug::Libpmda) && with(|queues| queues.is_vacant(handle)) == Ok(true) {
        // The C library prints the name that it has cleared.
        log::debug_line!("Client queue (null) lookup but not inuse");
    }
}

/// Passes an outcome on; a failure may be that of a queue that has gone.
fn noted<T>(handle: c_int, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() {
        log_vacant(handle);
    }
    outcome
}

/// Says why an event was not stored; one that is too large is no error (E-19). Asks for no memory
/// that it needs.
#[cold]
fn refused(handle: c_int, size: usize, error: Error) -> Result<()> {
    if error == Error::TOOBIG {
        if let Ok(Ok(text)) = with(|queues| queues.too_large(handle, size)) {
            log::notify!(Level::Warning, "{}", Bytes(&text));
        }
        return Ok(());
    }
    if error == Error::NOMEM {
        let bytes = size.saturating_add(1);
        log::notify!(Level::Err, "event allocation failure: {bytes} bytes");
    }
    Err(error)
}

/// Registers a client; a known one keeps its place (QUEUE-20). Gives its slot.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn register(context: c_int) -> Result<c_int> {
    if !log::debug(Debug::Libpmda) {
        return with(|queues| queues.register(context))?;
    }
    let mut journal = Journal::new();
    let slot = with(|queues| {
        let known = queues.is_client(context);
        let slot = queues.register(context);
        if let (false, Ok(slot)) = (known, slot) {
            queues.trace_client(context, slot, &mut journal);
        }
        slot
    })?;
    log::flush(&mut journal);
    slot
}

/// Grants or denies a client the events of a queue (QUEUE-24).
///
/// # Errors
/// `-EINVAL` for an unknown client or queue.
pub(crate) fn set_access(context: c_int, handle: c_int, allow: bool) -> Result<()> {
    let done = with(|queues| queues.set_access(context, handle, allow))?;
    noted(handle, done)
}

/// Releases filters, and cleans up behind the queues that have gone with them.
pub(crate) struct Release {
    /// A filter that another one has replaced.
    replaced: Option<Filter>,
    /// What is to be said about each queue of a client that has ended, and whether its filter comes
    /// first.
    reports: NoDropCell<vec::IntoIter<ClientEndReport>>,
    /// What to log when the current filter was released.
    lines: NoDropCell<Journal>,
    /// The filters of a client that has ended.
    client: NoDropCell<Filters<Filter>>,
    /// The filters of a queue that has gone.
    queue: NoDropCell<vec::IntoIter<Filter>>,
    /// Whether other queues may have lost their last client.
    reaps: bool,
}

impl Release {
    fn new() -> Release {
        Release {
            replaced: None,
            reports: NoDropCell::none(),
            lines: NoDropCell::none(),
            client: NoDropCell::none(),
            queue: NoDropCell::none(),
            reaps: false,
        }
    }

    /// Installs a filter for a client and a queue, and grants access; the filter before it is
    /// released (QUEUE-25). No filter clears it.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, or a filter without `apply` (E-12).
    pub(crate) fn replaced(context: c_int, handle: c_int, filter: Filter) -> Result<Release> {
        let filtering = !filter.data.0.is_null();
        if filtering && filter.apply.is_none() {
            return Err(Error::INVAL);
        }
        let old = with(|queues| queues.set_filter(context, handle, filter, filtering))?;
        let replaced = noted(handle, old)?;
        Ok(Release {
            replaced,
            ..Release::new()
        })
    }

    /// Lets a queue go as soon as it has no clients (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub(crate) fn queue(handle: c_int) -> Result<Release> {
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            with(|queues| queues.trace_shutdown(handle, &mut journal))?;
            log::flush(&mut journal);
        }
        let leftovers = with(|queues| queues.shutdown(handle))?;
        let mut release = Release::new();
        if let Some(leftovers) = noted(handle, leftovers)? {
            release.clean_up(leftovers);
        }
        Ok(release)
    }

    /// Ends a client: its filters are released, and queues that were shut down go with their last
    /// client (QUEUE-26).
    pub(crate) fn client(context: c_int) -> Release {
        let mut release = Release::new();
        release.reaps = true;
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            let ended = with(|queues| (queues.trace_end(context, &mut journal), queues.end(context)));
            log::flush(&mut journal);
            if let Ok((reports, filters)) = ended {
                release.reports.set(reports.into_iter());
                release.client.set(filters);
            }
        } else if let Ok(filters) = with(|queues| queues.end(context)) {
            release.client.set(filters);
        }
        release
    }

    /// Cleans up behind a queue that has gone.
    fn clean_up(&mut self, leftovers: Leftovers<Filter>) {
        // Somebody may have released it through its handle, which is a small number and no secret.
        let _ = events::release(leftovers.array);
        self.queue.set(leftovers.filters.into_iter());
    }

    /// The next filter to release; what is due to be said about queues without one is said on the
    /// way.
    fn filter(&mut self) -> Option<Filter> {
        if let Some(filter) = self.replaced.take() {
            return Some(filter);
        }
        if let Some(mut lines) = self.lines.take() {
            log::flush(&mut lines);
        }
        while let Some(mut report) = self.reports.get().and_then(Iterator::next) {
            if !report.filter {
                log::flush(&mut report.lines);
                continue;
            }
            self.lines.set(report.lines);
            if let Some(filter) = self.client.get().and_then(Iterator::next) {
                return Some(filter);
            }
        }
        // Those of a client without memory for what was to be said, too.
        let filter = self.client.get().and_then(Iterator::next);
        filter.or_else(|| self.queue.get().and_then(Iterator::next))
    }

    fn step(&mut self) -> Step<ReleaseCall, Result<()>> {
        loop {
            while let Some(filter) = self.filter() {
                if let Some(call) = filter.release() {
                    return Step::Call(call);
                }
            }
            let leftovers = if self.reaps {
                with(Queues::reap).ok().flatten()
            } else {
                None
            };
            let Some(leftovers) = leftovers else { break };
            self.clean_up(leftovers);
        }
        drop((self.reports.take(), self.client.take(), self.queue.take()));
        Step::Done(Ok(()))
    }
}

impl Machine for Release {
    type Call = ReleaseCall;
    type Answer = ();
    type Done = Result<()>;

    fn start(&mut self) -> Step<ReleaseCall, Result<()>> {
        self.step()
    }

    fn resume(&mut self, (): ()) -> Step<ReleaseCall, Result<()>> {
        self.step()
    }
}
