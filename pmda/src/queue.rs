//! Queues of events that clients read at their own pace.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use pmda_core::log::Counted;
use pmda_core::queue::{Counters, End, Ending, FetchSession, FetchState, Payload, Queues};

use crate::client::{Client, ClientId};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::events::{Events, Record};
use crate::guard;
use crate::metrics::{Def, IndomRef, Metrics};
use crate::profile::Profile;
use crate::reports::Losses;
use crate::value::{Encoder, Value};

/// The one queue of its table.
const HANDLE: i32 = 0;

/// A queue of events of type `P`, shown by a metric that is declared with [`Metrics::events`].
///
/// Each client sees each event once that comes after its first fetch and that passes its filter, if
/// it has one. Events wait until all clients have seen them, or until more come than the queue
/// holds: then the oldest go, and clients that have missed them are told how many.
pub struct Queue<P> {
    queues: Arc<Shared<P>>,
    losses: Arc<Mutex<Losses>>,
    /// Filters of clients, by the number that the queue knows them by.
    filters: Vec<Option<Filter<P>>>,
    readable_by: Option<Access>,
}

/// Returns whether a client sees an event.
type Filter<P> = Box<dyn Fn(&P) -> bool>;

/// Returns whether a client may read events.
type Access = Box<dyn Fn(&Client) -> bool>;

/// An event in the queue.
struct Waiting<P> {
    time: SystemTime,
    /// `None` while the agent's thread shows it.
    event: Option<P>,
}

/// The queue, as its owner and its senders share it. It is not locked while an agent's code runs:
/// events are shown, and dropped, outside of it.
type Shared<P> = Mutex<Queues<Waiting<P>, usize>>;

/// Works on the queue, and drops the events that have left it by that: an event's `Drop` may push
/// into the queue.
fn change<P, R>(queues: &Shared<P>, work: impl FnOnce(&mut Queues<Waiting<P>, usize>) -> R) -> R {
    let (outcome, mut has_gone) = {
        let mut queues = queues.lock();
        (work(&mut queues), queues.has_gone())
    };
    while has_gone {
        let gone = queues.lock().take_gone();
        has_gone = gone.is_some();
        drop(gone);
    }
    outcome
}

/// Adds events to a queue from any thread: each gets a clone of it. It does not wake the agent, as
/// the queue is read when clients ask.
pub struct QueueSender<P> {
    queues: Arc<Shared<P>>,
    losses: Arc<Mutex<Losses>>,
}

/// More clients than a queue will ever have, and few enough to add the present ones.
const ALWAYS_ONE_MORE: u32 = 1 << 31;

impl<P> QueueSender<P> {
    /// Adds an event that has happened just now. Returns whether the queue has taken it: it has not
    /// if there is no memory, or if the queue was dropped, and its sender may end.
    pub fn push(&self, event: P) -> bool {
        self.push_weighing(1, SystemTime::now(), event)
    }

    /// Adds an event of some weight that has happened at a time, as [`Queue::push_weighing`].
    /// Returns whether the queue has taken it.
    pub fn push_weighing(&self, weight: usize, time: SystemTime, event: P) -> bool {
        // An event that no client waits for stays here, to be dropped when the queue is not locked.
        let mut event = Some(event);
        let outcome = change(&self.queues, |queues| {
            queues.append(HANDLE, weight, |_| {
                Ok(Waiting {
                    time,
                    event: event.take(),
                })
            })
        });
        match outcome {
            Ok(()) => return true,
            // The queue was dropped.
            Err(pmda_core::error::Error::EINVAL) => return false,
            Err(error) => {
                let due = self.losses.lock().count(1, Instant::now());
                match due {
                    Some(1) => log::warn!("an event is lost: {error}"),
                    Some(events) => log::warn!("{events} events are lost, the last one: {error}"),
                    None => {}
                }
            }
        }
        false
    }
}

impl<P> Clone for QueueSender<P> {
    fn clone(&self) -> QueueSender<P> {
        QueueSender {
            queues: Arc::clone(&self.queues),
            losses: Arc::clone(&self.losses),
        }
    }
}

impl<P> fmt::Debug for QueueSender<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("QueueSender")
    }
}

