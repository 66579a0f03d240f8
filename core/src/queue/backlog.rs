//! The events of one queue, oldest first, and who is still owed each of them.

use std::ops::Range;

use super::Payload;
use crate::error::{Error, Result};

/// Fewer gaps than this are not worth closing.
const FEW_GAPS: usize = 32;

/// How many payloads of events that have gone are kept to be used again, ...
const SPARES: usize = 1024;
/// ... when they were not larger than this: copying larger ones takes longer than asking for
/// memory.
const SMALL: usize = 128;

/// One stored event.
#[derive(Debug)]
pub(super) struct StoredEvent<P> {
    /// Number in the order of arrival, from 0; events that were never stored have none.
    pub(super) sequence: u64,
    pub(super) size: usize,
    /// How many active clients have not seen it.
    owed: u32,
    /// How many consumptions it waits for beyond those: by clients that were announced but have not
    /// fetched yet, and in place of clients that have ended (QUEUE-27).
    spare: u32,
    /// How many fetches show it at this moment.
    pub(super) holders: u32,
    /// The data; `None` when everybody has seen it and only its place is left.
    payload: Option<P>,
}

/// An event that a client sees. Its payload stays alive until the fetch is done with it, whatever
/// happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    /// Its number in the order of arrival.
    pub(super) sequence: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}

/// Stored events by sequence number.
///
/// Everything below `evicted` that an active client has not seen was lost to the memory limit: an
/// event that a client is owed leaves the backlog in no other way. So a missed count is a
/// difference of two numbers, and eviction does no work per client.
#[derive(Debug)]
pub(super) struct Backlog<P> {
    /// Generation of the queue, which [`Retained`] know it by.
    queue: u64,
    /// Oldest first. (A deque takes a tenth longer for each event.)
    events: Vec<StoredEvent<P>>,
    /// The index of the oldest event, which has its payload; those in front of it have gone.
    first: usize,
    /// Events without payload behind it.
    gaps: usize,
    /// The sequence number that belongs to index 0, ...
    base: u64,
    /// ... and whether the others follow from that: no gap was closed.
    dense: bool,
    next: u64,
    /// One more than the sequence number of the event that was evicted last.
    pub(super) evicted: u64,
    /// Bytes of payload that are stored (QUEUE-5).
    pub(super) memory: u64,
    /// Payloads of events that have gone, for those to come.
    spares: Vec<P>,
}

impl<P: Payload> Backlog<P> {
    pub(super) const fn new(queue: u64) -> Backlog<P> {
        Backlog {
            queue,
            events: Vec::new(),
            first: 0,
            gaps: 0,
            base: 0,
            dense: true,
            next: 0,
            evicted: 0,
            memory: 0,
            spares: Vec::new(),
        }
    }

    /// What is stored from a sequence number on, oldest first.
    pub(super) fn stored(&self, from: u64) -> impl Iterator<Item = (&StoredEvent<P>, &P)> {
        let events = self.events[self.position(from)..].iter();
        events.filter_map(|event| Some((event, event.payload.as_ref()?)))
    }

    /// The payload of an event that is stored.
    pub(super) fn payload(&self, sequence: u64) -> Option<&P> {
        let event = self.events.get(self.index(sequence))?;
        (event.sequence == sequence).then_some(event.payload.as_ref()).flatten()
    }

    /// The sequence number of the oldest stored event, or of the next one to come.
    pub(super) fn oldest(&self) -> u64 {
        self.events.get(self.first).map_or(self.next, |event| event.sequence)
    }

    /// The sequence number of the newest event.
    pub(super) fn newest(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Evicts the oldest events until no more than `room` bytes are stored (QUEUE-10).
    #[inline(always)]
    pub(super) fn make_room(&mut self, room: usize, retained: &mut Retained<P>) {
        if self.memory > room as u64 {
            self.evict(room as u64, retained);
        }
    }

    #[inline(never)]
    fn evict(&mut self, room: u64, retained: &mut Retained<P>) {
        while self.memory > room && self.first < self.events.len() {
            self.evicted = self.oldest() + 1;
            self.remove(self.first, retained);
        }
    }

    /// Makes sure that the next event can be stored: where others have gone if these are half of
    /// all, so that an event is moved once on average. Gives a payload to be used again, if there
    /// is one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    pub(super) fn reserve(&mut self) -> Result<Option<P>> {
        if self.first == self.events.len() {
            self.events.clear();
            (self.first, self.base, self.dense) = (0, self.next, true);
        }
        if self.events.len() == self.events.capacity() {
            self.grow()?;
        }
        Ok(self.spares.pop())
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        if self.first > self.events.len() - self.first {
            self.base += self.first as u64;
            self.events.drain(..self.first);
            self.first = 0;
        }
        self.events.try_reserve(1).map_err(|_| Error::NOMEM)
    }

