//! Queues of events that several clients read at their own pace, within a limit of memory.
//!
//! Each client sees each event at most once, and an active client exactly once unless the memory
//! limit takes the event away before; then the client is told how many it has missed (E-7). A
//! client becomes active with its first fetch. What an ended client has not seen stays for the next
//! client (QUEUE-27). A queue may be created with a number of places, clients that are known to
//! come: events are kept for them, and the first fetches of clients fill them (E-8).
//!
//! The queue stores payloads of type `P` without looking at them; `F` is a filter. Both belong to
//! the caller, who also calls decoders and filters: nothing here runs foreign code, so a caller can
//! keep all queues behind one lock and release it around each callback. A [`FetchSession`] survives
//! whatever a callback does to queue or client, and what a callback looks at stays where it is
//! (E-14).
//!
//! When memory runs out, a call fails with `-ENOMEM` and has changed nothing (E-17); what gives
//! something back needs none.

mod backlog;
mod clients;
#[cfg(test)]
mod model;
mod readers;
mod session;
mod trace;

use std::io::Write;

use backlog::{Backlog, New};
use clients::Clients;
use readers::{Access, Reader, Readers, Retained};

use crate::error::{Error, Result};
use crate::handles::{self, Handles};

pub use clients::Filters;
pub use session::{End, Event, FetchSession};
pub use trace::{ClientEndReport, Excerpt, Printable};

/// What a queue stores of an event.
pub trait Payload {
    /// How a callback sees it while nothing is locked. A fetch may use a view until it says that it
    /// is done with the event: so long the payload is neither moved nor dropped.
    type View: Copy;

    /// The view.
    fn view(&self) -> Self::View;
}

/// One queue.
#[derive(Debug)]
struct Queue<P, F> {
    name: Vec<u8>,
    /// Most bytes of payload that are stored at a time.
    limit: usize,
    /// The event array that fetches fill; the caller's.
    array: i32,
    /// Different for each queue, so that a fetch notices when its slot holds another one.
    generation: u64,
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
    backlog: Backlog<P>,
    readers: Readers,
    /// Empty, with room for the filters of all clients: they are released with the queue.
    filters: Vec<F>,
}

impl<P, F> Queue<P, F> {
    fn clients(&self) -> u32 {
        self.active.saturating_add(self.places)
    }

    /// An event has come.
    fn count(&mut self, size: usize) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(size as u64);
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

/// What is left to do for the caller when a queue has gone.
#[derive(Debug)]
pub struct Leftovers<F> {
    /// Filters to release, in this order.
    pub filters: Vec<F>,
    /// The event array to free.
    pub array: i32,
}

/// All queues and their clients.
#[derive(Debug)]
pub struct Queues<P, F> {
    slots: Handles<Queue<P, F>>,
    clients: Clients<F>,
    retained: Retained<P>,
    generation: u64,
    /// Queues that wait for their last client to end.
    closing: usize,
}

impl<P: Payload, F: Copy> Default for Queues<P, F> {
    fn default() -> Queues<P, F> {
        Queues::new()
    }
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Whether there never were queues or clients.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.slots() == 0 && self.clients.is_empty()
    }

    /// No queues, no clients.
    #[must_use]
    pub const fn new() -> Queues<P, F> {
        Queues {
            slots: Handles::new(),
            clients: Clients::new(),
            retained: Retained::new(),
            generation: 0,
            closing: 0,
        }
    }

