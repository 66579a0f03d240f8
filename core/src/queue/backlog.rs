//! The events that a queue stores, oldest first, and who is still owed each of them; and the memory
//! for the events of all queues.

use super::payload::Payload;
use crate::error::{Error, Result};

/// Number of slots of events that have gone that keep their payload, to be used again, ...
const SPARES: usize = 1024;
/// ... if the event was not larger than this, in bytes: copying larger ones takes longer than
/// asking for memory.
const SMALL: usize = 128;

/// An event that a client sees. Its payload stays alive until the fetch is done with it, whatever
/// happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    pub(super) slot: u32,
    /// The client's cursor when it was shown.
    pub(super) number: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}

/// One stored event.
#[derive(Debug)]
pub(super) struct StoredEvent<P> {
    /// The data. A free slot may still have some, to be used again.
    payload: Option<P>,
    pub(super) size: usize,
    /// The number of active clients that have not seen it; none are owed one that was evicted.
    owed: u32,
    /// The number of consumptions that it waits for beyond those: by clients that were announced
    /// but have not fetched yet, and in place of clients that have ended (QUEUE-27).
    spare: u32,
    /// The number of its holders: its queue, and each fetch that shows it at this moment.
    pub(super) holders: u32,
}

impl<P: Payload> StoredEvent<P> {
    /// The payload; there is one as long as anybody holds the event.
    pub(super) fn payload(&self) -> Option<&P> {
        self.payload.as_ref()
    }
}

/// The events of all queues by their slots. One that has left its queue stays as long as a fetch
/// shows it (E-14).
///
/// A callback that leaves with `longjmp` never says that it is done: the event is kept for ever,
/// which harms nothing else.
#[derive(Debug)]
pub(super) struct Events<P> {
    slots: Vec<StoredEvent<P>>,
    /// Slots without an event; there is room for all.
    free: Vec<u32>,
}

impl<P: Payload> Events<P> {
    pub(super) const fn new() -> Events<P> {
        Events {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The number of slots: of the events that there were at a time.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, slot: u32) -> &StoredEvent<P> {
        &self.slots[slot as usize]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut StoredEvent<P> {
        &mut self.slots[slot as usize]
    }

    /// Stores an event that a queue holds; `store` makes its payload, from one that is not needed
    /// any more if there is one.
    ///
    /// # Errors
    /// What `store` fails with, `-ENOMEM`.
    #[inline(always)]
    fn store(
        &mut self,
        size: usize,
        (owed, spare): (u32, u32),
        store: impl FnOnce(Option<P>) -> Result<P>,
    ) -> Result<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add_slot()?,
        };
        let event = &mut self.slots[slot as usize];
        match store(event.payload.take()) {
            Ok(payload) => event.payload = Some(payload),
            Err(error) => {
                // Room: `add_slot`.
                self.free.push(slot);
                return Err(error);
            }
        }
        (event.size, event.owed, event.spare, event.holders) = (size, owed, spare, 1);
        Ok(slot)
    }

    #[cold]
    fn add_slot(&mut self) -> Result<u32> {
        let slot = u32::try_from(self.slots.len()).map_err(|_| Error::ENOMEM)?;
        // None is free now; all may be.
        let all = self.slots.len() + 1;
        self.free.try_reserve(all).map_err(|_| Error::ENOMEM)?;
        self.slots.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        self.slots.push(StoredEvent {
            payload: None,
            size: 0,
            owed: 0,
            spare: 0,
            holders: 0,
        });
        Ok(slot)
    }

    /// One that has held an event does not any more.
    pub(super) fn release(&mut self, slot: u32) {
        let event = self.get_mut(slot);
        event.holders -= 1;
        if event.holders == 0 {
            self.free(slot);
        }
    }

    /// An event without a holder goes.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32) {
        let event = &mut self.slots[slot as usize];
        if event.size > SMALL || self.free.len() >= SPARES {
            event.payload = None;
        }
        // Room: `add_slot`.
        self.free.push(slot);
    }
}

