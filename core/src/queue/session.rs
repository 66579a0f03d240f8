//! One fetch of one client from one queue, as a session that survives the callbacks in between, and
//! the events that it shows to filters and decoders.

use super::readers::{Access, IDLE, Reader, Retained};
use super::trace::QueueObserver;
use super::{Backlog, Payload, Queue, Queues};
use crate::error::{Error, Result};

/// A fetch under way. It names queue and reader by slot and generation, so it outlives both (E-14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchSession {
    queue: usize,
    queue_generation: u64,
    client: usize,
    reader_generation: u64,
    /// The event array that the fetch fills.
    pub array: i32,
}

/// Those who take part in a session, as far as they still are those that it began with.
pub(super) struct Participants<'a, P> {
    pub(super) name: &'a [u8],
    pub(super) backlog: &'a mut Backlog<P>,
    /// `None` when the client has ended.
    pub(super) reader: Option<&'a mut Reader>,
    pub(super) retained: &'a mut Retained<P>,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue is still there; how many events were evicted before the client saw them.
    Missed(u64),
    /// The queue has gone, and its event array with it.
    Gone,
}

impl FetchSession {
    /// One that has not begun.
    pub const NONE: FetchSession = FetchSession {
        queue: usize::MAX,
        queue_generation: 0,
        client: usize::MAX,
        reader_generation: 0,
        array: -1,
    };
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Begins a fetch. The first one of a client makes it active, in a place that was kept for a
    /// client or in addition to the others (QUEUE-23, E-8); it begins with the oldest event.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30), `-ENOMEM`.
    #[inline(always)]
    pub fn begin(&mut self, handle: i32, context: i32) -> Result<FetchSession> {
        let slot = self.slot(handle)?;
        let client = self.clients.next_slot(context).ok_or(Error::INVAL)?;
        let queue = self.slots.get_mut(slot).ok_or(Error::INVAL)?;
        let reader = queue.readers.enter(client, &mut self.generation)?;
        let generation = reader.generation;
        if reader.cursor == IDLE {
            queue.activate(client)?;
        }
        Ok(FetchSession {
            queue: slot,
            queue_generation: queue.generation,
            client,
            reader_generation: generation,
            array: queue.array,
        })
    }

    /// Those who take part in a session; `None` when the queue has gone.
    pub(super) fn participants(&mut self, session: &FetchSession) -> Option<Participants<'_, P>> {
        let queue = self.slots.get_mut(session.queue)?;
        if queue.generation != session.queue_generation {
            return None;
        }
        Some(Participants {
            name: &queue.name,
            backlog: &mut queue.backlog,
            reader: queue.readers.get(session.client, session.reader_generation),
            retained: &mut self.retained,
        })
    }

    /// The payload of an event that a session is shown, while its queue stores it.
    pub fn payload(&mut self, session: &FetchSession, event: &Event<P::View>) -> Option<&P> {
        self.participants(session)?.backlog.payload(event.sequence)
    }

    /// Whether queue and client of the session are still there.
    pub fn alive(&mut self, session: &FetchSession) -> bool {
        self.participants(session)
            .is_some_and(|participants| participants.reader.is_some())
    }

    /// Takes note that the client is done with the event `hand`, if it was shown one, and puts the
    /// next one in its place. Events that the client has no access to count as seen (E-18). `None`
    /// at the end, and when queue or client have gone.
    ///
    /// If a filter has to let the event pass first, it is stored in `filter`, which is to be empty:
    /// few clients have one, and what is in every event has to be copied for each.
    ///
    /// Events that arrive during the fetch take part in it.
    #[inline(always)]
    pub fn advance(&mut self, session: &FetchSession, hand: &mut Option<Event<P::View>>, filter: &mut Option<F>) {
        if let Some(queue) = self.slots.get_mut(session.queue) {
            // No two readers of any queue have the same generation.
            if let Some(reader) = queue.readers.get(session.client, session.reader_generation) {
                if reader.access == Access::Allowed && near(&mut queue.backlog, reader, hand, &mut self.retained) {
                    return;
                }
            }
        }
        self.advance_observed(session, hand, filter, &mut ());
    }

    /// [`Queues::advance`] in any case, with an observer.
    pub(super) fn advance_observed<W: QueueObserver<P>>(
        &mut self,
        session: &FetchSession,
        hand: &mut Option<Event<P::View>>,
        filter: &mut Option<F>,
        observer: &mut W,
    ) {
        let seen = hand.take().map(|event| event.sequence);
        *hand = self.seek(session, seen, filter, observer);
    }

    /// The event behind `seen`.
    fn seek<W: QueueObserver<P>>(
        &mut self,
        session: &FetchSession,
        seen: Option<u64>,
        filter: &mut Option<F>,
        observer: &mut W,
    ) -> Option<Event<P::View>> {
        let participants = self.participants(session);
        let Some(Participants {
            name,
            backlog,
            reader: Some(reader),
            retained,
        }) = participants
        else {
            self.let_go(session, seen);
            return None;
        };
        if let Some(seen) = seen {
            // A fetch inside of a callback of this one may have been faster.
            let due = reader.cursor <= seen;
            if due {
                catch_up(backlog, reader, seen);
                reader.cursor = seen + 1;
            }
            let address = place::<P, W>(backlog, seen);
            backlog.release(seen, reader.place, due, retained);
            gone(name, backlog, seen, address, observer);
        }
        loop {
            catch_up(backlog, reader, u64::MAX);
            let (place_now, event) = backlog.seek(reader.cursor, reader.place)?;
            let (sequence, size) = (event.sequence, event.size);
            reader.place = place_now;
            if reader.access != Access::Denied {
                let shown = event.show()?;
                if reader.access == Access::Filtered {
                    *filter = self.clients.filter(session.client, session.queue).copied();
                }
                return Some(shown);
            }
            let address = place::<P, W>(backlog, sequence);
            if let (true, Some(payload)) = (W::OBSERVES, backlog.payload(sequence)) {
                observer.denied(payload, size);
            }
            backlog.consume(sequence, retained);
            gone(name, backlog, sequence, address, observer);
            reader.cursor = sequence + 1;
        }
    }

    /// The fetch does not look at event `shown` any more, which its client has not seen to the end.
    fn let_go(&mut self, session: &FetchSession, shown: Option<u64>) {
        let Some(shown) = shown else { return };
        match self.participants(session) {
            Some(Participants { backlog, retained, .. }) => backlog.release_any(shown, false, retained),
            None => self.retained.release(session.queue_generation, shown),
        }
    }

    /// Ends a fetch, which may still be shown an event. One that was not broken off takes the
    /// number of missed events to report (QUEUE-35); a client without access has missed nothing: it
    /// would not have seen the events.
    pub fn finish(&mut self, session: &FetchSession, shown: Option<u64>, broken_off: bool) -> End {
        self.let_go(session, shown);
        match self.participants(session) {
            None => End::Gone,
            Some(Participants {
                reader: Some(reader), ..
            }) if !broken_off => {
                let missed = std::mem::take(&mut reader.missed);
                End::Missed(if reader.access == Access::Denied { 0 } else { missed })
            }
            Some(_) => End::Missed(0),
        }
    }
}