    /// Stores an event behind all others; `owed` and `spare` are as in [`StoredEvent`].
    pub(super) fn push(&mut self, size: usize, owed: u32, spare: u32, payload: P) {
        // Room: `reserve`.
        self.events.push(StoredEvent {
            sequence: self.next,
            size,
            owed,
            spare,
            holders: 0,
            payload: Some(payload),
        });
        self.next += 1;
        self.memory += size as u64;
    }

    /// The index where an event stands, if it is stored.
    #[inline(always)]
    fn index(&self, sequence: u64) -> usize {
        if self.dense {
            sequence.wrapping_sub(self.base) as usize
        } else {
            self.position(sequence)
        }
    }

    /// The index of the first event whose sequence number is not below `from`.
    pub(super) fn position(&self, from: u64) -> usize {
        let rest = &self.events[self.first..];
        self.first + rest.partition_point(|event| event.sequence < from)
    }

    /// The first stored event from an index on.
    #[inline(always)]
    pub(super) fn next(&mut self, position: usize) -> Option<&mut StoredEvent<P>> {
        let mut position = position.max(self.first);
        while self.events.get(position)?.payload.is_none() {
            position += 1;
        }
        self.events.get_mut(position)
    }

    /// A client has seen an event that it was owed and a fetch has shown. Gives the index from
    /// which on the next one is to be looked for.
    #[inline(always)]
    pub(super) fn seen(&mut self, sequence: u64, retained: &mut Retained<P>) -> usize {
        self.done(sequence, 1, 1, retained)
    }

    /// [`Backlog::seen`] for an event that the client may not see.
    #[inline(never)]
    pub(super) fn cull(&mut self, sequence: u64, retained: &mut Retained<P>) -> usize {
        self.done(sequence, 0, 1, retained)
    }

    /// A fetch does not look any more at an event that its client has not seen to the end, or that
    /// it is not owed any more.
    #[cold]
    pub(super) fn release(&mut self, sequence: u64, retained: &mut Retained<P>) {
        self.done(sequence, 1, 0, retained);
    }

    /// So many fetches do not show an event any more, and so many clients are not owed it any more.
    #[inline(always)]
    fn done(&mut self, sequence: u64, shown: u32, owed: u32, retained: &mut Retained<P>) -> usize {
        let index = self.index(sequence);
        match self.events.get_mut(index) {
            Some(event) if event.sequence == sequence && event.payload.is_some() => {
                event.holders -= shown;
                event.owed -= owed;
                if event.owed | event.spare == 0 {
                    self.remove(index, retained);
                    if !self.dense {
                        return self.position(sequence + 1);
                    }
                }
                index + 1
            }
            _ => {
                if shown > 0 {
                    retained.release(self.queue, sequence);
                }
                self.position(sequence)
            }
        }
    }

    /// The stored event at an index goes. Fetches that show it at this moment keep its payload.
    #[inline(always)]
    fn remove(&mut self, index: usize, retained: &mut Retained<P>) {
        let event = &mut self.events[index];
        let Some(payload) = event.payload.take() else { return };
        self.memory -= event.size as u64;
        if event.holders > 0 {
            retained.keep(self.queue, event.sequence, event.holders, payload);
        } else if event.size <= SMALL && (self.spares.len() < self.spares.capacity() || self.more_spares()) {
            // Room: `more_spares`.
            self.spares.push(payload);
        }
        if index == self.first && self.gaps == 0 {
            self.first += 1;
        } else {
            self.gaps += 1;
            self.close_gaps();
        }
    }

    /// Whether there is room for one more spare payload.
    #[cold]
    fn more_spares(&mut self) -> bool {
        let room = self.spares.len();
        room < SPARES && self.spares.try_reserve_exact(room.max(4).min(SPARES - room)).is_ok()
    }

