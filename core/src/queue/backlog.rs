//! One queue: its stored events, the number of clients that have not yet seen each event, and the
//! clients that read the queue; and the memory for the events of all queues.

use std::fmt::{self, Display};

use crate::error::{Error, Result};
use crate::log::Bytes;

/// The number of bytes that a payload takes beside its content, roughly.
pub(super) const OVERHEAD: usize = 64;

/// An event that a client sees. Its payload lives until the fetch is done with it.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    /// Its slot in [`Events`].
    pub(super) slot: u32,
    /// The client's cursor when it was shown.
    pub(super) number: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}

/// An event in memory.
#[derive(Debug)]
pub(super) struct StoredEvent<P> {
    /// The data of the event; in a free slot, memory to be used again.
    payload: Option<P>,
    /// Bytes of payload.
    pub(super) size: usize,
    /// The number of active clients that have not seen it; 0 once it was evicted.
    owed: u32,
    /// The number of future clients that the event is kept for: the clients announced when the
    /// queue was made, and one for each client that ended before it saw the event (QUEUE-27).
    spare: u32,
    /// The number of its holders: its queue, and the fetches that show it.
    pub(super) holders: u32,
}

impl<P: Payload> StoredEvent<P> {
    /// The payload, which exists as long as the event has a holder.
    pub(super) fn payload(&self) -> Option<&P> {
        self.payload.as_ref()
    }

    /// As [`StoredEvent::payload`], mutable.
    pub(super) fn payload_mut(&mut self) -> Option<&mut P> {
        self.payload.as_mut()
    }
}

/// The events of all queues by slot. An event that has left its queue stays as long as a fetch
/// shows it (E-14).
///
/// A callback that leaves by `longjmp` never ends its fetch, so the event stays for ever.
#[derive(Debug)]
pub(super) struct Events<P> {
    slots: Vec<StoredEvent<P>>,
    /// The slots without an event. It has room for all slots, so that freeing needs no memory.
    free: Vec<u32>,
    /// The slots whose payload the caller has to drop. It has room for all slots, too.
    gone: Vec<u32>,
    /// The number of bytes that they keep.
    kept: usize,
}

impl<P: Payload> Events<P> {
    pub(super) const fn new() -> Events<P> {
        Events {
            slots: Vec::new(),
            free: Vec::new(),
            gone: Vec::new(),
            kept: 0,
        }
    }

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

    /// Stores an event that a queue holds; `store` makes its payload, from a used one if `Events`
    /// has one.
    ///
    /// # Errors
    /// The error of `store`, `-ENOMEM`; nothing has changed.
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
        let used = event.payload.take();
        if used.is_some() {
            self.kept -= event.size + OVERHEAD;
        }
        match store(used) {
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

    /// Makes a slot for one more event.
    #[cold]
    fn add_slot(&mut self) -> Result<u32> {
        let slot = u32::try_from(self.slots.len()).map_err(|_| Error::ENOMEM)?;
        // All slots may become free.
        let all = self.slots.len() + 1;
        self.free.try_reserve(all).map_err(|_| Error::ENOMEM)?;
        let more = all - self.gone.len();
        self.gone.try_reserve(more).map_err(|_| Error::ENOMEM)?;
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

    /// Gives up one hold on an event, and frees it with the last one.
    pub(super) fn release(&mut self, slot: u32) {
        let event = self.get_mut(slot);
        event.holders -= 1;
        if event.holders == 0 {
            self.free(slot);
        }
    }

    /// Shows an event, which the fetch holds from now on. `None` if the slot has no event.
    #[inline(always)]
    pub(super) fn show(&mut self, slot: u32, number: u64) -> Option<Event<P::EventData>> {
        let event = self.slots.get_mut(slot as usize)?;
        let payload = event.payload()?.view();
        event.holders += 1;
        let size = event.size;
        Some(Event {
            slot,
            number,
            size,
            payload,
        })
    }

    /// Frees the slot of an event that has no holder any more. The payload is kept, to be used again,
    /// or is for the caller.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32) {
        let event = &mut self.slots[slot as usize];
        // The size is what the agent says.
        let kept = self.kept.saturating_add(event.size).saturating_add(OVERHEAD);
        // Room: `add_slot`.
        if kept <= P::KEPT {
            self.kept = kept;
            self.free.push(slot);
        } else {
            self.gone.push(slot);
        }
    }

    /// Returns whether there are payloads that the caller has to drop.
    #[inline(always)]
    pub(super) fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Takes a payload that the caller has to drop; its slot is free then.
    pub(super) fn take_gone(&mut self) -> Option<P> {
        let slot = self.gone.pop()?;
        // Room: `add_slot`.
        self.free.push(slot);
        self.get_mut(slot).payload.take()
    }
}

/// The events that one queue stores, by consecutive numbers.
///
/// An event that all clients have seen leaves the queue, and those in front of it move up by one.
/// So the events below the oldest one that a client has not seen were lost to the memory limit, and
/// their number is a difference of two numbers.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The slots of the events, oldest first.
    slots: Vec<u32>,
    /// The number that an event at the index 0 in `slots` has or had.
    base: u64,
    /// The number of the oldest event or, without one, of the next event to come.
    pub(super) oldest: u64,
    /// Bytes of payload that are stored (QUEUE-5).
    pub(super) memory: u64,
}

