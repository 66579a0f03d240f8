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
mod fetch;
#[cfg(test)]
mod model;
mod trace;

use std::io::Write;

use backlog::{Backlog, Retained};
use clients::{Access, Clients, Reader};

use crate::error::{Error, Result};
use crate::handles::{self, Handles};
use crate::log::{Bytes, Journal};

pub use backlog::Event;
pub use fetch::{End, FetchSession};
pub use trace::Excerpt;

/// What a queue stores of an event.
pub trait Payload {
    /// How a callback sees it while nothing is locked. A fetch may use a view until it says that it
    /// is done with the event: so long the payload is neither moved nor dropped.
    type View: Copy;

    /// The view.
    fn view(&self) -> Self::View;

    /// Where it is, for debug output.
    fn address(&self) -> usize {
        0
    }

    /// The beginning of an event of `size` bytes, for debug output.
    fn excerpt(_: Self::View, _size: usize) -> Excerpt {
        Excerpt::default()
    }
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
    /// What is known about clients, by their slot.
    readers: Vec<Option<Reader<F>>>,
    /// Empty, with room for the filters of all clients: they are released with the queue.
    filters: Vec<F>,
}

impl<P, F> Queue<P, F> {
    fn clients(&self) -> u32 {
        self.active.saturating_add(self.places)
    }

    /// What is known about the client in a slot, from now on at least; `generation` counts.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    fn enter(&mut self, client: usize, generation: &mut u64) -> Result<&mut Reader<F>> {
        if !matches!(self.readers.get(client), Some(Some(_))) {
            self.make(client, generation)?;
        }
        self.reader(client)
    }

    #[cold]
    fn make(&mut self, client: usize, generation: &mut u64) -> Result<()> {
        if self.readers.len() <= client {
            let more = client + 1 - self.readers.len();
            self.readers.try_reserve(more).map_err(|_| Error::NOMEM)?;
            self.readers.resize_with(client + 1, || None);
        }
        *generation += 1;
        self.readers[client] = Some(Reader::new(*generation));
        Ok(())
    }

    /// What is known about the client in a slot, to be changed.
    #[inline(always)]
    fn reader(&mut self, client: usize) -> Result<&mut Reader<F>> {
        self.readers
            .get_mut(client)
            .and_then(Option::as_mut)
            .ok_or(Error::INVAL)
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
    /// What there is to say, if somebody wants to know (`-Dlibpmda`, QUEUE-60).
    pub journal: Option<Journal>,
    slots: Handles<Queue<P, F>>,
    clients: Clients<F>,
    retained: Retained<P>,
    /// How many queues and readers there were.
    generation: u64,
}

impl<P: Payload, F: Copy> Default for Queues<P, F> {
    fn default() -> Queues<P, F> {
        Queues::new()
    }
}

