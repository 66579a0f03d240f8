//! One fetch of one client from one queue, and the events that it shows to filters and decoders.

use super::backlog::{Access, Backlog, Event, Events, Payload, Queue, QueueReader};
use super::{Queues, in_use, trace};
use crate::error::{Error, Result};
use crate::log::Journal;

/// A fetch. It names queue and client by handle, slot and generation, so it outlives both (E-14).
#[derive(Clone, Copy, Debug)]
pub struct FetchSession<V, F> {
    /// The handle of the queue.
    pub handle: i32,
    /// The client's context.
    context: i32,
    /// The slot of the client.
    client: usize,
    /// The generation of the queue: another one may have its handle later.
    queue_generation: u64,
    /// The generation of the reader, which belongs to this client and this queue.
    generation: u64,
    /// The event array that the fetch fills.
    pub array: i32,
    /// The state of the fetch.
    pub state: FetchState<V, F>,
}

/// The state of a fetch.
#[derive(Clone, Copy, Debug)]
pub enum FetchState<V, F> {
    /// An event is shown to the decoder or, if there is a filter, first to that one. The client has
    /// not seen it to the end.
    Showing(Event<V>, Option<F>),
    /// No event is shown any more.
    Ended(End),
}

/// The end of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue still exists. The number is that of the events that were dropped before the client
    /// saw them.
    Missed(u64),
    /// The queue was removed, and its event array with it.
    Gone,
}

impl<V, F> FetchSession<V, F> {
    /// A fetch of a client from a queue, which has not begun.
    #[inline(always)]
    #[must_use]
    pub const fn new(handle: i32, context: i32) -> FetchSession<V, F> {
        FetchSession {
            handle,
            context,
            client: usize::MAX,
            queue_generation: 0,
            generation: 0,
            array: -1,
            state: FetchState::Ended(End::Gone),
        }
    }

    /// The event that is shown.
    #[inline(always)]
    pub const fn event(&self) -> Option<&Event<V>> {
        match &self.state {
            FetchState::Showing(event, _) => Some(event),
            FetchState::Ended(_) => None,
        }
    }

    /// The reader of the client; `None` if queue or client are not those any more with which the
    /// fetch began.
    #[inline(always)]
    fn reader<'q>(&self, readers: &'q mut [Option<QueueReader<F>>]) -> Option<&'q mut QueueReader<F>> {
        let reader = readers.get_mut(self.client)?.as_mut()?;
        (reader.generation == self.generation).then_some(reader)
    }
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Begins a fetch, has `prepare` prepare the event array, and shows the first event. The first
    /// fetch of a client makes it active, in a place that was kept for a client or in addition to
    /// the others (QUEUE-23, E-8).
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30), `-ENOMEM`, and the error of `prepare`.
    #[inline(always)]
    pub fn begin(
        &mut self,
        session: &mut FetchSession<P::EventData, F>,
        prepare: impl FnOnce(i32) -> Result<()>,
    ) -> Result<()> {
        let queue = in_use(&mut self.slots, session.handle)?.1;
        let context = session.context as u32;
        let near = self.by_context.get_at(context, self.last);
        // Behind the last client in the map, the first one has its turn.
        let near = near.or_else(|| self.by_context.get_at(context, 0));
        let client = near.or_else(|| self.by_context.get_anywhere(context));
        let (position, client) = client.ok_or(Error::EINVAL)?;
        self.last = position;
        let client = *client;
        let reader = queue.readers.get_mut(client).and_then(Option::as_mut);
        let Some(reader) = reader.filter(|reader| reader.is_active()) else {
            queue.activate(client, &mut self.generation, &mut self.events)?;
            return self.begin_first(session, prepare);
        };
        session.client = client;
        session.queue_generation = queue.generation;
        session.generation = reader.generation;
        session.array = queue.array;
        if let Some(journal) = &mut self.journal {
            trace::start(journal, queue, client, &self.events);
        }
        prepare(queue.array)?;
        if let Some(mut step) = queue.step(session) {
            step.show_next(session, &mut self.events, &mut self.journal);
        }
        Ok(())
    }

    /// [`Queues::begin`] for the first fetch of a client, which has become active.
    #[cold]
    #[inline(never)]
    fn begin_first(
        &mut self,
        session: &mut FetchSession<P::EventData, F>,
        prepare: impl FnOnce(i32) -> Result<()>,
    ) -> Result<()> {
        self.begin(session, prepare)
    }

    /// Notes that the client is done with the event that is shown, and shows the next one, or ends
    /// the fetch, which takes the number of missed events to report (QUEUE-35). Events to which the
    /// client has no access count as seen (E-18); of those it has missed none. Events that arrive
    /// during the fetch take part in it.
    #[inline(always)]
    pub fn advance(&mut self, session: &mut FetchSession<P::EventData, F>) {
        if self.show_another(session).is_none() {
            self.break_off(session);
        }
    }

    /// [`Queues::advance`]; `None` when the queue or the client was removed.
    #[inline(always)]
    fn show_another(&mut self, session: &mut FetchSession<P::EventData, F>) -> Option<()> {
        let (_, queue) = in_use(&mut self.slots, session.handle).ok()?;
        let mut step = queue.step(session)?;
        step.pass_shown(session, &mut self.events, &mut self.journal)?;
        step.show_next(session, &mut self.events, &mut self.journal)
    }

    /// The payload of an event that a fetch shows. It exists, since the fetch holds the event.
    pub fn payload(&self, event: &Event<P::EventData>) -> Option<&P> {
        self.events.get(event.slot).payload()
    }

    /// As [`Queues::payload`], mutable.
    pub fn payload_mut(&mut self, event: &Event<P::EventData>) -> Option<&mut P> {
        self.events.get_mut(event.slot).payload_mut()
    }

    /// Goes on after a filter has judged the event that is shown: any verdict but 0 drops the
    /// event. Otherwise it is to be decoded, if the queue and the client still exist.
    pub fn judged(&mut self, session: &mut FetchSession<P::EventData, F>, verdict: i32) {
        let queue = in_use(&mut self.slots, session.handle);
        let alive = queue.is_ok_and(|(_, queue)| session.reader(&mut queue.readers).is_some());
        if let Some(journal) = &mut self.journal {
            journal.debug(format_args!("Clientq filter applied ({verdict})"));
            trace::event::<P>(journal, session.event().filter(|_| alive), verdict != 0);
        }
        match session.state {
            FetchState::Showing(event, _) if alive && verdict == 0 => session.state = FetchState::Showing(event, None),
            _ => self.advance(session),
        }
    }

    /// Ends a fetch before its end. The client has not seen the event that is shown. What it has
    /// missed is reported by its next fetch.
    #[cold]
    pub fn break_off(&mut self, session: &mut FetchSession<P::EventData, F>) {
        if let Some(event) = session.event() {
            self.events.release(event.slot);
        }
        session.state = FetchState::Ended(match in_use(&mut self.slots, session.handle) {
            Ok((_, queue)) if queue.generation == session.queue_generation => End::Missed(0),
            _ => End::Gone,
        });
    }
}