/// A fetch keeps nothing of an event: it finds the event in the queue when it shows it.
impl<P> Payload for Waiting<P> {
    type EventData = ();
    const KEPT: usize = 0;

    fn view(&self) {}
}

impl<P> Queue<P> {
    /// A queue that holds `limit` events. If they differ much in size, give them weights
    /// ([`Queue::push_weighing`]): then `limit` is for the sum of these.
    #[must_use]
    pub fn new(limit: usize) -> Queue<P> {
        Queue::expecting(0, limit)
    }

    /// A queue whose events stay until `limit` is reached, whether all clients have seen them or
    /// not: the first fetch of each client gets the events of the queue, and the number of those
    /// that were dropped. It is for a queue that is made while clients fetch already, such as that
    /// of a new process: with [`Queue::new`] a client would miss the events before its next fetch.
    #[must_use]
    pub fn with_history(limit: usize) -> Queue<P> {
        Queue::expecting(ALWAYS_ONE_MORE, limit)
    }

    /// A queue that keeps its events for this number of future clients.
    fn expecting(clients: u32, limit: usize) -> Queue<P> {
        let mut queues = Queues::new();
        // Cannot fail: it is the only queue of its table, has a limit, and needs no array.
        if let Err(error) = queues.create(b"", limit.max(1), clients, || Ok(HANDLE)) {
            log::error!("an event queue: {error}");
        }
        Queue {
            queues: Arc::new(Mutex::new(queues)),
            losses: Arc::default(),
            filters: Vec::new(),
            readable_by: None,
        }
    }

    /// Sets who may read events: the clients for which `may` returns true, by default all.
    #[must_use]
    pub fn readable_by(mut self, may: impl Fn(&Client) -> bool + 'static) -> Queue<P> {
        self.readable_by = Some(Box::new(may));
        self
    }

    /// Adds an event that has happened just now. Returns whether the queue has taken it: it has not
    /// if there is no memory.
    pub fn push(&mut self, event: P) -> bool {
        self.push_weighing(1, SystemTime::now(), event)
    }

    /// Adds an event of some weight, such as its size in bytes, that has happened at a time. The
    /// limit of the queue is for the weights of its events together. Returns whether the queue has
    /// taken it: it has not if the event is heavier than the limit, or if there is no memory; the log
    /// has at most one line a minute for such events. An event that no client waits for is taken, and
    /// dropped.
    pub fn push_weighing(&mut self, weight: usize, time: SystemTime, event: P) -> bool {
        self.sender().push_weighing(weight, time, event)
    }

    /// Returns a handle that adds events from other threads.
    #[must_use]
    pub fn sender(&self) -> QueueSender<P> {
        QueueSender {
            queues: Arc::clone(&self.queues),
            losses: Arc::clone(&self.losses),
        }
    }

