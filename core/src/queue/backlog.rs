//! The events of one queue, oldest first, and who is still owed each of them.

use std::ops::Range;

use super::readers::Retained;
use super::{Payload, session};
use crate::error::{Error, Result};

/// Fewer gaps than this are not worth closing.
const FEW_GAPS: usize = 32;
/// How many payloads of evicted events are kept to be used again, ...
const SPARES: usize = 1024;
/// ... when they were not larger than this: copying larger ones takes longer than asking for
/// memory.
const SMALL: usize = 128;

/// One stored event.
#[derive(Debug)]
pub(super) struct Event<P> {
    /// Number in the order of arrival, from 0; events that were never stored have none.
    pub(super) sequence: u64,
    pub(super) size: usize,
    /// How many active clients have not seen it.
    owed: u32,
    /// How many consumptions it waits for beyond those: by clients that were announced but have not
    /// fetched yet, and in place of clients that have ended (QUEUE-27).
    spare: u32,
    /// How many fetches show it at this moment.
    holders: u32,
    /// The data; `None` when everybody has seen it and only its place is left.
    payload: Option<P>,
}

impl<P: Payload> Event<P> {
    /// Shows the event to a fetch, which takes it back with [`Backlog::release`]; `None` when only
    /// its place is left.
    pub(super) fn show(&mut self) -> Option<session::Event<P::View>> {
        let payload = self.payload.as_ref()?.view();
        self.holders += 1;
        let (sequence, size) = (self.sequence, self.size);
        Some(session::Event {
            sequence,
            size,
            payload,
        })
    }

    /// How many fetches show the event at this moment.
    pub(super) fn holders(&self) -> u32 {
        self.holders
    }
}

/// An event that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct New {
    pub(super) size: usize,
    /// Bytes that may be stored beside it.
    pub(super) room: usize,
    /// As in [`Event`].
    pub(super) owed: u32,
    /// As in [`Event`].
    pub(super) spare: u32,
}

/// Stored events by sequence number.
///
/// Everything below [`Backlog::evicted`] that an active client has not seen was lost to the memory
/// limit: an event that a client is owed leaves the backlog in no other way. So a missed count is a
/// difference of two numbers, and eviction does no work per client.
#[derive(Debug)]
pub(super) struct Backlog<P> {
    /// Birth of the queue, which [`Retained`] know it by.
    queue: u64,
    /// Oldest first. Not a deque: its arithmetic took a tenth of the time of an event.
    events: Vec<Event<P>>,
    /// The index of the oldest event; those in front of it have gone.
    first: usize,
    /// Events without payload behind it.
    gaps: usize,
    next: u64,
    evicted: u64,
    memory: u64,
    /// Payloads for events to come.
    spares: Vec<P>,
}

impl<P: Payload> Backlog<P> {
    pub(super) const fn new(queue: u64) -> Backlog<P> {
        Backlog {
            queue,
            events: Vec::new(),
            first: 0,
            gaps: 0,
            next: 0,
            evicted: 0,
            memory: 0,
            spares: Vec::new(),
        }
    }

    /// Bytes of payload that are stored (QUEUE-5).
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// One more than the sequence number of the event that was evicted last.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// What is stored, oldest first.
    pub(super) fn stored_events(&self) -> impl Iterator<Item = (&Event<P>, &P)> {
        let events = self.events[self.first..].iter();
        events.filter_map(|event| Some((event, event.payload.as_ref()?)))
    }

    /// The payload of the event that was stored last.
    pub(super) fn newest(&self) -> Option<&P> {
        self.events.last()?.payload.as_ref()
    }

    /// The payload of an event that is stored.
    pub(super) fn payload(&self, sequence: u64) -> Option<&P> {
        let event = self.events.get(self.position(sequence))?;
        (event.sequence == sequence).then_some(event.payload.as_ref()).flatten()
    }

    /// The sequence number of the oldest stored event, or of the next one to come.
    pub(super) fn oldest(&self) -> u64 {
        self.events.get(self.first).map_or(self.next, |event| event.sequence)
    }

    /// Evicts the oldest events until no more than `room` bytes are stored (QUEUE-10).
    pub(super) fn make_room(&mut self, room: usize, retained: &mut Retained<P>) {
        if self.memory > room as u64 {
            self.evict(room as u64, retained);
        }
    }

    #[inline(never)]
    fn evict(&mut self, room: u64, retained: &mut Retained<P>) {
        while self.memory > room && self.first < self.events.len() {
            self.evicted = self.oldest() + 1;
            self.drop_first(retained);
        }
    }