    /// Makes a queue that stores `limit` bytes at most and expects `places` clients; `array` makes
    /// the event array that its fetches fill. Gives the lowest free handle (QUEUE-1). Other queues
    /// keep their events (E-9).
    ///
    /// # Errors
    /// `-EINVAL` for a limit of 0, `-EEXIST` when a queue of this name is in use, `-ENOMEM`, what
    /// `array` fails with.
    pub fn create(
        &mut self,
        name: &[u8],
        limit: usize,
        places: u32,
        array: impl FnOnce() -> Result<i32>,
    ) -> Result<i32> {
        if limit == 0 {
            return Err(Error::INVAL);
        }
        if self.named(name).is_some() {
            return Err(Error::EEXIST);
        }
        let slot = self.slots.vacant()?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(name.len()).map_err(|_| Error::NOMEM)?;
        copy.extend_from_slice(name);
        let array = array()?;
        self.generation += 1;
        let queue = Queue {
            name: copy,
            limit,
            array,
            generation: self.generation,
            closing: false,
            active: 0,
            places,
            count: 0,
            bytes: 0,
            backlog: Backlog::new(self.generation),
            readers: Readers::new(),
            filters: Vec::new(),
        };
        self.slots.put(slot, queue);
        handles::handle(slot)
    }

    fn named(&self, name: &[u8]) -> Option<usize> {
        let mut queues = self.slots.iter();
        queues.find(|(_, queue)| queue.name == name).map(|(slot, _)| slot)
    }

    /// The handle of the queue with this name (QUEUE-3).
    ///
    /// # Errors
    /// `-ESRCH` when there is none.
    pub fn find(&self, name: &[u8]) -> Result<i32> {
        self.named(name).ok_or(Error::ESRCH).and_then(handles::handle)
    }

    /// The slot of a handle that is in use (QUEUE-4).
    fn slot(&self, handle: i32) -> Result<usize> {
        let slot = handles::slot(handle);
        slot.filter(|slot| self.slots.get(*slot).is_some()).ok_or(Error::INVAL)
    }