    /// Sets a client's filter, in place of the one that it had: the client sees only events for
    /// which the function returns true.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn set_filter(&mut self, client: ClientId, filter: impl Fn(&P) -> bool + 'static) -> Result<()> {
        let free = self.filters.iter().position(Option::is_none);
        let index = free.unwrap_or(self.filters.len());
        let old = {
            let mut queues = self.queues.lock();
            queues.register(client.0)?;
            queues.set_filter(client.0, HANDLE, index, true)?
        };
        match self.filters.get_mut(index) {
            Some(free) => *free = Some(Box::new(filter)),
            None => self.filters.push(Some(Box::new(filter))),
        }
        // Last, as its drop is code of the agent.
        drop(old.and_then(|old| self.take_filter(old)));
        Ok(())
    }

    /// Lets a client see all events again.
    pub fn clear_filter(&mut self, client: ClientId) {
        let old = self.queues.lock().set_filter(client.0, HANDLE, usize::MAX, false);
        if let Ok(Some(old)) = old {
            drop(self.take_filter(old));
        }
    }

    fn take_filter(&mut self, filter: usize) -> Option<Filter<P>> {
        self.filters.get_mut(filter)?.take()
    }

    /// The number of events so far, whether a client has seen them or not.
    #[must_use]
    pub fn count(&self) -> usize {
        self.counter(|counters| counters.count.into())
    }

    /// The weight of the events that wait.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.counter(|counters| counters.memory)
    }

    /// The number of clients that read it.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.counter(|counters| counters.active.into())
    }

    fn counter(&self, of: impl FnOnce(Counters) -> u64) -> usize {
        let counters = self.queues.lock().counters(HANDLE);
        counters.map_or(0, |counters| usize::try_from(of(counters)).unwrap_or(usize::MAX))
    }

    /// Forgets a client whose context has ended.
    pub(crate) fn end(&mut self, client: ClientId) {
        let mut ending = Ending::default();
        // Dropped at the end, when the client is gone: a filter's drop is code of the agent.
        let mut filters = Vec::new();
        loop {
            let filter = change(&self.queues, |queues| queues.end(client.0, &mut ending));
            let Some(filter) = filter else { return };
            filters.push(self.take_filter(filter));
        }
    }

    /// Writes the events that a client has not seen yet: as many as one value may have.
    fn write<const HIGHRES: bool>(
        &mut self,
        client: &Client,
        show: impl Fn(&P, &mut Record<'_>),
        out: &mut Encoder<'_>,
    ) -> Result<()> {
        let (events, failure) = self.read::<HIGHRES>(client, show)?;
        out.failure = failure;
        Some(events).filter(|events| !events.is_empty()).write(out)
    }

    /// The events that a client has not seen yet. If they are too many for one value, the others are
    /// for its next fetch. One that cannot be shown, as it alone is too large or the agent panics,
    /// costs itself: it counts as missed, and the first reason is returned.
    fn read<const HIGHRES: bool>(
        &mut self,
        client: &Client,
        show: impl Fn(&P, &mut Record<'_>),
    ) -> Result<(Events<HIGHRES>, Option<Error>)> {
        if !self.readable_by.as_ref().is_none_or(|may| may(client)) {
            return Err(Error::PERMISSION);
        }
        let id = client.id().0;
        let mut reading = Reading {
            queues: &self.queues,
            session: FetchSession::new(HANDLE, id),
        };
        change(&self.queues, |queues| {
            queues.register(id)?;
            queues.set_access(id, HANDLE, true)?;
            queues.begin(&mut reading.session, |_| Ok(()))
        })?;
        let mut events = Events::none();
        let (mut failed, mut failure) = (0, None::<Error>);
        while let FetchState::Showing(event, filter) = reading.session.state {
            let filter = filter.and_then(|filter| self.filters.get(filter)?.as_ref());
            let taken = change(&self.queues, |queues| {
                let waiting = queues.payload_mut(&event)?;
                Some((waiting.time, waiting.event.take()?))
            });
            // The queue is not locked while the agent looks at the event: it may add another one.
            if let Some((time, content)) = taken {
                let fits = show_if_seen(&content, time, filter, &show, &mut events);
                let mut content = Some(content);
                change(&self.queues, |queues| {
                    if let Some(waiting) = queues.payload_mut(&event) {
                        waiting.event = content.take();
                    }
                });
                if fits == Err(Error::TOOBIG) && !events.is_empty() {
                    // The client has not seen it.
                    break;
                }
                if let Err(error) = fits {
                    failed += 1;
                    failure.get_or_insert(error);
                }
            }
            change(reading.queues, |queues| queues.advance(&mut reading.session));
        }
        let missed = match reading.session.state {
            FetchState::Ended(End::Missed(missed)) => usize::try_from(missed).unwrap_or(usize::MAX),
            _ => 0,
        };
        let missed = missed.saturating_add(failed);
        if missed > 0 {
            events.missed(SystemTime::now(), missed);
        }
        Ok((events, failure))
    }
}

/// Adds the record of an event, if it passes the filter of the client.
///
/// # Errors
/// `PM_ERR_TOOBIG` if the value has no room for it; `PM_ERR_GENERIC` for a panic.
fn show_if_seen<P, const HIGHRES: bool>(
    event: &P,
    time: SystemTime,
    filter: Option<&Filter<P>>,
    show: impl Fn(&P, &mut Record<'_>),
    events: &mut Events<HIGHRES>,
) -> Result<()> {
    let panicked = |panic: guard::PartPanic| panic.of("an event");
    let is_seen = guard::part(|| filter.is_none_or(|filter| filter(event))).map_err(panicked)?;
    if !is_seen {
        return Ok(());
    }
    let shown = events.record_if_it_fits(time, |record| guard::part(|| show(event, record)).map_err(panicked));
    shown.map_err(|error| match error.code() {
        Code::TOOBIG => error.text("an event is left out: its record is larger than a value may be (16 MiB)"),
        _ => error,
    })
}

/// A client that goes from event to event. An event at which it stops counts as not seen.
struct Reading<'q, P> {
    queues: &'q Shared<P>,
    session: FetchSession<(), usize>,
}

impl<P> Drop for Reading<'_, P> {
    fn drop(&mut self) {
        change(self.queues, |queues| queues.break_off(&mut self.session));
    }
}