impl<P: Payload, F> Queue<P, F> {
    /// The client in a slot, which is known here, has its first fetch.
    #[cold]
    #[inline(never)]
    fn activate(&mut self, client: usize) -> Result<()> {
        let absent = self.backlog.absent()?;
        // A place has been waiting since the queue was made, so all that was evicted since then was
        // missed.
        let cursor = if self.places > 0 { 0 } else { self.backlog.oldest() };
        let reader = self.readers.at_mut(client).ok_or(Error::INVAL)?;
        (reader.absent, reader.cursor) = (absent, cursor);
        self.places = self.places.saturating_sub(1);
        self.active = self.active.saturating_add(1);
        self.backlog.claim();
        Ok(())
    }
}

/// The usual steps, where access is granted, no filter is asked and nothing was evicted: the client
/// gets the first event that it has not seen, or is done with the current one and gets the one
/// behind it, if there is one. Otherwise nothing has changed.
#[inline(always)]
fn near<P: Payload>(
    backlog: &mut Backlog<P>,
    reader: &mut Reader,
    hand: &mut Option<Event<P::View>>,
    retained: &mut Retained<P>,
) -> bool {
    match hand {
        None if reader.cursor < backlog.evicted() => false,
        None => {
            if let Some((place, event)) = backlog.seek(reader.cursor, reader.place) {
                reader.place = place;
                *hand = event.show();
            }
            true
        }
        Some(shown) => {
            let seen = shown.sequence;
            if reader.cursor != seen {
                return false;
            }
            if backlog.step_on(shown, reader.place, retained) {
                reader.place += 1;
            } else if backlog.step_off(seen, reader.place, retained) {
                *hand = None;
            } else {
                return false;
            }
            reader.cursor = seen + 1;
            true
        }
    }
}

/// Where a stored event is, if somebody wants to know.
#[inline(always)]
fn place<P: Payload, W: QueueObserver<P>>(backlog: &Backlog<P>, sequence: u64) -> Option<usize> {
    if !W::OBSERVES {
        return None;
    }
    backlog.payload(sequence).map(W::address)
}

/// Tells the observer that an event that stood at `address` has gone, if it has.
#[inline(always)]
fn gone<P: Payload, W: QueueObserver<P>>(
    name: &[u8],
    backlog: &Backlog<P>,
    sequence: u64,
    address: Option<usize>,
    observer: &mut W,
) {
    if let (true, Some(address)) = (W::OBSERVES, address) {
        if backlog.payload(sequence).is_none() {
            observer.removed(name, address);
        }
    }
}

/// Counts what was evicted ahead of the client, up to the event `limit`, and moves its cursor
/// behind that.
///
/// The current event may itself be evicted while it is shown (E-14): the client has seen it, so it
/// is not missed.
fn catch_up<P: Payload>(backlog: &Backlog<P>, reader: &mut Reader, limit: u64) {
    let end = backlog.evicted().min(limit);
    if reader.cursor < end {
        miss(reader, end);
    }
}

/// What lies between the client's cursor and `end` was evicted.
#[cold]
fn miss(reader: &mut Reader, end: u64) {
    let cursor = reader.cursor;
    let absent = reader.absent.iter();
    let absent: u64 = absent
        .map(|gap| gap.end.min(end).saturating_sub(gap.start.max(cursor)))
        .sum();
    reader.missed += end - cursor - absent;
    reader.absent.retain(|gap| gap.end > end);
    reader.cursor = end;
}

/// An event that the client has not seen yet. Its payload stays alive until the fetch is done with
/// it, whatever happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    /// Its number in the order of arrival.
    pub sequence: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}