impl Backlog {
    pub(super) const fn new() -> Backlog {
        Backlog {
            slots: Vec::new(),
            base: 0,
            oldest: 0,
            memory: 0,
        }
    }

    /// The length of the list, the slots of events that have left the queue included.
    #[cfg(test)]
    pub(super) fn list_len(&self) -> usize {
        self.slots.len()
    }

    /// The index of an event that is not older than the oldest one.
    #[inline(always)]
    fn index(&self, number: u64) -> usize {
        (number - self.base) as usize
    }

    /// The index of the oldest event.
    fn first(&self) -> usize {
        self.index(self.oldest)
    }

    /// The slot of an event that is not older than the oldest one; `None` if it has not come yet.
    #[inline(always)]
    pub(super) fn get(&self, number: u64) -> Option<u32> {
        self.slots.get(self.index(number)).copied()
    }

    /// The slots of all events, oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.slots[self.first()..].iter().copied()
    }

    /// Stores an event of `size` bytes, which [`Backlog::push`] then adds; `listeners` are the
    /// numbers `owed` and `spare` of it. In between, the caller can evict others: an event that
    /// cannot be stored evicts none.
    ///
    /// # Errors
    /// The error of `store`, `-ENOMEM`; nothing has changed.
    #[inline(always)]
    pub(super) fn store<P: Payload>(
        &mut self,
        events: &mut Events<P>,
        size: usize,
        listeners: (u32, u32),
        store: impl FnOnce(Option<P>) -> Result<P>,
    ) -> Result<u32> {
        if self.first() == self.slots.len() {
            self.slots.clear();
            self.base = self.oldest;
        }
        if self.slots.len() == self.slots.capacity() {
            self.make_room()?;
        }
        events.store(size, listeners, store)
    }

    /// Makes room for one more event: in the place of those that have left the queue, if they are
    /// many.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        let first = self.first();
        if first > self.slots.len() / 2 {
            self.slots.drain(..first);
            self.base = self.oldest;
        }
        self.slots.try_reserve(1).map_err(|_| Error::ENOMEM)
    }

    /// Adds an event that [`Backlog::store`] has stored after all others.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u32, size: usize) {
        // Room: `store`.
        self.slots.push(slot);
        self.memory += size as u64;
    }

    /// Takes the oldest event out for the memory limit (QUEUE-10). Fetches that show it keep it.
    pub(super) fn evict<P: Payload>(&mut self, events: &mut Events<P>) {
        if let Some(slot) = self.slots.get(self.first()) {
            self.oldest += 1;
            let event = events.get_mut(*slot);
            self.memory -= event.size as u64;
            event.owed = 0;
            events.release(*slot);
        }
    }

    /// Notes that an active client has seen an event. Returns whether the event has left the queue
    /// with that.
    #[inline(always)]
    pub(super) fn count_seen<P>(&mut self, number: u64, event: &mut StoredEvent<P>) -> bool {
        if event.owed == 0 {
            return false;
        }
        event.owed -= 1;
        if event.owed | event.spare > 0 {
            return false;
        }
        event.holders -= 1;
        self.memory -= event.size as u64;
        if number > self.oldest {
            // The events before it wait for future clients.
            let (first, index) = (self.first(), self.index(number));
            self.slots.copy_within(first..index, first + 1);
        }
        self.oldest += 1;
        true
    }

    /// Gives a client that has become active all events that are stored. In place of an announced
    /// or an ended client, it takes over what that one was to see.
    pub(super) fn claim<P: Payload>(&self, events: &mut Events<P>) {
        for slot in self.slots() {
            let event = events.get_mut(slot);
            event.spare = event.spare.saturating_sub(1);
            event.owed = event.owed.saturating_add(1);
        }
    }

    /// Leaves the events that an ended client has not seen, from `from` on, to a future client.
    pub(super) fn abandon<P: Payload>(&self, from: u64, events: &mut Events<P>) {
        let passed = from.saturating_sub(self.oldest);
        for slot in self.slots().skip(passed as usize) {
            let event = events.get_mut(slot);
            event.owed = event.owed.saturating_sub(1);
            event.spare = event.spare.saturating_add(1);
        }
    }
}