/// Drops the events, some of which may hold a sender of this queue. What senders push from now on is
/// not taken.
impl<P> Drop for Queue<P> {
    fn drop(&mut self) {
        let events = std::mem::replace(&mut *self.queues.lock(), Queues::new());
        drop(events);
    }
}

impl<P> fmt::Debug for Queue<P> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Queue of {}", Counted(self.clients(), "client", "clients"))
    }
}

impl<S: 'static> Metrics<S> {
    /// Declares a metric that shows the events of a queue: `queue` finds it in the agent, `show`
    /// adds the parameters of an event to its record.
    pub fn events<P: 'static>(
        &mut self,
        name: impl AsRef<str>,
        queue: impl Fn(&mut S) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, S> {
        self.shown::<P, false>(name.as_ref(), queue, show)
    }

    /// As [`Metrics::events`], with records of high resolution (`PM_TYPE_HIGHRES_EVENT`).
    pub fn highres_events<P: 'static>(
        &mut self,
        name: impl AsRef<str>,
        queue: impl Fn(&mut S) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, S> {
        self.shown::<P, true>(name.as_ref(), queue, show)
    }

    /// Declares a metric that shows the events of a queue of each instance: `queue` finds it in the
    /// row, `show` adds the parameters of an event to its record. The functions of
    /// [`Def::store`] get the row, for a filter of its queue.
    pub fn each_events<T: 'static, P: 'static>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        queue: impl Fn(&mut T) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, T> {
        self.shown_of_each::<T, P, false>(name.as_ref(), indom, queue, show)
    }

    /// As [`Metrics::each_events`], with records of high resolution (`PM_TYPE_HIGHRES_EVENT`).
    pub fn each_highres_events<T: 'static, P: 'static>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        queue: impl Fn(&mut T) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, T> {
        self.shown_of_each::<T, P, true>(name.as_ref(), indom, queue, show)
    }

    fn shown_of_each<T: 'static, P: 'static, const HIGHRES: bool>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        queue: impl Fn(&mut T) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, T> {
        let queue = Rc::new(queue);
        let queue_to_end = Rc::clone(&queue);
        let write =
            move |row: &mut T, out: &mut Encoder<'_>, client: &Client| queue(row).write::<HIGHRES>(client, &show, out);
        let ended = move |row: &mut T, client| queue_to_end(row).end(client);
        let kind = <Events<HIGHRES> as Value>::TYPE;
        self.define_each_events(name, kind, indom, write, ended)
    }

    fn shown<P: 'static, const HIGHRES: bool>(
        &mut self,
        name: &str,
        queue: impl Fn(&mut S) -> &mut Queue<P> + 'static,
        show: impl Fn(&P, &mut Record<'_>) + 'static,
    ) -> Def<'_, S, S> {
        let queue = Rc::new(queue);
        let queue_to_end = Rc::clone(&queue);
        let fetch = move |state: &mut S, out: &mut Encoder<'_>, _: &Profile, client: &Client| {
            queue(state).write::<HIGHRES>(client, &show, out)
        };
        let ended = move |state: &mut S, client| queue_to_end(state).end(client);
        let kind = <Events<HIGHRES> as Value>::TYPE;
        self.define_events(name, kind, Box::new(fetch), Box::new(ended))
    }
}