    /// Stores an event behind all others, and evicts the oldest ones as [`Backlog::make_room`]
    /// does. `store` makes the payload, from one that is not needed any more if there is one.
    ///
    /// # Errors
    /// What `store` fails with, and `-ENOMEM`; then nothing has changed.
    pub(super) fn push(
        &mut self,
        event: New,
        retained: &mut Retained<P>,
        store: impl FnOnce(Option<P>) -> Result<P>,
    ) -> Result<()> {
        if self.events.len() == self.events.capacity() {
            self.more_events()?;
        }
        let payload = store(self.spares.pop())?;
        self.make_room(event.room, retained);
        // Room: `more_events`.
        self.events.push(Event {
            sequence: self.next,
            size: event.size,
            owed: event.owed,
            spare: event.spare,
            holders: 0,
            payload: Some(payload),
        });
        self.next += 1;
        self.memory += event.size as u64;
        Ok(())
    }

    /// Makes place for one more event: where others have gone if these are half of all, so that an
    /// event is moved once on average.
    #[cold]
    fn more_events(&mut self) -> Result<()> {
        if self.first >= self.events.len() - self.first {
            self.events.drain(..self.first);
            self.first = 0;
        }
        self.events.try_reserve(1).map_err(|_| Error::NOMEM)
    }

    /// The first stored event whose sequence number is not below `from`, and its index. In the
    /// usual case that is the one behind `from - 1`, which was last seen at the index `last`.
    #[inline(always)]
    pub(super) fn seek(&mut self, from: u64, last: usize) -> Option<(usize, &mut Event<P>)> {
        let mut place = last.wrapping_add(1);
        let is_behind = |event: &Event<P>| event.sequence.wrapping_add(1) == from;
        let is_stored = |event: &Event<P>| event.payload.is_some();
        let is_known = self.events.get(last).is_some_and(is_behind);
        if !is_known || !self.events.get(place).is_none_or(is_stored) {
            place = self.seek_any(from);
        }
        Some((place, self.events.get_mut(place)?))
    }

    /// The index of the first stored event whose sequence number is not below `from`.
    #[inline(never)]
    fn seek_any(&self, from: u64) -> usize {
        let position = self.position(from);
        let rest = self.events[position..].iter();
        position + rest.take_while(|event| event.payload.is_none()).count()
    }

    /// The index of the first event whose sequence number is not below `from`.
    fn position(&self, from: u64) -> usize {
        let events = &self.events[self.first..];
        let Some(front) = events.first() else { return self.first };
        let offset = if self.next - front.sequence == events.len() as u64 {
            let offset = usize::try_from(from.saturating_sub(front.sequence)).unwrap_or(usize::MAX);
            offset.min(events.len())
        } else {
            events.partition_point(|event| event.sequence < from)
        };
        self.first + offset
    }

    /// A client is done with an event that it was owed, without having been shown it.
    pub(super) fn consume(&mut self, sequence: u64, retained: &mut Retained<P>) {
        let position = self.position(sequence);
        if let Some(event) = self.stored(position, sequence) {
            event.owed -= 1;
            self.settle(position, retained);
        }
    }

    /// A fetch does not look at an event any more that it was shown, at the index `place`;
    /// `consumed` when its client was owed the event and has now seen it.
    #[inline(always)]
    pub(super) fn release(&mut self, sequence: u64, place: usize, consumed: bool, retained: &mut Retained<P>) {
        match self.events.get_mut(place) {
            Some(event) if event.sequence == sequence && event.payload.is_some() => {
                event.holders -= 1;
                event.owed -= u32::from(consumed);
                if event.owed | event.spare != 0 {
                    return;
                }
                if place == self.first {
                    self.drop_first(retained);
                } else {
                    self.settle(place, retained);
                }
            }
            _ => self.release_any(sequence, consumed, retained),
        }
    }

    /// As [`Backlog::release`], wherever the event stands.
    #[inline(never)]
    pub(super) fn release_any(&mut self, sequence: u64, consumed: bool, retained: &mut Retained<P>) {
        let position = self.position(sequence);
        let Some(event) = self.stored(position, sequence) else {
            retained.release(self.queue, sequence);
            return;
        };
        event.holders -= 1;
        event.owed -= u32::from(consumed);
        self.settle(position, retained);
    }