/// The queue of a handle, and its slot (QUEUE-4).
#[inline(always)]
fn in_use<P, F>(slots: &mut Handles<Queue<P, F>>, handle: i32) -> Result<(usize, &mut Queue<P, F>)> {
    let slot = handles::slot(handle).ok_or(Error::INVAL)?;
    Ok((slot, slots.get_mut(slot).ok_or(Error::INVAL)?))
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// No queues, no clients.
    #[must_use]
    pub const fn new() -> Queues<P, F> {
        Queues {
            journal: None,
            slots: Handles::new(),
            clients: Clients::new(),
            retained: Retained::new(),
            generation: 0,
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
        if self.find(name).is_ok() {
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
            readers: Vec::new(),
            filters: Vec::new(),
        };
        self.slots.put(slot, queue);
        handles::handle(slot)
    }

    /// The handle of the queue with this name (QUEUE-3).
    ///
    /// # Errors
    /// `-ESRCH` when there is none.
    pub fn find(&self, name: &[u8]) -> Result<i32> {
        let queue = self.slots.iter().find(|(_, queue)| queue.name == name);
        handles::handle(queue.ok_or(Error::ESRCH)?.0)
    }

    /// Whether a handle belongs to a queue that has gone.
    #[must_use]
    pub fn is_vacant(&self, handle: i32) -> bool {
        handles::slot(handle).is_some_and(|slot| self.slots.is_vacant(slot))
    }

    /// What the queue can tell about itself.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn counters(&self, handle: i32) -> Result<Counters> {
        let queue = handles::slot(handle).and_then(|slot| self.slots.get(slot));
        let queue = queue.ok_or(Error::INVAL)?;
        Ok(Counters {
            clients: queue.clients(),
            count: queue.count,
            bytes: queue.bytes,
            memory: queue.backlog.memory,
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
        let (_, queue) = in_use(&mut self.slots, handle)?;
        let room = queue.limit.checked_sub(size);
        if let Some(room) = room {
            if queue.clients() == 0 {
                queue.backlog.make_room(room, &mut self.retained);
            } else {
                let spare = queue.backlog.reserve()?;
                let payload = store(spare)?;
                queue.backlog.make_room(room, &mut self.retained);
                queue.backlog.push(size, queue.active, queue.places, payload);
            }
        }
        queue.count = queue.count.wrapping_add(1);
        queue.bytes = queue.bytes.wrapping_add(size as u64);
        room.map_or(Err(Error::TOOBIG), |_| Ok(()))
    }

    /// The words for an event that was too large.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use, `-ENOMEM`.
    pub fn too_large(&mut self, handle: i32, size: usize) -> Result<Vec<u8>> {
        const HEAD: &[u8] = b"Event too large for queue ";
        /// Two numbers of twenty digits, and what is around them.
        const TAIL: usize = 48;
        let (_, queue) = in_use(&mut self.slots, handle)?;
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
        let (slot, queue) = in_use(&mut self.slots, handle)?;
        if let Some(journal) = &mut self.journal {
            let (name, clients) = (Bytes(&queue.name), queue.clients());
            journal.debug(format_args!("queue_shutdown: {name} numclients={clients}"));
        }
        queue.closing = true;
        Ok(self.release(slot))
    }

    /// Takes out one of the queues that were shut down and have no clients any more; to be called
    /// until there is none.
    pub fn reap(&mut self) -> Option<Leftovers<F>> {
        (0..self.slots.slots()).find_map(|slot| self.release(slot))
    }

    /// Frees a queue with its events if it was shut down and has no clients, and forgets what
    /// clients had to do with it: a new queue in the same slot starts afresh (QUEUE-41, E-10,
    /// E-11).
    fn release(&mut self, slot: usize) -> Option<Leftovers<F>> {
        let done = |queue: &&Queue<P, F>| queue.closing && queue.clients() == 0;
        self.slots.get(slot).filter(done)?;
        let mut queue = self.slots.take(slot)?;
        queue.backlog.close(&mut self.retained);
        let readers = queue.readers.into_iter().flatten();
        // Room: for one of each client, since there are clients.
        queue.filters.extend(readers.filter_map(|reader| reader.filter));
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
        let count = self.clients.count();
        let slot = self.clients.register(context)?;
        if let (Some(journal), true) = (&mut self.journal, self.clients.count() > count) {
            let total = self.clients.slots.slots();
            journal.debug(format_args!(
                "pmdaEventNewClient: slot={slot} (total={total}) context={context}"
            ));
        }
        handles::handle(slot)
    }

    /// The number of registered clients (QUEUE-21).
    #[must_use]
    pub fn clients(&self) -> u32 {
        u32::try_from(self.clients.count()).unwrap_or(u32::MAX)
    }

    /// Ends a client and gives its filters, by slot of the queue, and for each what is to be said
    /// behind it; there are none of an unknown client (QUEUE-26). They are to be released, and then
    /// the queues that have lost their last client: see [`Queues::reap`].
    pub fn end(&mut self, context: i32) -> (Vec<F>, Vec<Journal>) {
        let lines = self.trace_end(context);
        let Some((slot, client)) = self.clients.remove(context) else {
            return (Vec::new(), lines);
        };
        let mut filters = client.filters;
        for queue in self.slots.values_mut() {
            let reader = queue.readers.get_mut(slot).and_then(Option::take);
            let Some(reader) = reader else { continue };
            if reader.is_active() {
                queue.backlog.abandon(reader.cursor);
                queue.active = queue.active.saturating_sub(1);
            }
            // Room: for one of each queue, if there is any.
            filters.extend(reader.filter);
        }
        (filters, lines)
    }

    /// Grants or denies a client the events of a queue (QUEUE-24).
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_access(&mut self, context: i32, handle: i32, allowed: bool) -> Result<()> {
        let (_, queue) = in_use(&mut self.slots, handle)?;
        let client = self.clients.slot(context).ok_or(Error::INVAL)?;
        let reader = queue.enter(client, &mut self.generation)?;
        // A filter decides as before.
        if reader.access != Access::Filtered {
            reader.access = if allowed { Access::Allowed } else { Access::Denied };
        }
        Ok(())
    }

    /// Installs a filter, and grants access (QUEUE-25). One with `filtering` false only takes the
    /// place of the one before. Gives the filter that it replaces if that one was filtering: it is
    /// to be released.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_filter(&mut self, context: i32, handle: i32, filter: F, filtering: bool) -> Result<Option<F>> {
        let (queues, clients) = (self.slots.slots(), self.clients.count());
        let (_, queue) = in_use(&mut self.slots, handle)?;
        let (slot, client) = self.clients.get_mut(context).ok_or(Error::INVAL)?;
        // Room for `release` and `end`.
        queue.filters.try_reserve(clients).map_err(|_| Error::NOMEM)?;
        client.filters.try_reserve(queues).map_err(|_| Error::NOMEM)?;
        let reader = queue.enter(slot, &mut self.generation)?;
        let old = reader.filter.replace(filter);
        let old = old.filter(|_| reader.access == Access::Filtered);
        reader.access = if filtering { Access::Filtered } else { Access::Allowed };
        Ok(old)
    }
}
