//! Queues of events that several clients read at their own pace, within a limit of memory.
//!
//! Each client sees each event at most once, and an active client exactly once unless the memory limit takes the
//! event away before; then the client is told how many it has missed (E-7). A client becomes active with its first
//! fetch. What an ended client has not seen stays for the next client (QUEUE-27). A queue may be created with a
//! number of places, clients that are known to come: events are kept for them, and the first fetches of clients
//! fill them (E-8).
//!
//! The queue stores payloads of type `P` without looking at them; `F` is a filter. Both belong to the caller, who
//! also calls decoders and filters: nothing here runs foreign code, so a caller can keep all queues behind one lock
//! and release it around each callback. A [`Visit`] survives whatever a callback does to queue or client (E-14).

#![forbid(unsafe_code)]

mod clients;
#[cfg(test)]
mod model;
mod ring;
mod visit;

use clients::Clients;
use ring::Ring;

use crate::error::{Error, Result};
use crate::log::{Journal, Level};

pub use visit::{End, Event, Visit};

/// One queue.
#[derive(Debug)]
struct Queue<P> {
    name: Vec<u8>,
    /// Most bytes of payload that are stored at a time.
    limit: usize,
    /// The event array that fetches fill; the caller's.
    array: i32,
    /// Different for each queue, so that a fetch notices when its slot holds another one.
    born: u64,
    /// Goes away with its last client (QUEUE-40).
    closing: bool,
    /// Clients that have fetched.
    active: u32,
    /// Announced clients that have not fetched yet.
    places: u32,
    /// Events that came, whether they were stored or not (QUEUE-5).
    count: u32,
    /// Bytes that came.
    bytes: u64,
    ring: Ring<P>,
}

impl<P> Queue<P> {
    fn clients(&self) -> u32 {
        self.active.saturating_add(self.places)
    }
}

/// What a queue can tell about itself (QUEUE-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Clients that the queue keeps events for.
    pub clients: u32,
    /// Events that came.
    pub count: u32,
    /// Bytes that came.
    pub bytes: u64,
    /// Bytes that are stored.
    pub memory: u64,
}

/// What is left to do for the caller when clients or queues have gone.
#[derive(Debug)]
pub struct Leftovers<F> {
    /// Filters to release, in this order.
    pub filters: Vec<F>,
    /// Event arrays to free.
    pub arrays: Vec<i32>,
}

impl<F> Default for Leftovers<F> {
    fn default() -> Leftovers<F> {
        Leftovers {
            filters: Vec::new(),
            arrays: Vec::new(),
        }
    }
}

/// All queues and their clients.
#[derive(Debug)]
pub struct Queues<P, F> {
    slots: Vec<Option<Queue<P>>>,
    clients: Clients<F>,
    born: u64,
}

impl<P: Clone, F: Copy> Default for Queues<P, F> {
    fn default() -> Queues<P, F> {
        Queues::new()
    }
}

impl<P: Clone, F: Copy> Queues<P, F> {
    /// No queues, no clients.
    #[must_use]
    pub const fn new() -> Queues<P, F> {
        Queues {
            slots: Vec::new(),
            clients: Clients::new(),
            born: 0,
        }
    }

    /// Makes a queue that stores `limit` bytes at most and expects `places` clients; `array` makes the event array
    /// that its fetches fill. Gives the lowest free handle (QUEUE-1). Other queues keep their events (E-9).
    ///
    /// # Errors
    /// `-EINVAL` for a limit of 0, `-EEXIST` when a queue of this name is in use, what `array` fails with.
    pub fn create(
        &mut self,
        name: &[u8],
        limit: usize,
        places: u32,
        array: impl FnOnce() -> Result<i32>,
    ) -> Result<i32> {
        const EXIST: Error = Error::os(17);
        if limit == 0 {
            return Err(Error::INVAL);
        }
        if self.named(name).is_some() {
            return Err(EXIST);
        }
        let slot = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        let handle = i32::try_from(slot).map_err(|_| Error::NOMEM)?;
        let array = array()?;
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.born += 1;
        self.slots[slot] = Some(Queue {
            name: name.to_vec(),
            limit,
            array,
            born: self.born,
            closing: false,
            active: 0,
            places,
            count: 0,
            bytes: 0,
            ring: Ring::new(),
        });
        Ok(handle)
    }

    fn named(&self, name: &[u8]) -> Option<usize> {
        self.slots
            .iter()
            .position(|queue| queue.as_ref().is_some_and(|queue| queue.name == name))
    }

    /// The handle of the queue with this name (QUEUE-3).
    ///
    /// # Errors
    /// `-ESRCH` when there is none.
    pub fn find(&self, name: &[u8]) -> Result<i32> {
        const SRCH: Error = Error::os(3);
        self.named(name).and_then(|slot| i32::try_from(slot).ok()).ok_or(SRCH)
    }

    /// The slot of a handle that is in use (QUEUE-4).
    fn slot(&self, handle: i32) -> Result<usize> {
        let slot = usize::try_from(handle).map_err(|_| Error::INVAL)?;
        match self.slots.get(slot) {
            Some(Some(_)) => Ok(slot),
            _ => Err(Error::INVAL),
        }
    }