/// One queue.
#[derive(Debug)]
pub(super) struct Queue<F> {
    pub(super) name: Vec<u8>,
    /// The greatest number of bytes of payload that are stored at a time.
    pub(super) limit: usize,
    /// The handle of the event array that fetches fill; the array is the caller's.
    pub(super) array: i32,
    /// A number that no other queue has had: a fetch notices when its handle is that of another
    /// queue.
    pub(super) generation: u64,
    /// True if it was shut down: it goes with its last client (QUEUE-40).
    pub(super) closing: bool,
    /// The number of clients that have fetched and have not ended.
    pub(super) active: u32,
    /// The number of announced clients that have not fetched yet.
    pub(super) announced: u32,
    /// The number of events that came, stored or not (QUEUE-5).
    pub(super) count: u32,
    /// The number of bytes that came.
    pub(super) bytes: u64,
    pub(super) backlog: Backlog,
    /// The readers, by the slots of their clients.
    pub(super) readers: Vec<Option<QueueReader<F>>>,
}

impl<F> Queue<F> {
    /// The number of clients that events are kept for.
    pub(super) fn clients(&self) -> u32 {
        self.active.saturating_add(self.announced)
    }

    /// Counts an event that was added.
    pub(super) fn counts(&mut self, size: usize) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(size as u64);
    }

    /// Returns the reader of the client in a slot, and makes it if there is none; `generation` is
    /// counted up for a new one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn enter(&mut self, client: usize, generation: &mut u64) -> Result<&mut QueueReader<F>> {
        if self.readers.len() <= client {
            let more = client + 1 - self.readers.len();
            self.readers.try_reserve(more).map_err(|_| Error::ENOMEM)?;
            self.readers.resize_with(client + 1, || None);
        }
        Ok(self.readers[client].get_or_insert_with(|| {
            *generation += 1;
            QueueReader::new(*generation)
        }))
    }
}

/// The cursor of a client that has not fetched.
const IDLE: u64 = u64::MAX;

/// The state of one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct QueueReader<F> {
    /// A number that no other reader has had: a fetch notices when its client or queue was ended.
    pub(super) generation: u64,
    /// The number of the next event that the client has not seen; [`IDLE`] until its first fetch.
    pub(super) cursor: u64,
    /// The events that the client may see.
    pub(super) access: Access,
    /// The filter. One that does not filter any more is kept, since its release function runs when
    /// the client ends (E-13).
    pub(super) filter: Option<F>,
    /// The number of events that were evicted before the client saw them, and are not reported yet.
    pub(super) missed: u64,
}

/// The events that a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// No events, as at first.
    Denied,
    /// All events.
    Allowed,
    /// The events that the filter lets pass, whether or not access was granted as well.
    Filtered,
}

impl<F> QueueReader<F> {
    /// The reader of a client that has not fetched, and has no access.
    pub(super) const fn new(generation: u64) -> QueueReader<F> {
        QueueReader {
            generation,
            cursor: IDLE,
            access: Access::Denied,
            filter: None,
            missed: 0,
        }
    }

    /// Returns whether the client has fetched from the queue.
    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }
}

/// The part of an event that a queue stores.
pub trait Payload {
    /// The payload as a callback sees it while nothing is locked. A fetch may use it until it says
    /// that it is done with the event: until then, the payload is neither moved nor dropped.
    type EventData: Copy;

    /// The number of bytes of used payloads that are kept, to be used again by [`Queues::append`],
    /// each with 64 bytes more.
    ///
    /// [`Queues::append`]: super::Queues::append
    const KEPT: usize;

    /// The payload as callbacks see it.
    fn view(&self) -> Self::EventData;

    /// The address of the payload, for debug output.
    fn address(&self) -> usize {
        0
    }

    /// The beginning of an event of `size` bytes, for debug output.
    fn excerpt(_: Self::EventData, _size: usize) -> Excerpt {
        Excerpt::default()
    }
}

/// The size of the shown part of an event in bytes, with a NUL.
const EXCERPT: usize = 64;

/// The beginning of an event in debug output: without its last byte, as [`printable`] shows it.
///
/// [`printable`]: crate::events::printable
#[derive(Clone, Copy, Debug)]
pub struct Excerpt {
    bytes: [u8; EXCERPT],
    len: usize,
}

impl Excerpt {
    /// The excerpt of `size` bytes, which `fill` writes as they are printed, as far as there is room.
    pub fn new(size: usize, fill: impl FnOnce(&mut [u8]) -> usize) -> Excerpt {
        let mut bytes = [0; EXCERPT];
        let len = size.min(EXCERPT).saturating_sub(1);
        let len = fill(&mut bytes[..len]).min(len);
        Excerpt { bytes, len }
    }
}

impl Default for Excerpt {
    fn default() -> Excerpt {
        Excerpt::new(0, |_| 0)
    }
}

impl Display for Excerpt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(&self.bytes[..self.len]).fmt(out)
    }
}
