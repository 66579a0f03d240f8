//! One fetch of one client from one queue, and the events that it shows to filters and decoders.

use super::backlog::{Backlog, Event};
use super::clients::{Access, Reader};
use super::trace::{At, Excerpt};
use super::{Payload, Queue, Queues};
use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::log::{Bytes, Journal};

/// A fetch under way. It names queue and client by slot and generation, so it outlives both (E-14).
#[derive(Clone, Copy, Debug)]
pub struct FetchSession<V> {
    queue: usize,
    queue_generation: u64,
    client: usize,
    reader_generation: u64,
    /// The event array that the fetch fills.
    pub array: i32,
    /// The event that is shown: the client has not seen it to the end.
    pub event: Option<Event<V>>,
    /// Whether a filter has to let it pass first.
    pub filtered: bool,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue is still there; how many events were evicted before the client saw them.
    Missed(u64),
    /// The queue has gone, and its event array with it.
    Gone,
}

impl<V> FetchSession<V> {
    /// One that has not begun.
    pub const NONE: FetchSession<V> = FetchSession {
        queue: usize::MAX,
        queue_generation: 0,
        client: usize::MAX,
        reader_generation: 0,
        array: -1,
        event: None,
        filtered: false,
    };

    /// The queue of the session, if it is still the one that it began with.
    #[inline(always)]
    fn queue<'q, P, F>(&self, queues: &'q mut Handles<Queue<P, F>>) -> Option<&'q mut Queue<P, F>> {
        let queue = queues.get_mut(self.queue)?;
        (queue.generation == self.queue_generation).then_some(queue)
    }

    /// What is known of its client, if queue and client are still those that it began with.
    #[inline(always)]
    fn reader<'q, F>(&self, readers: &'q mut [Option<Reader<F>>]) -> Option<&'q mut Reader<F>> {
        let reader = readers.get_mut(self.client)?.as_mut()?;
        (reader.generation == self.reader_generation).then_some(reader)
    }
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Begins a fetch. The first one of a client makes it active, in a place that was kept for a
    /// client or in addition to the others (QUEUE-23, E-8); it begins with the oldest event.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30), `-ENOMEM`.
    #[inline(always)]
    pub fn begin(&mut self, handle: i32, context: i32) -> Result<FetchSession<P::View>> {
        let (slot, queue) = super::in_use(&mut self.slots, handle)?;
        let client = self.clients.next_slot(context).ok_or(Error::INVAL)?;
        if !queue.enter(client, &mut self.generation)?.is_active() {
            queue.activate(client)?;
        }
        let reader = queue.reader(client)?;
        let (reader_generation, cursor) = (reader.generation, reader.cursor);
        if let Some(journal) = &mut self.journal {
            let next = queue.backlog.stored(cursor).next();
            let last = At(next.map(|(_, payload)| payload.address()));
            journal.debug(format_args!("queue_fetch start, last event={last}"));
        }
        Ok(FetchSession {
            queue: slot,
            queue_generation: queue.generation,
            client,
            reader_generation,
            array: queue.array,
            ..FetchSession::NONE
        })
    }

    /// Takes note that the client is done with the event that it was shown, if there is one, and
    /// puts the next one in its place. Events that the client has no access to count as seen
    /// (E-18). There is none at the end, and when queue or client have gone.
    ///
    /// Events that arrive during the fetch take part in it.
    #[inline(always)]
    pub fn advance(&mut self, session: &mut FetchSession<P::View>) {
        match self.journal {
            None => self.advance_or_trace::<false>(session),
            Some(_) => self.advance_traced(session),
        }
    }

    #[cold]
    #[inline(never)]
    fn advance_traced(&mut self, session: &mut FetchSession<P::View>) {
        self.advance_or_trace::<true>(session);
    }

    #[inline(always)]
    fn advance_or_trace<const TRACES: bool>(&mut self, session: &mut FetchSession<P::View>) {
        let Some(queue) = self.slots.get_mut(session.queue) else {
            return self.let_go(session);
        };
        let Some(reader) = session.reader(&mut queue.readers) else {
            return self.let_go(session);
        };
        let (backlog, retained) = (&mut queue.backlog, &mut self.retained);
        let mut trace = if TRACES { self.journal.as_mut() } else { None };
        // Where in the backlog the next event is looked for.
        let mut from = match session.event.take() {
            None => backlog.position(reader.cursor),
            Some(Event { sequence, .. }) => {
                let before = trace.as_ref().and_then(|_| backlog.payload(sequence)).map(P::address);
                let behind = if reader.cursor == sequence {
                    reader.cursor = sequence + 1;
                    backlog.seen(sequence, retained)
                } else {
                    // A fetch inside of a callback of this one was faster.
                    backlog.release(sequence, retained);
                    backlog.position(reader.cursor)
                };
                trace_removal(&mut trace, &queue.name, backlog, sequence, before);
                behind
            }
        };
        loop {
            reader.catch_up(backlog.evicted);
            let Some(event) = backlog.next(from) else { return };
            // What is left out was not there when the client became active.
            reader.cursor = event.sequence;
            if reader.access != Access::Denied {
                session.filtered = reader.access == Access::Filtered;
                session.event = event.show();
                if let (Some(journal), Some(event), false) = (trace, session.event, session.filtered) {
                    trace_event::<P>("Adding", event, journal);
                }
                return;
            }
            let sequence = event.sequence;
            let shown = event.view();
            if let (Some(journal), Some(event)) = (&mut trace, shown) {
                journal.debug(format_args!("Clientq access denied"));
                trace_event::<P>("Culling", event, journal);
            }
            reader.cursor += 1;
            let before = trace.as_ref().and_then(|_| backlog.payload(sequence)).map(P::address);
            from = backlog.cull(sequence, retained);
            trace_removal(&mut trace, &queue.name, backlog, sequence, before);
        }
    }

    /// The payload of the event that a session is shown, while its queue stores it.
    pub fn payload(&mut self, session: &FetchSession<P::View>) -> Option<&P> {
        let sequence = session.event.as_ref()?.sequence;
        session.queue(&mut self.slots)?.backlog.payload(sequence)
    }

    /// The filter that has to let pass what a session is shown.
    pub fn filter(&mut self, session: &FetchSession<P::View>) -> Option<F> {
        session.reader(&mut session.queue(&mut self.slots)?.readers)?.filter
    }

    /// A filter has judged the event that is shown. Whether queue and client are still there.
    pub fn judged(&mut self, session: &FetchSession<P::View>, verdict: i32) -> bool {
        let queue = session.queue(&mut self.slots);
        let alive = queue.is_some_and(|queue| session.reader(&mut queue.readers).is_some());
        if let Some(journal) = &mut self.journal {
            journal.debug(format_args!("Clientq filter applied ({verdict})"));
            if let (true, Some(event)) = (alive, session.event) {
                trace_event::<P>(if verdict == 0 { "Adding" } else { "Culling" }, event, journal);
            }
        }
        alive
    }

    /// The fetch does not look at its event any more, which the client has not seen to the end.
    #[cold]
    #[inline(never)]
    fn let_go(&mut self, session: &mut FetchSession<P::View>) {
        if let Some(Event { sequence, .. }) = session.event.take() {
            match session.queue(&mut self.slots) {
                Some(queue) => queue.backlog.release(sequence, &mut self.retained),
                None => self.retained.release(session.queue_generation, sequence),
            }
        }
    }

    /// Ends a fetch, which may still be shown an event. One that was not broken off takes the
    /// number of missed events to report (QUEUE-35); a client without access has missed nothing: it
    /// would not have seen the events.
    #[inline(always)]
    pub fn finish(&mut self, session: &mut FetchSession<P::View>, broken_off: bool) -> End {
        if session.event.is_some() {
            self.let_go(session);
        }
        let Some(queue) = session.queue(&mut self.slots) else {
            return End::Gone;
        };
        match session.reader(&mut queue.readers) {
            Some(reader) if !broken_off => {
                let missed = std::mem::take(&mut reader.missed);
                End::Missed(if reader.access == Access::Denied { 0 } else { missed })
            }
            _ => End::Missed(0),
        }
    }
}

