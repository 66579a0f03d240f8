//! One fetch of one client from one queue, and the events that it shows to filters and decoders.

use super::backlog::Events;
use super::{Payload, Queue, Queues, in_use, trace};
use crate::error::{Error, Result};

/// The cursor of a client that has not fetched.
const IDLE: u64 = u64::MAX;

/// What is known about one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct Reader<F> {
    /// Different for each client and queue that ever had to do with each other, so that a fetch
    /// notices when one of them was ended.
    generation: u64,
    /// The number of the next event that the client has not seen; [`IDLE`] until its first fetch.
    pub(super) cursor: u64,
    pub(super) access: Access,
    /// One that was cleared is kept, since its release function runs when the client ends (E-13).
    pub(super) filter: Option<F>,
    /// Events that were evicted before the client saw them, and are not reported yet.
    missed: u64,
}

/// Which events a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// None, as at first.
    Denied,
    /// All.
    Allowed,
    /// Those that its filter lets pass, whether access is granted beside it or not.
    Filtered,
}

impl<F> Reader<F> {
    /// One that has not fetched, and has no access.
    pub(super) const fn new(generation: u64) -> Reader<F> {
        Reader {
            generation,
            cursor: IDLE,
            access: Access::Denied,
            filter: None,
            missed: 0,
        }
    }

    /// Whether the client has fetched from the queue.
    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }
}

/// An event that a client sees. Its payload stays alive until the fetch is done with it, whatever
/// happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    slot: u32,
    /// What the client's cursor was when it was shown.
    number: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}

/// A fetch under way. It names queue and client by slot and generation, so it outlives both (E-14).
#[derive(Clone, Copy, Debug)]
pub struct FetchSession<V, F> {
    queue: usize,
    queue_generation: u64,
    client: usize,
    /// That of the reader, which belongs to this queue and this client.
    generation: u64,
    /// The event array that the fetch fills.
    pub array: i32,
    /// The event that is shown: the client has not seen it to the end.
    pub event: Option<Event<V>>,
    /// The filter that has to let it pass first.
    pub filter: Option<F>,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue is still there; how many events were evicted before the client saw them.
    Missed(u64),
    /// The queue has gone, and its event array with it.
    Gone,
}

impl<V, F> FetchSession<V, F> {
    /// One that has not begun.
    pub const NONE: FetchSession<V, F> = FetchSession {
        queue: usize::MAX,
        queue_generation: 0,
        client: usize::MAX,
        generation: 0,
        array: -1,
        event: None,
        filter: None,
    };

