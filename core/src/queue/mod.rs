//! Queues of events that several clients read at their own pace, within a limit of memory.
//!
//! Each client sees each event at most once, and an active client exactly once unless the memory
//! limit takes the event away before; then the client is told how many it has missed (E-7). A
//! client becomes active with its first fetch. What an ended client has not seen stays for the next
//! client (QUEUE-27). A queue may have places for clients that are known to come: events are kept
//! for their first fetches (E-8).
//!
//! The queue stores payloads of type `P` without looking at them; `F` is a filter. The caller calls
//! decoders, filters and the functions that release them, so it can release a lock around each
//! callback. A [`FetchSession`] survives whatever a callback does to queue or client, and what a
//! callback looks at stays where it is (E-14).
//!
//! When memory runs out, a call fails with `-ENOMEM` and has changed nothing (E-17).

mod backlog;
mod fetch;
mod one;
mod payload;
mod trace;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::vec;

use backlog::{Backlog, Events};
use one::{Access, Queue, QueueReader};

use crate::error::{Error, Result};
use crate::handles::{self, Handles};
use crate::index::Map;
use crate::log::{Bytes, Journal};

pub use backlog::Event;
pub use fetch::{End, FetchSession, FetchState};
pub use payload::{Excerpt, Payload};

/// The counters of a queue (QUEUE-5).
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

/// What the caller has to release of a queue that has gone: its filters, one by one, and the array.
#[derive(Debug)]
pub struct Leftovers<F> {
    readers: vec::IntoIter<Option<QueueReader<F>>>,
    /// The event array to free.
    pub array: i32,
}

impl<F> Iterator for Leftovers<F> {
    type Item = F;

    fn next(&mut self) -> Option<F> {
        self.readers.by_ref().flatten().find_map(|reader| reader.filter)
    }
}

/// The progress of ending a client: see [`Queues::end`].
#[derive(Clone, Copy, Default, Debug)]
pub struct Ending {
    /// The slot of the queue to go on with.
    queue: usize,
    /// True if its filter was given out.
    released: bool,
}

/// All queues and their clients.
#[derive(Debug)]
pub struct Queues<P, F> {
    /// Debug output, if it is wanted (`-Dlibpmda`, QUEUE-60).
    pub journal: Option<Journal>,
    /// True for the wording of PCP 6.0.5 and later.
    pub revised: bool,
    slots: Handles<Queue<F>>,
    events: Events<P>,
    /// The slots of clients by their contexts.
    by_context: Map<usize>,
    /// The slots of clients that are taken.
    clients: Handles<()>,
    /// The place in the map behind the client that fetched last: they mostly come in turn.
    last: usize,
    /// The number of queues and readers so far.
    generation: u64,
}

impl<P: Payload, F: Copy> Default for Queues<P, F> {
    fn default() -> Queues<P, F> {
        Queues::new()
    }
}