    /// Passes over gaps at the front, and closes all gaps when they are more than the events: each
    /// event is moved a constant number of times on average.
    #[cold]
    fn close_gaps(&mut self) {
        let rest = self.events[self.first..].iter();
        let leading = rest.take_while(|event| event.payload.is_none()).count();
        self.first += leading;
        self.gaps -= leading;
        if self.gaps > FEW_GAPS && self.gaps > (self.events.len() - self.first) / 2 {
            self.events.retain(|event| event.payload.is_some());
            (self.first, self.gaps, self.dense) = (0, 0, false);
        }
    }

    /// The queue goes: keeps what is shown at this moment.
    pub(super) fn close(self, retained: &mut Retained<P>) {
        for event in self.events.into_iter().filter(|event| event.holders > 0) {
            if let Some(payload) = event.payload {
                retained.keep(self.queue, event.sequence, event.holders, payload);
            }
        }
    }

    /// The sequence numbers among the stored ones that no event has any more: for a client that
    /// becomes active now, they are nothing that it misses if the rest is evicted. Behind them
    /// everything is owed to the client.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn absent(&self) -> Result<Vec<Range<u64>>> {
        let mut absent = Vec::new();
        let mut expected = self.oldest();
        // Behind the last event is the next one to come.
        for sequence in self.stored(0).map(|(event, _)| event.sequence).chain([self.next]) {
            if sequence > expected {
                absent.try_reserve(1).map_err(|_| Error::NOMEM)?;
                absent.push(expected..sequence);
            }
            expected = sequence + 1;
        }
        Ok(absent)
    }

    /// A client has become active: it is owed what is stored. Where a place or an ended client left
    /// a consumption open, the client takes that over.
    pub(super) fn claim(&mut self) {
        for event in &mut self.events[self.first..] {
            event.spare = event.spare.saturating_sub(1);
            event.owed = event.owed.saturating_add(1);
        }
    }

    /// A client that has seen everything below `from` has ended: what it was owed waits for
    /// somebody else.
    pub(super) fn abandon(&mut self, from: u64) {
        let position = self.position(from);
        for event in &mut self.events[position..] {
            event.owed = event.owed.saturating_sub(1);
            event.spare = event.spare.saturating_add(1);
        }
    }
}

impl<P: Payload> StoredEvent<P> {
    /// The event as callbacks see it.
    #[inline(always)]
    pub(super) fn view(&self) -> Option<Event<P::View>> {
        let payload = self.payload.as_ref()?.view();
        let (sequence, size) = (self.sequence, self.size);
        Some(Event {
            sequence,
            size,
            payload,
        })
    }

    /// Shows the event to a fetch, which gives it back with [`Backlog::done`].
    #[inline(always)]
    pub(super) fn show(&mut self) -> Option<Event<P::View>> {
        self.holders += 1;
        self.view()
    }
}

/// Events that have left their queue while a callback still looks at them (E-14).
///
/// A callback that leaves with `longjmp` never says that it is done: the event is kept for ever,
/// which harms nothing else.
#[derive(Debug)]
pub(super) struct Retained<P>(Vec<RetainedEvent<P>>);

#[derive(Debug)]
struct RetainedEvent<P> {
    /// Generation of the queue.
    queue: u64,
    sequence: u64,
    /// How many fetches show it at this moment.
    holders: u32,
    /// Only kept alive.
    _payload: P,
}

impl<P> Retained<P> {
    pub(super) const fn new() -> Retained<P> {
        Retained(Vec::new())
    }

    /// Keeps an event of a queue until `holders` fetches are done with it.
    #[cold]
    fn keep(&mut self, queue: u64, sequence: u64, holders: u32, payload: P) {
        if self.0.try_reserve(1).is_err() {
            // Leaked: a callback may still read it, and nobody would know when it may go.
            std::mem::forget(payload);
            return;
        }
        self.0.push(RetainedEvent {
            queue,
            sequence,
            holders,
            _payload: payload,
        });
    }

    /// A fetch is done with an event that is not in its queue any more.
    #[cold]
    pub(super) fn release(&mut self, queue: u64, sequence: u64) {
        let is_it = |kept: &RetainedEvent<P>| kept.queue == queue && kept.sequence == sequence;
        // From the end: what was lost by `longjmp` lies in front.
        let Some(place) = self.0.iter().rposition(is_it) else {
            return;
        };
        self.0[place].holders -= 1;
        if self.0[place].holders == 0 {
            self.0.remove(place);
        }
    }
}

#[cfg(test)]
mod tests;
