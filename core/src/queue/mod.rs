//! Queues of events that several clients read at their own pace, within a limit of memory.
//!
//! Each client sees each event at most once, and an active client exactly once unless the memory
//! limit takes the event away before; then the client is told how many it has missed (E-7). A
//! client becomes active with its first fetch. Events that an ended client has not seen stay for
//! the next client (QUEUE-27). A queue may be created with a number of announced clients: events
//! are kept for them, and the first clients that fetch are these (E-8).
//!
//! A queue stores payloads of type `P` without looking at them; `F` is a filter. Both belong to the
//! caller, who also calls decoders, filters and the functions that release them, and drops the
//! payloads of events that have left ([`Queues::take_gone`]). So nothing here runs an agent's code,
//! and the caller can keep all queues behind one lock and release it around each callback. A [`FetchSession`] survives whatever a callback does to queue or client, and the
//! payload that a callback looks at stays where it is (E-14).
//!
//! When memory runs out, a call fails with `-ENOMEM` and has changed nothing (E-17). Calls that
//! release something need no memory.

mod backlog;
mod fetch;
mod trace;

#[cfg(test)]
mod tests;

use std::vec;

use backlog::{Access, Backlog, Events, Queue, QueueReader};

use crate::error::{Error, Result};
use crate::handles::{self, Handles};
use crate::index::Map;
use crate::log::{Bytes, Journal, Line};

pub use backlog::{Event, Excerpt, Payload};
pub use fetch::{End, FetchSession, FetchState};

/// The counters of a queue (QUEUE-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// The number of clients that the queue keeps events for.
    pub clients: u32,
    /// The number of them that have read it.
    pub active: u32,
    /// The number of events that came, stored or not.
    pub count: u32,
    /// The number of bytes that came.
    pub bytes: u64,
    /// The number of bytes that are stored.
    pub memory: u64,
}

/// The rest of a removed queue, which the caller has to release: its filters, which this iterator
/// returns one by one, and its event array.
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
    /// The slot of the queue where the next call goes on.
    queue: usize,
    /// True if the filter of that queue was returned already.
    released: bool,
}

/// All queues and their clients.
#[derive(Debug)]
pub struct Queues<P, F> {
    /// Debug output, if it is wanted (`-Dlibpmda`, QUEUE-60).
    pub journal: Option<Journal>,
    /// True if debug output has the wording of PCP 6.0.5 and later.
    pub revised: bool,
    /// The queues by handle.
    slots: Handles<Queue<F>>,
    events: Events<P>,
    /// The slots of registered clients by their contexts.
    by_context: Map<usize>,
    /// The slots of clients that are in use.
    clients: Handles<()>,
    /// The position in `by_context` of the client that fetched last, where the search for the next one
    /// begins: clients mostly come in turn.
    last: usize,
    /// The number of queues and readers that were ever made: each gets the next number as its
    /// generation.
    generation: u64,
}

impl<P: Payload, F: Copy> Default for Queues<P, F> {
    fn default() -> Queues<P, F> {
        Queues::new()
    }
}