/// Stored events by number: each has the number behind that of the event in front of it.
///
/// An event that is consumed is owed to no active client, so that all of them are beyond it; those
/// in front of it move up by one, where nobody is who could mix them up. So what a client has not
/// seen below the oldest event was lost to the memory limit: the number of missed events is a
/// difference of two numbers, and eviction does no work per client.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The slots of the events, oldest first.
    slots: Vec<u32>,
    /// The number of the oldest one; those in front of it have gone.
    first: usize,
    /// Its number, or that of the next event to come.
    pub(super) oldest: u64,
    /// Bytes of payload that are stored (QUEUE-5).
    pub(super) memory: u64,
}

impl Backlog {
    pub(super) const fn new() -> Backlog {
        Backlog {
            slots: Vec::new(),
            first: 0,
            oldest: 0,
            memory: 0,
        }
    }

    /// The slot of an event that is not older than the oldest one.
    #[inline(always)]
    fn index(&self, number: u64) -> usize {
        self.first + (number - self.oldest) as usize
    }

    /// The slot of such an event, if it has come.
    #[inline(always)]
    pub(super) fn get(&self, number: u64) -> Option<u32> {
        self.slots.get(self.index(number)).copied()
    }

    /// The slots of all events, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.slots[self.first..].iter().copied()
    }

    /// Stores an event of `size` bytes that is to be put behind all others; `listeners` are the
    /// active clients and the places for which it waits.
    ///
    /// # Errors
    /// As [`Events::store`]; nothing has changed then.
    #[inline(always)]
    pub(super) fn store<P: Payload>(
        &mut self,
        events: &mut Events<P>,
        size: usize,
        listeners: (u32, u32),
        store: impl FnOnce(Option<P>) -> Result<P>,
    ) -> Result<u32> {
        if self.first == self.slots.len() {
            self.slots.clear();
            self.first = 0;
        }
        if self.slots.len() == self.slots.capacity() {
            self.make_room()?;
        }
        events.store(size, listeners, store)
    }

    /// Room for one more: where others have gone if these are half of all, so that a slot is moved
    /// once on average.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        if self.first > self.slots.len() / 2 {
            self.slots.drain(..self.first);
            self.first = 0;
        }
        self.slots.try_reserve(1).map_err(|_| Error::ENOMEM)
    }

    /// Puts an event behind all others that [`Backlog::store`] has stored.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u32, size: usize) {
        // Room: `store`.
        self.slots.push(slot);
        self.memory += size as u64;
    }

    /// Takes out the oldest event, for which the limit of memory leaves no room (QUEUE-10).
    pub(super) fn evict<P: Payload>(&mut self, events: &mut Events<P>) {
        if let Some(slot) = self.slots.get(self.first) {
            (self.first, self.oldest) = (self.first + 1, self.oldest + 1);
            let event = events.get_mut(*slot);
            self.memory -= event.size as u64;
            event.owed = 0;
            events.release(*slot);
        }
    }

    /// A client has seen an event that it was owed, unless it was evicted meanwhile. Tells whether
    /// it was the last one, so that the event has left the queue.
    #[inline(always)]
    pub(super) fn seen<P>(&mut self, number: u64, event: &mut StoredEvent<P>) -> bool {
        if event.owed == 0 {
            return false;
        }
        event.owed -= 1;
        if event.owed | event.spare > 0 {
            return false;
        }
        event.holders -= 1;
        self.memory -= event.size as u64;
        let index = self.index(number);
        if index > self.first {
            // Those in front wait for a client to come.
            self.slots.copy_within(self.first..index, self.first + 1);
        }
        (self.first, self.oldest) = (self.first + 1, self.oldest + 1);
        true
    }

    /// A client has become active: it is owed what is stored. Where a place or an ended client left
    /// a consumption open, the client takes that over.
    pub(super) fn claim<P: Payload>(&self, events: &mut Events<P>) {
        for slot in self.slots() {
            let event = events.get_mut(slot);
            event.spare = event.spare.saturating_sub(1);
            event.owed = event.owed.saturating_add(1);
        }
    }

    /// A client that has seen everything below `from` has ended: what it was owed waits for
    /// somebody else.
    pub(super) fn abandon<P: Payload>(&self, from: u64, events: &mut Events<P>) {
        let seen = from.saturating_sub(self.oldest);
        for slot in self.slots().skip(seen as usize) {
            let event = events.get_mut(slot);
            event.owed = event.owed.saturating_sub(1);
            event.spare = event.spare.saturating_add(1);
        }
    }
}