    /// What the queue can tell about itself.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn counters(&self, handle: i32) -> Result<Counters> {
        let slot = self.slot(handle)?;
        let queue = self.slots.get(slot).ok_or(Error::INVAL)?;
        Ok(Counters {
            clients: queue.clients(),
            count: queue.count,
            bytes: queue.bytes,
            memory: queue.backlog.memory(),
        })
    }

    /// An event of `size` bytes has come; `store` makes its payload if it is to be kept (QUEUE-10),
    /// from one that is not needed any more if there is one.
    ///
    /// One that nobody listens to is dropped, and so is one that is larger than the limit; both
    /// count.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for an event larger than the limit. `-EINVAL` for a handle that is not in
    /// use; what `store` fails with, and `-ENOMEM`: then nothing has changed.
    pub fn append(&mut self, handle: i32, size: usize, store: impl FnOnce(Option<P>) -> Result<P>) -> Result<()> {
        let slot = handles::slot(handle).ok_or(Error::INVAL)?;
        let queue = self.slots.get_mut(slot).ok_or(Error::INVAL)?;
        let Some(room) = queue.limit.checked_sub(size) else {
            queue.count(size);
            return Err(Error::TOOBIG);
        };
        if queue.clients() == 0 {
            queue.backlog.make_room(room, &mut self.retained);
        } else {
            let event = New {
                size,
                room,
                owed: queue.active,
                spare: queue.places,
            };
            queue.backlog.push(event, &mut self.retained, store)?;
        }
        queue.count(size);
        Ok(())
    }

    /// The words for an event that was too large.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use, `-ENOMEM`.
    pub fn too_large(&self, handle: i32, size: usize) -> Result<Vec<u8>> {
        const HEAD: &[u8] = b"Event too large for queue ";
        /// Two numbers of twenty digits, and what is around them.
        const TAIL: usize = 48;
        let queue = self.slots.get(self.slot(handle)?).ok_or(Error::INVAL)?;
        let mut text = Vec::new();
        text.try_reserve_exact(HEAD.len() + queue.name.len() + TAIL)
            .map_err(|_| Error::NOMEM)?;
        text.extend_from_slice(HEAD);
        text.extend_from_slice(&queue.name);
        write!(text, " ({size} > {})", queue.limit)?;
        Ok(text)
    }

    /// Lets the queue go: now if it has no clients, else with the last of them (QUEUE-40).
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn shutdown(&mut self, handle: i32) -> Result<Option<Leftovers<F>>> {
        let slot = self.slot(handle)?;
        let queue = self.slots.get_mut(slot).ok_or(Error::INVAL)?;
        self.closing += usize::from(!queue.closing);
        queue.closing = true;
        Ok(self.release(slot))
    }

    /// Takes out one of the queues that were shut down and have no clients any more; to be called
    /// until there is none.
    pub fn reap(&mut self) -> Option<Leftovers<F>> {
        if self.closing == 0 {
            return None;
        }
        (0..self.slots.slots()).find_map(|slot| self.release(slot))
    }

    /// Frees a queue with its events if it was shut down and has no clients, and forgets what
    /// clients had to do with it: a new queue in the same slot starts afresh (QUEUE-41, E-10,
    /// E-11).
    fn release(&mut self, slot: usize) -> Option<Leftovers<F>> {
        let done = |queue: &Queue<P, F>| queue.closing && queue.clients() == 0;
        self.slots.get(slot).filter(|queue| done(queue))?;
        let mut queue = self.slots.take(slot)?;
        self.closing -= 1;
        queue.backlog.close(&mut self.retained);
        let filters = self.clients.iter_mut().filter_map(|client| client.take_filter(slot));
        // Room: for one of each client, since there are clients.
        queue.filters.extend(filters);
        Some(Leftovers {
            filters: queue.filters,
            array: queue.array,
        })
    }

    /// Registers a client and gives its slot (QUEUE-20).
    ///
    /// # Errors
    /// `-ENOMEM` when slots or memory run out.
    pub fn register(&mut self, context: i32) -> Result<i32> {
        handles::handle(self.clients.register(context)?)
    }

    /// The number of registered clients (QUEUE-21).
    #[must_use]
    pub fn clients(&self) -> u32 {
        u32::try_from(self.clients.count()).unwrap_or(u32::MAX)
    }

    /// Ends a client and gives its filters, by slot of the queue; an unknown client is none of our
    /// business (QUEUE-26). They are to be released, and then the queues that have lost their last
    /// client: see [`Queues::reap`].
    pub fn end(&mut self, context: i32) -> Filters<F> {
        let Some((slot, client)) = self.clients.remove(context) else {
            return Filters::of(None);
        };
        for queue in self.slots.values_mut() {
            if let Some(reader) = queue.readers.leave(slot).filter(Reader::is_active) {
                queue.backlog.abandon(reader.cursor);
                queue.active = queue.active.saturating_sub(1);
            }
        }
        Filters::of(Some(client))
    }

    /// Grants or denies a client the events of a queue (QUEUE-24).
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_access(&mut self, context: i32, handle: i32, allowed: bool) -> Result<()> {
        let slot = self.slot(handle)?;
        let client = self.clients.slot(context).ok_or(Error::INVAL)?;
        let queue = self.slots.get_mut(slot).ok_or(Error::INVAL)?;
        let reader = queue.readers.enter(client, &mut self.generation)?;
        reader.access = reader.access.granted(allowed);
        Ok(())
    }

    /// Installs a filter, and grants access (QUEUE-25). One with `filtering` false only takes the
    /// place of the one before. Gives the filter that it replaces if that one was filtering: it is
    /// to be released.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_filter(&mut self, context: i32, handle: i32, filter: F, filtering: bool) -> Result<Option<F>> {
        let slot = self.slot(handle)?;
        let clients = self.clients.count();
        let (client_slot, client) = self.clients.get(context).ok_or(Error::INVAL)?;
        let queue = self.slots.get_mut(slot).ok_or(Error::INVAL)?;
        // A client may have a filter here; see `release`.
        queue.filters.try_reserve(clients).map_err(|_| Error::NOMEM)?;
        let reader = queue.readers.enter(client_slot, &mut self.generation)?;
        let old = client.filter(slot)?.replace(filter);
        let old = old.filter(|_| reader.access == Access::Filtered);
        reader.access = if filtering { Access::Filtered } else { Access::Allowed };
        Ok(old)
    }
}
