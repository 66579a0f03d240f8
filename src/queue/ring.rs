//! The events of one queue, oldest first, and who is still owed each of them.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::ops::Range;

/// Fewer gaps than this are not worth closing.
const FEW: usize = 32;

/// One stored event.
#[derive(Debug)]
struct Event<P> {
    /// Number in the order of arrival, from 0; events that were never stored have none.
    sequence: u64,
    size: usize,
    /// How many active clients have not seen it.
    owed: u32,
    /// How many consumptions it waits for beyond those: by clients that were announced but have not fetched yet,
    /// and in place of clients that have ended (QUEUE-27).
    spare: u32,
    /// The data; `None` when everybody has seen it and only its place is left.
    payload: Option<P>,
}

/// Stored events by sequence number.
///
/// Everything below [`Ring::evicted`] that an active client has not seen was lost to the memory limit: an event
/// that a client is owed leaves the ring in no other way. So a missed count is a difference of two numbers, and
/// eviction does no work per client.
#[derive(Debug)]
pub(super) struct Ring<P> {
    events: VecDeque<Event<P>>,
    /// Events without payload among them.
    gaps: usize,
    next: u64,
    evicted: u64,
    memory: u64,
}

impl<P: Clone> Ring<P> {
    pub(super) const fn new() -> Ring<P> {
        Ring {
            events: VecDeque::new(),
            gaps: 0,
            next: 0,
            evicted: 0,
            memory: 0,
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

    /// The sequence number of the oldest stored event, or of the next one to come.
    pub(super) fn oldest(&self) -> u64 {
        self.events.front().map_or(self.next, |event| event.sequence)
    }

    /// Evicts the oldest events until `size` more bytes stay within `limit` (QUEUE-10).
    pub(super) fn make_room(&mut self, size: usize, limit: usize) {
        let wanted = (limit - size.min(limit)) as u64;
        while self.memory > wanted {
            let Some(event) = self.events.pop_front() else { return };
            if event.payload.is_some() {
                self.memory -= event.size as u64;
                self.evicted = event.sequence + 1;
            } else {
                self.gaps -= 1;
            }
        }
        self.trim();
    }

    /// Stores an event behind all others.
    pub(super) fn push(&mut self, size: usize, owed: u32, spare: u32, payload: P) {
        self.events.push_back(Event {
            sequence: self.next,
            size,
            owed,
            spare,
            payload: Some(payload),
        });
        self.next += 1;
        self.memory += size as u64;
    }

    /// The first stored event whose sequence number is not below `from`.
    pub(super) fn seek(&self, from: u64) -> Option<(u64, usize, &P)> {
        self.events.range(self.position(from)..).find_map(|event| {
            let payload = event.payload.as_ref()?;
            Some((event.sequence, event.size, payload))
        })
    }

    /// The index of the first event whose sequence number is not below `from`.
    fn position(&self, from: u64) -> usize {
        let Some(front) = self.events.front() else { return 0 };
        let offset = usize::try_from(from.saturating_sub(front.sequence)).unwrap_or(usize::MAX);
        if self.next - front.sequence == self.events.len() as u64 {
            return offset.min(self.events.len());
        }
        self.events.partition_point(|event| event.sequence < from)
    }

    /// A client has seen an event that it was owed.
    pub(super) fn consume(&mut self, sequence: u64) {
        let position = self.position(sequence);
        let Some(event) = self.events.get_mut(position) else {
            return;
        };
        if event.sequence != sequence || event.payload.is_none() {
            return;
        }
        event.owed = event.owed.saturating_sub(1);
        if event.owed == 0 && event.spare == 0 {
            event.payload = None;
            self.memory -= event.size as u64;
            self.gaps += 1;
            self.trim();
        }
    }

    /// A client has become active: it is owed what is stored. Where a place or an ended client left a consumption
    /// open, the client takes that over.
    ///
    /// Gives the sequence numbers among the stored ones that no event has any more: if the rest is evicted, these
    /// are nothing that the client has missed. Behind them everything is owed to the client.
    pub(super) fn claim(&mut self) -> Vec<Range<u64>> {
        let mut absent = Vec::new();
        let mut expected = self.oldest();
        for event in self.events.iter_mut().filter(|event| event.payload.is_some()) {
            event.spare = event.spare.saturating_sub(1);
            event.owed = event.owed.saturating_add(1);
            if event.sequence > expected {
                absent.push(expected..event.sequence);
            }
            expected = event.sequence + 1;
        }
        if self.next > expected {
            absent.push(expected..self.next);
        }
        absent
    }

    /// A client that has seen everything below `from` has ended: what it was owed waits for somebody else.
    pub(super) fn abandon(&mut self, from: u64) {
        let position = self.position(from);
        for event in self.events.range_mut(position..) {
            event.owed = event.owed.saturating_sub(1);
            event.spare = event.spare.saturating_add(1);
        }
    }

    /// Drops gaps at the front, and all gaps when they are more than the events: each event is moved a constant
    /// number of times on average.
    fn trim(&mut self) {
        while self.events.front().is_some_and(|event| event.payload.is_none()) {
            self.events.pop_front();
            self.gaps -= 1;
        }
        if self.gaps > FEW && self.gaps > self.events.len() / 2 {
            self.events.retain(|event| event.payload.is_some());
            self.gaps = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(ring: &Ring<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some((sequence, _, payload)) = ring.seek(from) {
            found.push(*payload);
            from = sequence + 1;
        }
        found
    }

    /// QUEUE-10: oldest first, and only as many as necessary. QUEUE-11: an empty event takes no memory.
    #[test]
    fn eviction() {
        let mut ring = Ring::new();
        for number in 0..4 {
            ring.push(10, 1, 0, number);
        }
        ring.make_room(10, 45);
        assert_eq!((stored(&ring), ring.memory(), ring.evicted()), (vec![1, 2, 3], 30, 1));
        ring.push(0, 1, 0, 9);
        ring.make_room(45, 45);
        assert_eq!((stored(&ring), ring.memory(), ring.evicted()), (vec![9], 0, 4));
    }

    /// An old event that nobody fetches does not make the ring grow with what others have consumed.
    #[test]
    fn gaps_are_closed() {
        let mut ring = Ring::new();
        ring.push(1, 0, 1, 0);
        for number in 1..10_000 {
            ring.push(1, 1, 0, number);
            ring.consume(u64::from(number));
        }
        assert_eq!((stored(&ring), ring.memory()), (vec![0], 1));
        assert!(ring.events.len() < 100);
        ring.push(1, 1, 0, 77);
        assert_eq!(ring.seek(1).map(|found| *found.2), Some(77));
        assert_eq!(ring.claim(), vec![Range { start: 1, end: 10_000 }]);
        ring.consume(0);
        assert_eq!(stored(&ring), [77]);
    }

    /// QUEUE-27: what an ended client has not seen stays.
    #[test]
    fn abandoned_events_wait_for_the_next_client() {
        let mut ring = Ring::new();
        ring.push(1, 1, 0, 5);
        ring.abandon(0);
        assert_eq!((stored(&ring), ring.memory()), (vec![5], 1));
        assert_eq!(ring.claim(), []);
        ring.consume(0);
        assert_eq!((stored(&ring), ring.memory()), (vec![], 0));
    }
}