    /// Frees the oldest event, which always has a payload.
    #[inline(always)] // A call costs a third of it.
    fn drop_first(&mut self, retained: &mut Retained<P>) {
        let Some(event) = self.events.get_mut(self.first) else {
            return;
        };
        let (sequence, size, shown) = (event.sequence, event.size, event.holders);
        self.first += 1;
        if let Some(payload) = event.payload.take() {
            self.expire(sequence, size, shown, payload, retained);
        }
        if self.gaps > 0 {
            self.trim();
        }
    }

    /// The event at an index if it is the one with this sequence number, and has not gone.
    fn stored(&mut self, position: usize, sequence: u64) -> Option<&mut Event<P>> {
        let event = self.events.get_mut(position);
        event.filter(|event| event.sequence == sequence && event.payload.is_some())
    }

    /// Frees the event at an index if nobody is owed it.
    fn settle(&mut self, position: usize, retained: &mut Retained<P>) {
        let Some(event) = self.events.get_mut(position) else {
            return;
        };
        if event.owed != 0 || event.spare != 0 {
            return;
        }
        let (sequence, size, shown) = (event.sequence, event.size, event.holders);
        if let Some(payload) = event.payload.take() {
            self.gaps += 1;
            self.expire(sequence, size, shown, payload, retained);
        }
        self.trim();
    }

    /// What becomes of the payload of an event that has gone.
    fn expire(&mut self, sequence: u64, size: usize, shown: u32, payload: P, retained: &mut Retained<P>) {
        self.memory -= size as u64;
        if shown > 0 {
            retained.keep(self.queue, sequence, shown, payload);
        } else if size <= SMALL && (self.spares.len() < self.spares.capacity() || self.more_spares()) {
            // Room: `more_spares`.
            self.spares.push(payload);
        }
    }

    /// Whether there is room for one more spare payload.
    #[cold]
    fn more_spares(&mut self) -> bool {
        let room = self.spares.len();
        room < SPARES && self.spares.try_reserve_exact(room.max(4).min(SPARES - room)).is_ok()
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
        let stored = self.events[self.first..].iter();
        let stored = stored.filter(|event| event.payload.is_some());
        // Behind the last event is the next one to come.
        for sequence in stored.map(|event| event.sequence).chain([self.next]) {
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
        for event in self.events.iter_mut().filter(|event| event.payload.is_some()) {
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

    /// Passes over gaps at the front, and closes all gaps when they are more than the events: each
    /// event is moved a constant number of times on average.
    fn trim(&mut self) {
        let rest = self.events[self.first..].iter();
        let leading = rest.take_while(|event| event.payload.is_none()).count();
        self.first += leading;
        self.gaps -= leading;
        if self.gaps > FEW_GAPS && self.gaps > (self.events.len() - self.first) / 2 {
            self.events.retain(|event| event.payload.is_some());
            self.first = 0;
            self.gaps = 0;
        }
    }
}

#[cfg(test)]
mod tests;

impl<P: Payload> Backlog<P> {
    /// A client that was owed the event `shown`, at the index `place`, has now seen it. When the
    /// event behind it is stored, that one is shown in its place. Otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn step_on(
        &mut self,
        shown: &mut session::Event<P::View>,
        place: usize,
        retained: &mut Retained<P>,
    ) -> bool {
        let Some(is_last) = self.is_last(shown.sequence, place) else {
            return false;
        };
        let Some([event, next, ..]) = self.events.get_mut(place..) else {
            return false;
        };
        let Some(payload) = &next.payload else { return false };
        shown.payload = payload.view();
        shown.size = next.size;
        shown.sequence = next.sequence;
        next.holders += 1;
        event.holders -= 1;
        event.owed -= 1;
        if is_last {
            self.drop_first(retained);
        }
        true
    }

    /// A client that was owed the event `seen`, at the index `place`, has now seen it, and there is
    /// none behind it. Otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn step_off(&mut self, seen: u64, place: usize, retained: &mut Retained<P>) -> bool {
        if place + 1 != self.events.len() {
            return false;
        }
        let (Some(is_last), Some(event)) = (self.is_last(seen, place), self.events.get_mut(place)) else {
            return false;
        };
        event.holders -= 1;
        event.owed -= 1;
        if is_last {
            self.drop_first(retained);
        }
        true
    }

    /// Whether a client that has seen an event at the index `place` is the last that it was owed
    /// to. `None` where others are moved then, and when it does not stand there.
    #[inline(always)]
    fn is_last(&self, seen: u64, place: usize) -> Option<bool> {
        let event = self.events.get(place)?;
        let is_last = event.owed < 2 && event.spare == 0;
        let moves = is_last && (place != self.first || self.gaps > 0);
        (event.sequence == seen && event.payload.is_some() && !moves).then_some(is_last)
    }
}