    /// What is known of its client, if queue and client are still those that it began with.
    #[inline(always)]
    fn reader<'q>(&self, readers: &'q mut [Option<Reader<F>>]) -> Option<&'q mut Reader<F>> {
        let reader = readers.get_mut(self.client)?.as_mut()?;
        (reader.generation == self.generation).then_some(reader)
    }
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Begins a fetch. The first one of a client makes it active, in a place that was kept for a
    /// client or in addition to the others (QUEUE-23, E-8); it begins with the oldest event.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30), `-ENOMEM`.
    #[inline(always)]
    pub fn begin(&mut self, handle: i32, context: i32) -> Result<FetchSession<P::View, F>> {
        let (slot, queue) = in_use(&mut self.slots, handle)?;
        let context = context as u32;
        let near = self.by_context.get_at(context, self.last);
        // Behind the last one the first one has its turn again.
        let near = near.or_else(|| self.by_context.get_at(context, 0));
        let found = near.or_else(|| self.by_context.get_anywhere(context));
        let (place, client) = found.ok_or(Error::INVAL)?;
        self.last = place;
        let client = *client;
        let reader = queue.enter(client, &mut self.generation)?;
        let generation = reader.generation;
        if !reader.is_active() {
            queue.activate(client, &mut self.events);
        }
        if let Some(journal) = &mut self.journal {
            trace::start(journal, queue, client, &self.events);
        }
        Ok(FetchSession {
            queue: slot,
            queue_generation: queue.generation,
            client,
            generation,
            array: queue.array,
            event: None,
            filter: None,
        })
    }

    /// Takes note that the client is done with the event that it was shown, if there is one, and
    /// puts the next one in its place; or ends the fetch, which takes the number of missed events
    /// to report (QUEUE-35). Events that the client has no access to count as seen (E-18); of those
    /// it has missed none.
    ///
    /// Events that arrive during the fetch take part in it.
    #[inline(always)]
    pub fn advance(&mut self, session: &mut FetchSession<P::View, F>) -> Option<End> {
        let Some(queue) = self.slots.get_mut(session.queue) else {
            return Some(self.break_off(session));
        };
        let (name, backlog, readers) = (&queue.name, &mut queue.backlog, &mut queue.readers);
        let Some(reader) = session.reader(readers) else {
            return Some(self.break_off(session));
        };
        let events = &mut self.events;
        loop {
            if let Some(Event { slot, number, .. }) = session.event.take() {
                session.filter = None;
                let event = events.get_mut(slot);
                event.holders -= 1;
                // Else a fetch inside of a callback of this one was faster.
                if reader.cursor == number {
                    reader.cursor += 1;
                    if let (true, Some(journal)) = (backlog.seen(number, event), &mut self.journal) {
                        trace::removal(journal, name, event);
                    }
                }
                if event.holders == 0 {
                    events.free(slot);
                }
            }
            // What is in front of the oldest event was evicted.
            let oldest = backlog.oldest;
            if reader.cursor < oldest {
                reader.missed += oldest - reader.cursor;
                reader.cursor = oldest;
            }
            let Some(slot) = backlog.get(reader.cursor) else {
                let missed = std::mem::take(&mut reader.missed);
                return Some(End::Missed(if reader.access == Access::Denied { 0 } else { missed }));
            };
            let event = events.get_mut(slot);
            event.holders += 1;
            session.event = Some(Event {
                slot,
                number: reader.cursor,
                size: event.size,
                payload: event.payload()?.view(),
            });
            let is_denied = match reader.access {
                Access::Denied => true,
                Access::Allowed => false,
                Access::Filtered => {
                    session.filter = reader.filter;
                    return None;
                }
            };
            if let Some(journal) = &mut self.journal {
                if is_denied {
                    journal.debug(format_args!("Clientq access denied"));
                }
                trace::event::<P>(journal, session.event.as_ref(), is_denied);
            }
            if !is_denied {
                return None;
            }
        }
    }

    /// The payload of the event that a session is shown.
    pub fn payload(&self, session: &FetchSession<P::View, F>) -> Option<&P> {
        self.events.get(session.event.as_ref()?.slot).payload()
    }

    /// A filter has judged the event that is shown. Whether queue and client are still there.
    pub fn judged(&mut self, session: &FetchSession<P::View, F>, verdict: i32) -> bool {
        let queue = self.slots.get_mut(session.queue);
        let alive = queue.is_some_and(|queue| session.reader(&mut queue.readers).is_some());
        if let Some(journal) = &mut self.journal {
            journal.debug(format_args!("Clientq filter applied ({verdict})"));
            trace::event::<P>(journal, session.event.as_ref().filter(|_| alive), verdict != 0);
        }
        alive
    }

    /// Ends a fetch at the event that it is shown, which the client has not seen to the end. What
    /// it has missed is for the next one to report.
    #[cold]
    #[inline(never)]
    pub fn break_off(&mut self, session: &mut FetchSession<P::View, F>) -> End {
        if let Some(event) = session.event.take() {
            self.events.release(event.slot);
        }
        match self.slots.get(session.queue) {
            Some(queue) if queue.generation == session.queue_generation => End::Missed(0),
            _ => End::Gone,
        }
    }
}

impl<F> Queue<F> {
    /// A client has its first fetch.
    #[cold]
    #[inline(never)]
    fn activate<P: Payload>(&mut self, client: usize, events: &mut Events<P>) {
        if let Some(Some(reader)) = self.readers.get_mut(client) {
            // A place has been waiting since the queue was made, so all that was evicted since then
            // was missed.
            reader.cursor = if self.places > 0 { 0 } else { self.backlog.oldest };
        }
        self.places = self.places.saturating_sub(1);
        self.active = self.active.saturating_add(1);
        self.backlog.claim(events);
    }
}