/// The queue of a handle, and its slot (QUEUE-4).
///
/// # Errors
/// `-EINVAL` for a handle that is not in use.
#[inline(always)]
fn in_use<F>(slots: &mut Handles<Queue<F>>, handle: i32) -> Result<(usize, &mut Queue<F>)> {
    let slot = handles::slot(handle);
    Ok((slot, slots.get_mut(slot).ok_or(Error::EINVAL)?))
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// A table without queues and clients.
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

    /// Makes a queue that stores `limit` bytes at most; `announced` is the number of clients that
    /// are expected, and `array` makes the event array that the queue's fetches fill. Returns the
    /// lowest free handle (QUEUE-1). Other queues keep their events (E-9).
    ///
    /// # Errors
    /// `-EINVAL` for a limit of 0, `-EEXIST` when a queue of this name is in use, `-ENOMEM`, what
    /// `array` fails with.
    pub fn create(
        &mut self,
        name: &[u8],
        limit: usize,
        announced: u32,
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
            announced,
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

    /// The length of the list of a queue's events.
    #[cfg(test)]
    fn list_len(&self, handle: i32) -> usize {
        let queue = self.slots.get(handles::slot(handle)).expect("a queue");
        queue.backlog.list_len()
    }

    /// Returns the counters of a queue.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use.
    pub fn counters(&self, handle: i32) -> Result<Counters> {
        let queue = self.slots.get(handles::slot(handle)).ok_or(Error::EINVAL)?;
        Ok(Counters {
            active: queue.active,
            clients: queue.clients(),
            count: queue.count,
            bytes: queue.bytes,
            memory: queue.backlog.memory,
        })
    }

    /// Adds an event of `size` bytes (QUEUE-10). `store` makes its payload if it is to be kept,
    /// from a used payload if one is left. The oldest events are dropped if the limit needs it.
    ///
    /// An event that no client listens to, or that is larger than the limit, is dropped, but
    /// counted.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for an event larger than the limit. `-EINVAL` for a handle that is not in
    /// use, the error of `store`, and `-ENOMEM`: then nothing has changed.
    pub fn append(&mut self, handle: i32, size: usize, store: impl FnOnce(Option<P>) -> Result<P>) -> Result<()> {
        let (_, queue) = in_use(&mut self.slots, handle)?;
        if let Some(journal) = &mut self.journal {
            let name = Bytes(&queue.name);
            journal.debug(format_args!(
                "Appending event: queue#{handle} \"{name}\" ({size} bytes)"
            ));
        }
        let Some(others) = queue.limit.checked_sub(size) else {
            queue.counts(size);
            return Err(Error::TOOBIG);
        };
        let stored = match (queue.active, queue.announced) {
            (0, 0) => None,
            listeners => Some(queue.backlog.store(&mut self.events, size, listeners, store)?),
        };
        while queue.backlog.memory > others as u64 {
            if let (Some(journal), Some(oldest)) = (&mut self.journal, queue.backlog.slots().next()) {
                trace::eviction(journal, self.revised, queue, self.events.get(oldest));
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

    /// Returns whether events have left whose payloads the caller has to drop.
    #[inline(always)]
    pub fn has_gone(&self) -> bool {
        self.events.has_gone()
    }

    /// Takes the payload of an event that has left, which the caller drops: that may run an agent's
    /// code, so no lock is held then.
    pub fn take_gone(&mut self) -> Option<P> {
        self.events.take_gone()
    }

    /// Returns the message about an event that was too large.
    ///
    /// # Errors
    /// `-EINVAL` for a handle that is not in use, `-ENOMEM`.
    pub fn too_large(&mut self, handle: i32, size: usize) -> Result<Vec<u8>> {
        let (_, queue) = in_use(&mut self.slots, handle)?;
        let (name, limit) = (Bytes(&queue.name), queue.limit);
        let text = Line::new(format_args!("Event too large for queue {name} ({size} > {limit})"));
        text.into_bytes().ok_or(Error::ENOMEM)
    }

    /// Shuts a queue down: it is removed now if it has no clients, otherwise with the last of them
    /// (QUEUE-40). Returns the rest of a removed queue, which the caller has to release.
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

    /// Takes out one of the queues that were shut down and have no clients any more. The caller
    /// calls this function until it returns `None`.
    pub fn reap(&mut self) -> Option<Leftovers<F>> {
        (0..self.slots.slots()).find_map(|slot| self.release(slot))
    }

    /// Frees a queue if it was shut down and has no clients, with its events and whatever clients
    /// had to do with it: a new queue in the same slot begins afresh (QUEUE-41, E-10, E-11).
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

    /// Registers a client and returns its slot: a new client gets the lowest free one. Any number
    /// is a context (QUEUE-20).
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

    /// Ends a client in all queues (QUEUE-26). Each call returns one filter, which the caller
    /// releases before it calls again; `None` means that the client was removed. Then
    /// [`Queues::reap`] returns the queues that have lost their last client.
    pub fn end(&mut self, context: i32, ending: &mut Ending) -> Option<F> {
        let client = self.client(context);
        if let (Some(journal), 0, false) = (&mut self.journal, ending.queue, ending.released) {
            let slot = client.unwrap_or(0);
            journal.debug(format_args!("pmdaEventEndClient ctx={context} slot={slot}"));
        }
        let client = client?;
        while ending.queue < self.slots.slots() {
            let queue = self.slots.get_mut(ending.queue);
            let reading = queue.and_then(|queue| Some((queue.readers.get_mut(client)?.take()?, queue)));
            if let Some((mut reader, queue)) = reading {
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

    /// Grants or denies a client the events of a queue (QUEUE-24). While a filter decides, this has
    /// no effect.
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

    /// Installs a filter, and grants access (QUEUE-25). One with `filtering` false takes the place
    /// of the one before, but does not filter. Returns the filter before it if that one was
    /// filtering: the caller has to release it.
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

    /// The reader of a client and a queue, made if it does not exist.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, `-ENOMEM`.
    fn reader(&mut self, context: i32, handle: i32) -> Result<&mut QueueReader<F>> {
        let client = self.client(context);
        let (_, queue) = in_use(&mut self.slots, handle)?;
        queue.enter(client.ok_or(Error::EINVAL)?, &mut self.generation)
    }
}