impl<P: Payload, F> Queue<P, F> {
    /// A client has its first fetch.
    #[cold]
    #[inline(never)]
    fn activate(&mut self, client: usize) -> Result<()> {
        let absent = self.backlog.absent()?;
        // A place has been waiting since the queue was made, so all that was evicted since then was
        // missed.
        let cursor = if self.places > 0 { 0 } else { self.backlog.oldest() };
        let reader = self.reader(client)?;
        (reader.absent, reader.cursor) = (absent, cursor);
        self.places = self.places.saturating_sub(1);
        self.active = self.active.saturating_add(1);
        self.backlog.claim();
        Ok(())
    }
}

/// Says that an event has gone that stood at an address before.
#[inline(always)]
fn trace_removal<P: Payload>(
    trace: &mut Option<&mut Journal>,
    queue: &[u8],
    backlog: &Backlog<P>,
    sequence: u64,
    before: Option<usize>,
) {
    if let (Some(journal), Some(_), None) = (trace, before, backlog.payload(sequence)) {
        let (name, event) = (Bytes(queue), At(before));
        journal.debug(format_args!("Removing {name} event {event} in fetch"));
    }
}

/// What becomes of an event.
#[cold]
fn trace_event<P: Payload>(action: &str, event: Event<P::View>, journal: &mut Journal) {
    let Event { size, payload, .. } = event;
    let excerpt: Excerpt = P::excerpt(payload, size);
    journal.debug(format_args!("{action} event (sz={size}): \"{excerpt}\""));
}