#[inline(always)]
fn in_use<F>(slots: &mut Handles<Queue<F>>, handle: i32) -> Result<(usize, &mut Queue<F>)> {
    let slot = handles::slot(handle);
    Ok((slot, slots.get_mut(slot).ok_or(Error::EINVAL)?))
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// No queues, no clients.
    #[must_use]
    pub const fn new() -> Queues<P, F> {
        Queues {
            journal: None,
            revised: false,
            slots: Handles::new(),
            events: Events::new(),
            by_context: Map::new(),
            clients: Handles::new(),
            last: 0,
            generation: 0,
        }
    }

    /// Makes a queue that stores `limit` bytes at most and expects `places` clients; `array` makes
    /// the event array that its fetches fill. Returns the lowest free handle (QUEUE-1).
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
            return Err(Error::EINVAL);
        }
        if self.find(name).is_ok() {
            return Err(Error::EEXIST);
        }
        let slot = self.slots.vacant()?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(name.len()).map_err(|_| Error::ENOMEM)?;
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
            backlog: Backlog::new(),
            readers: Vec::new(),
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

    /// Returns whether no queue has the handle.
    #[must_use]
    pub fn is_vacant(&self, handle: i32) -> bool {
        self.slots.is_vacant(handles::slot(handle))
    }

    /// Returns the counters of a queue.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn counters(&self, handle: i32) -> Result<Counters> {
        let queue = self.slots.get(handles::slot(handle)).ok_or(Error::EINVAL)?;
        Ok(Counters {
            clients: queue.clients(),
            count: queue.count,
            bytes: queue.bytes,
            memory: queue.backlog.memory,
        })
    }

    /// Adds an event of `size` bytes; `store` makes its payload if it is to be kept (QUEUE-10),
    /// from a used one if there is one. One that nobody listens to or that is larger than the limit
    /// is dropped, but counts.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for an event larger than the limit. `-EINVAL` for a handle that is not in
    /// use; that of `store`, and `-ENOMEM`: then nothing has changed.
    pub fn append(&mut self, handle: i32, size: usize, store: impl FnOnce(Option<P>) -> Result<P>) -> Result<()> {
        let (_, queue) = in_use(&mut self.slots, handle)?;
        if let Some(journal) = &mut self.journal {
            let name = Bytes(&queue.name);
            journal.debug(format_args!(
                "Appending event: queue#{handle} \"{name}\" ({size} bytes)"
            ));
        }
        let Some(room) = queue.limit.checked_sub(size) else {
            queue.counts(size);
            return Err(Error::TOOBIG);
        };
        let stored = match (queue.active, queue.places) {
            (0, 0) => None,
            listeners => Some(queue.backlog.store(&mut self.events, size, listeners, store)?),
        };
        let mut shown = 0;
        while queue.backlog.memory > room as u64 {
            if let (Some(journal), Some(oldest)) = (&mut self.journal, queue.backlog.slots().next()) {
                trace::eviction(journal, self.revised, queue, self.events.get(oldest), &mut shown);
            }
            queue.backlog.evict(&mut self.events);
        }
        if let Some(slot) = stored {
            // Room: `store`.
            queue.backlog.push(slot, size);
            if let Some(journal) = &mut self.journal {
                trace::inserted(journal, queue, self.events.get(slot));
            }
        }
        queue.counts(size);
        Ok(())
    }

    /// The message about an event that was too large.
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
            .map_err(|_| Error::ENOMEM)?;
        text.extend_from_slice(HEAD);
        text.extend_from_slice(&queue.name);
        write!(text, " ({size} > {})", queue.limit)?;
        Ok(text)
    }

    /// Frees the queue: now if it has no clients, else with the last of them (QUEUE-40).
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

    /// Takes out one of the queues that were shut down and have no clients; call it until there is
    /// none.
    pub fn reap(&mut self) -> Option<Leftovers<F>> {
        (0..self.slots.slots()).find_map(|slot| self.release(slot))
    }

    /// Frees a queue that was shut down and has no clients, with its events and readers (QUEUE-41,
    /// E-10, E-11).
    fn release(&mut self, slot: usize) -> Option<Leftovers<F>> {
        let done = |queue: &&Queue<F>| queue.closing && queue.clients() == 0;
        self.slots.get(slot).filter(done)?;
        let queue = self.slots.take(slot)?;
        queue.backlog.slots().for_each(|event| self.events.release(event));
        Some(Leftovers {
            readers: queue.readers.into_iter(),
            array: queue.array,
        })
    }

    /// Registers a client of any context number and returns its slot, the lowest free one
    /// (QUEUE-20).
    ///
    /// # Errors
    /// `-ENOMEM` when slots or memory run out.
    pub fn register(&mut self, context: i32) -> Result<i32> {
        if let Some(slot) = self.client(context) {
            return handles::handle(slot);
        }
        let slot = self.clients.vacant()?;
        self.by_context.get_or_insert_with(context as u32, || slot)?;
        self.clients.put(slot, ());
        if let Some(journal) = &mut self.journal {
            let total = self.clients.slots();
            journal.debug(format_args!(
                "pmdaEventNewClient: slot={slot} (total={total}) context={context}"
            ));
        }
        handles::handle(slot)
    }

    /// The number of registered clients (QUEUE-21).
    #[must_use]
    pub fn clients(&self) -> u32 {
        u32::try_from(self.by_context.len()).unwrap_or(u32::MAX)
    }

    /// The slot of a registered client.
    fn client(&self, context: i32) -> Option<usize> {
        self.by_context.get(context as u32).copied()
    }

    /// Ends a client in all queues (QUEUE-26). Each call gives one filter to be released; the last
    /// one `None`. Then [`Queues::reap`] gives the queues that have lost their last client.
    pub fn end(&mut self, context: i32, ending: &mut Ending) -> Option<F> {
        let client = self.client(context);
        if let (Some(journal), 0, false) = (&mut self.journal, ending.queue, ending.released) {
            let slot = client.unwrap_or(0);
            journal.debug(format_args!("pmdaEventEndClient ctx={context} slot={slot}"));
        }
        let client = client?;
        while ending.queue < self.slots.slots() {
            let queue = self.slots.get_mut(ending.queue);
            let known = queue.and_then(|queue| Some((queue.readers.get_mut(client)?.take()?, queue)));
            if let Some((mut reader, queue)) = known {
                if let (Some(filter), false) = (reader.filter.take(), ending.released) {
                    queue.readers[client] = Some(reader);
                    ending.released = true;
                    return Some(filter);
                }
                if reader.is_active() {
                    if let Some(journal) = &mut self.journal {
                        trace::cleanup(journal, queue);
                    }
                    queue.backlog.abandon(reader.cursor, &mut self.events);
                    queue.active = queue.active.saturating_sub(1);
                }
            }
            *ending = Ending {
                queue: ending.queue + 1,
                released: false,
            };
        }
        self.by_context.remove(context as u32);
        self.clients.take(client);
        None
    }

    /// Grants or denies a client the events of a queue (QUEUE-24).
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_access(&mut self, context: i32, handle: i32, allowed: bool) -> Result<()> {
        let reader = self.reader(context, handle)?;
        if reader.access != Access::Filtered {
            reader.access = if allowed { Access::Allowed } else { Access::Denied };
        }
        Ok(())
    }

    /// Installs a filter, and grants access (QUEUE-25). One with `filtering` false only takes the
    /// place of the one before. Returns the filter that is to be released.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    pub fn set_filter(&mut self, context: i32, handle: i32, filter: F, filtering: bool) -> Result<Option<F>> {
        let reader = self.reader(context, handle)?;
        let old = reader.filter.replace(filter);
        let old = old.filter(|_| reader.access == Access::Filtered);
        reader.access = if filtering { Access::Filtered } else { Access::Allowed };
        Ok(old)
    }

    /// The reader of a client and a queue.
    fn reader(&mut self, context: i32, handle: i32) -> Result<&mut QueueReader<F>> {
        let client = self.client(context);
        let (_, queue) = in_use(&mut self.slots, handle)?;
        queue.enter(client.ok_or(Error::EINVAL)?, &mut self.generation)
    }
}
