//! Queues of events that clients read at their own pace.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use pmda_core::log::Counted;
use pmda_core::queue::{Counters, End, Ending, FetchSession, FetchState, Payload, Queues};

use crate::profile::Profile;
use crate::{Client, ClientId, Code, Def, Encoder, Error, Events, IndomRef, Metrics, Record, Result, Value, guard};

/// The one queue of its table.
const HANDLE: i32 = 0;

/// A queue of events of type `P`, shown by a metric that is declared with [`Metrics::events`].
///
/// Each client sees each event once that comes after its first fetch and that passes its filter, if
/// it has one. Events wait until all clients have seen them, or until more come than the queue
/// holds: then the oldest go, and clients that have missed them are told how many.
pub struct Queue<P> {
    queues: Arc<Mutex<Queues<Waiting<P>, usize>>>,
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
    /// Only the agent's thread locks it, to show it. So threads can share the queue although an
    /// event may be of a type that they cannot share.
    event: Arc<Mutex<P>>,
}

/// Adds events to a queue from any thread: each gets a clone of it. It does not wake the agent, as
/// the queue is read when clients ask.
pub struct QueueSender<P> {
    queues: Arc<Mutex<Queues<Waiting<P>, usize>>>,
    losses: Arc<Mutex<Losses>>,
}

/// The events that a queue could not take: for them the log has a line a minute.
#[derive(Default)]
struct Losses {
    /// The number of those that no line has told yet.
    untold: u64,
    told: Option<Instant>,
}

/// More clients than a queue will ever have, and few enough to add the present ones.
const ALWAYS_ONE_MORE: u32 = 1 << 31;

/// The least time between two lines about lost events.
const PAUSE: Duration = Duration::from_secs(60);

impl Losses {
    /// Counts an event. Returns how many a line should tell of, if one is due.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if self
            .told
            .is_some_and(|told| now.saturating_duration_since(told) < PAUSE)
        {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

impl<P> QueueSender<P> {
    /// Adds an event that has happened just now.
    pub fn push(&self, event: P) {
        self.push_weighing(1, SystemTime::now(), event);
    }

    /// Adds an event of some weight that has happened at a time, as [`Queue::push_weighing`].
    pub fn push_weighing(&self, weight: usize, time: SystemTime, event: P) {
        let event = Arc::new(Mutex::new(event));
        let outcome = self
            .queues
            .lock()
            .append(HANDLE, weight, |_| Ok(Waiting { time, event }));
        if let Err(error) = outcome {
            let due = self.losses.lock().count(Instant::now());
            match due {
                Some(1) => log::warn!("an event is lost: {error}"),
                Some(events) => log::warn!("{events} events are lost, the last one: {error}"),
                None => {}
            }
        }
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

    /// Adds an event that has happened just now.
    pub fn push(&mut self, event: P) {
        self.push_weighing(1, SystemTime::now(), event);
    }

    /// Adds an event of some weight, such as its size in bytes, that has happened at a time. The
    /// limit of the queue is for the weights of its events together; an event that is heavier than
    /// the limit is dropped; the log has at most one line a minute for such events.
    pub fn push_weighing(&mut self, weight: usize, time: SystemTime, event: P) {
        self.sender().push_weighing(weight, time, event);
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
        self.queues.lock().register(client.0)?;
        let free = self.filters.iter().position(Option::is_none);
        let index = free.unwrap_or(self.filters.len());
        let old = self.queues.lock().set_filter(client.0, HANDLE, index, true)?;
        if let Some(old) = old {
            self.release(old);
        }
        match self.filters.get_mut(index) {
            Some(free) => *free = Some(Box::new(filter)),
            None => self.filters.push(Some(Box::new(filter))),
        }
        Ok(())
    }

    /// Lets a client see all events again.
    pub fn clear_filter(&mut self, client: ClientId) {
        let old = self.queues.lock().set_filter(client.0, HANDLE, usize::MAX, false);
        if let Ok(Some(old)) = old {
            self.release(old);
        }
    }

    fn release(&mut self, filter: usize) {
        if let Some(filter) = self.filters.get_mut(filter) {
            *filter = None;
        }
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
        loop {
            let filter = self.queues.lock().end(client.0, &mut ending);
            let Some(filter) = filter else { return };
            self.release(filter);
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
        let mut reading = {
            let mut queues = self.queues.lock();
            queues.register(id)?;
            queues.set_access(id, HANDLE, true)?;
            let mut session = FetchSession::new(HANDLE, id);
            queues.begin(&mut session, |_| Ok(()))?;
            Reading {
                queues: &self.queues,
                session,
            }
        };
        let mut events = Events::none();
        let (mut failed, mut failure) = (0, None::<Error>);
        while let FetchState::Showing(event, filter) = reading.session.state {
            let filter = filter.and_then(|filter| self.filters.get(filter)?.as_ref());
            let waiting = self
                .queues
                .lock()
                .payload(&event)
                .map(|waiting| (waiting.time, Arc::clone(&waiting.event)));
            // The queue is not locked while the agent looks at the event: it may add another one.
            if let Some((time, event)) = waiting {
                let event = event.lock();
                let fits = show_if_seen(&*event, time, filter, &show, &mut events);
                if fits == Err(Error::TOOBIG) && !events.is_empty() {
                    // The client has not seen it.
                    break;
                }
                if let Err(error) = fits {
                    failed += 1;
                    failure.get_or_insert(error);
                }
            }
            reading.queues.lock().advance(&mut reading.session);
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
    queues: &'q Mutex<Queues<Waiting<P>, usize>>,
    session: FetchSession<(), usize>,
}

impl<P> Drop for Reading<'_, P> {
    fn drop(&mut self) {
        self.queues.lock().break_off(&mut self.session);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first loss is told at once, those of the next minute together, by the one that follows
    /// it.
    #[test]
    fn losses() {
        let mut losses = Losses::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let told = [0, 0, 1, 59, 60, 61, 200].map(|seconds| losses.count(at(seconds)));
        assert_eq!(told, [Some(1), None, None, None, Some(4), None, Some(2)]);
    }
}