impl<F> Queue<F> {
    /// Returns the reader and the queue that a step of a fetch works on; `None` when the client was
    /// removed.
    #[inline(always)]
    fn step<V>(&mut self, session: &FetchSession<V, F>) -> Option<FetchStep<'_, F>> {
        Some(FetchStep {
            reader: session.reader(&mut self.readers)?,
            backlog: &mut self.backlog,
            name: &self.name,
        })
    }
}

/// The data of a step of a fetch: the reader of its client, and the queue.
struct FetchStep<'q, F> {
    reader: &'q mut QueueReader<F>,
    backlog: &'q mut Backlog,
    name: &'q [u8],
}

impl<F: Copy> FetchStep<'_, F> {
    /// Notes that the client is done with the event that is shown; `None` if none is.
    #[inline(always)]
    fn pass_shown<P: Payload>(
        &mut self,
        session: &mut FetchSession<P::EventData, F>,
        events: &mut Events<P>,
        journal: &mut Option<Journal>,
    ) -> Option<()> {
        let &Event { slot, number, .. } = session.event()?;
        session.state = FetchState::Ended(End::Gone);
        let event = events.get_mut(slot);
        event.holders -= 1;
        // Otherwise a fetch inside of a callback of this one was faster.
        if self.reader.cursor == number {
            self.reader.cursor += 1;
            if let (true, Some(journal)) = (self.backlog.count_seen(number, event), &mut *journal) {
                trace::removal(journal, self.name, event);
            }
        }
        if event.holders == 0 {
            events.free(slot);
        }
        Some(())
    }

    /// Shows the next event, or ends the fetch; `None` if the event does not exist.
    #[inline(always)]
    fn show_next<P: Payload>(
        &mut self,
        session: &mut FetchSession<P::EventData, F>,
        events: &mut Events<P>,
        journal: &mut Option<Journal>,
    ) -> Option<()> {
        loop {
            let (backlog, reader) = (&*self.backlog, &mut *self.reader);
            // The events in front of the oldest one were evicted.
            let oldest = backlog.oldest;
            if reader.cursor < oldest {
                reader.missed += oldest - reader.cursor;
                reader.cursor = oldest;
            }
            let is_denied = reader.access == Access::Denied;
            let Some(slot) = backlog.get(reader.cursor) else {
                let missed = std::mem::take(&mut reader.missed);
                session.state = FetchState::Ended(End::Missed(if is_denied { 0 } else { missed }));
                return Some(());
            };
            let event = events.show(slot, reader.cursor)?;
            if reader.access == Access::Filtered {
                session.state = FetchState::Showing(event, reader.filter);
                return Some(());
            }
            session.state = FetchState::Showing(event, None);
            if let Some(journal) = &mut *journal {
                if is_denied {
                    journal.debug(format_args!("Clientq access denied"));
                }
                trace::event::<P>(journal, session.event(), is_denied);
            }
            if !is_denied {
                return Some(());
            }
            self.pass_shown(session, events, journal)?;
        }
    }
}

impl<F> Queue<F> {
    /// Makes a client active with its first fetch. `generation` is counted up for a new reader.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    fn activate<P: Payload>(&mut self, client: usize, generation: &mut u64, events: &mut Events<P>) -> Result<()> {
        // An announced client was waited for since the queue was made: it has missed all events
        // that were evicted since then.
        let cursor = if self.announced > 0 { 0 } else { self.backlog.oldest };
        self.enter(client, generation)?.cursor = cursor;
        self.announced = self.announced.saturating_sub(1);
        self.active = self.active.saturating_add(1);
        self.backlog.claim(events);
        Ok(())
    }
}