    fn queue(&mut self, handle: i32) -> Result<&mut Queue<P>> {
        usize::try_from(handle)
            .ok()
            .and_then(|slot| self.slots.get_mut(slot)?.as_mut())
            .ok_or(Error::INVAL)
    }

    /// What the queue can tell about itself.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn counters(&self, handle: i32) -> Result<Counters> {
        let slot = self.slot(handle)?;
        let queue = self.slots[slot].as_ref().ok_or(Error::INVAL)?;
        Ok(Counters {
            clients: queue.clients(),
            count: queue.count,
            bytes: queue.bytes,
            memory: queue.ring.memory(),
        })
    }

    /// An event of `size` bytes has come; `store` makes its payload if it is to be kept (QUEUE-10).
    ///
    /// An event larger than the limit is dropped with a warning, one that nobody listens to without; both count.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use; what `store` fails with, and then nothing has changed.
    pub fn append(
        &mut self,
        handle: i32,
        size: usize,
        journal: &mut Journal,
        store: impl FnOnce() -> Result<P>,
    ) -> Result<()> {
        let queue = self.queue(handle)?;
        if size > queue.limit {
            let mut text = b"Event too large for queue ".to_vec();
            text.extend_from_slice(&queue.name);
            text.extend_from_slice(format!(" ({size} > {})", queue.limit).as_bytes());
            journal.notify(Level::Warning, text);
        } else if queue.clients() == 0 {
            queue.ring.make_room(size, queue.limit);
        } else {
            let payload = store().inspect_err(|error| {
                if *error == Error::NOMEM {
                    let text = format!("event allocation failure: {} bytes", size.saturating_add(1));
                    journal.notify(Level::Err, text);
                }
            })?;
            queue.ring.make_room(size, queue.limit);
            queue.ring.push(size, queue.active, queue.places, payload);
        }
        queue.count = queue.count.wrapping_add(1);
        queue.bytes = queue.bytes.wrapping_add(size as u64);
        Ok(())
    }

    /// Lets the queue go: now if it has no clients, else with the last of them (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn shutdown(&mut self, handle: i32) -> Result<Leftovers<F>> {
        let slot = self.slot(handle)?;
        let queue = self.queue(handle)?;
        let mut leftovers = Leftovers::default();
        if queue.clients() > 0 {
            queue.closing = true;
        } else {
            self.release(slot, &mut leftovers);
        }
        Ok(leftovers)
    }

    /// Frees a queue with its events, and forgets what clients had to do with it: a new queue in the same slot
    /// starts afresh (QUEUE-41, E-10, E-11).
    fn release(&mut self, slot: usize, leftovers: &mut Leftovers<F>) {
        if let Some(queue) = self.slots[slot].take() {
            leftovers.arrays.push(queue.array);
        }
        let pairs = self.clients.iter_mut().filter_map(|client| client.take_pair(slot));
        leftovers.filters.extend(pairs.filter_map(|pair| pair.filter));
    }

    /// Registers a client and gives its slot (QUEUE-20).
    ///
    /// # Errors
    /// `-ENOMEM` when the slots run out.
    pub fn register(&mut self, context: i32) -> Result<i32> {
        i32::try_from(self.clients.register(context)).map_err(|_| Error::NOMEM)
    }

    /// The number of registered clients (QUEUE-21).
    #[must_use]
    pub fn clients(&self) -> u32 {
        u32::try_from(self.clients.count()).unwrap_or(u32::MAX)
    }

    /// Ends a client; an unknown one is none of our business (QUEUE-26). A queue that waits for its last client to
    /// end goes with it.
    pub fn end(&mut self, context: i32) -> Leftovers<F> {
        let mut leftovers = Leftovers::default();
        let Some(client) = self.clients.remove(context) else {
            return leftovers;
        };
        let mut closed = Vec::new();
        for (slot, pair) in client.into_pairs() {
            leftovers.filters.extend(pair.filter);
            let (Some(Some(queue)), Some(cursor)) = (self.slots.get_mut(slot), pair.cursor) else {
                continue;
            };
            queue.ring.abandon(cursor);
            queue.active = queue.active.saturating_sub(1);
            if queue.closing && queue.clients() == 0 {
                closed.push(slot);
            }
        }
        for slot in closed {
            self.release(slot, &mut leftovers);
        }
        leftovers
    }

    /// Grants or denies a client the events of a queue (QUEUE-24).
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue.
    pub fn set_access(&mut self, context: i32, handle: i32, allowed: bool) -> Result<()> {
        let slot = self.slot(handle)?;
        self.clients.get(context).ok_or(Error::INVAL)?.pair(slot).allowed = allowed;
        Ok(())
    }

    /// Installs a filter, and grants access (QUEUE-25). One with `filtering` false only takes the place of the one
    /// before. Gives the filter that it replaces if that one was filtering: it is to be released.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue.
    pub fn set_filter(&mut self, context: i32, handle: i32, filter: F, filtering: bool) -> Result<Option<F>> {
        let slot = self.slot(handle)?;
        let pair = self.clients.get(context).ok_or(Error::INVAL)?.pair(slot);
        let old = pair.filter.replace(filter).filter(|_| pair.filtering);
        pair.filtering = filtering;
        pair.allowed = true;
        Ok(old)
    }
}
