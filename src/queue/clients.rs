//! The clients of event queues, and what is known about each client and queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::index::Map;

/// The cursor of a client that has not fetched.
pub(super) const IDLE: u64 = u64::MAX;

/// What is known about one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct Pair<F> {
    /// The sequence number of the next event that the client has not seen; [`IDLE`] until its first
    /// fetch.
    pub(super) cursor: u64,
    /// Where in the backlog the event was that a fetch has shown last. A hint: the backlog may have
    /// moved its events since.
    pub(super) place: usize,
    /// Events that were evicted before the client saw them, and are not reported yet.
    pub(super) missed: u64,
    /// Sequence numbers from the cursor on that had no event when the client became active.
    pub(super) absent: Vec<Range<u64>>,
    pub(super) allowed: bool,
    /// Whether the filter takes part in fetches: one that was cleared is kept, since its release
    /// function runs when the client ends (E-13).
    pub(super) filtering: bool,
    pub(super) filter: Option<F>,
}

impl<F> Default for Pair<F> {
    fn default() -> Pair<F> {
        Pair {
            cursor: IDLE,
            place: usize::MAX,
            missed: 0,
            absent: Vec::new(),
            allowed: false,
            filtering: false,
            filter: None,
        }
    }
}

/// One client.
#[derive(Debug)]
pub(super) struct Client<F> {
    /// Different for each registration, so that a fetch notices when its client was ended and
    /// registered anew.
    pub(super) born: u64,
    /// By slot of the queue.
    pairs: Vec<Option<Pair<F>>>,
}

impl<F> Client<F> {
    /// What is known about the client and the queue in a slot; nothing at first.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn pair(&mut self, queue: usize) -> Result<&mut Pair<F>> {
        if self.pairs.len() <= queue {
            let more = queue + 1 - self.pairs.len();
            self.pairs.try_reserve(more).map_err(|_| Error::NOMEM)?;
            self.pairs.resize_with(queue + 1, || None);
        }
        Ok(self.pairs[queue].get_or_insert_with(Pair::default))
    }

    /// What is known about the client and the queue in a slot, if anything is.
    #[inline]
    pub(super) fn known(&mut self, queue: usize) -> Option<&mut Pair<F>> {
        self.pairs.get_mut(queue)?.as_mut()
    }

    /// Forgets the client's part in a queue.
    pub(super) fn take_pair(&mut self, queue: usize) -> Option<Pair<F>> {
        self.pairs.get_mut(queue)?.take()
    }

    /// Everything that is known about the client, by slot of the queue.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, &Pair<F>)> {
        let pairs = self.pairs.iter().enumerate();
        pairs.filter_map(|(queue, pair)| Some((queue, pair.as_ref()?)))
    }

    /// The client's filters, by slot of the queue.
    pub(super) fn into_filters(self) -> Filters<F> {
        Filters(self.pairs.into_iter())
    }
}

/// The filters of a client that has ended, by slot of the queue: they are to be released.
#[derive(Debug)]
pub struct Filters<F>(std::vec::IntoIter<Option<Pair<F>>>);

impl<F> Filters<F> {
    /// Those of an unknown client.
    pub(super) fn none() -> Filters<F> {
        Filters(Vec::new().into_iter())
    }
}

impl<F> Iterator for Filters<F> {
    type Item = F;

    fn next(&mut self) -> Option<F> {
        self.0.find_map(|pair| pair?.filter)
    }
}

/// All clients, by context.
#[derive(Debug)]
pub(super) struct Clients<F> {
    by_context: Map<usize>,
    slots: Vec<Option<Client<F>>>,
    free: BinaryHeap<Reverse<usize>>,
    born: u64,
}

impl<F> Clients<F> {
    /// Whether there never was one.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) const fn new() -> Clients<F> {
        Clients {
            by_context: Map::new(),
            slots: Vec::new(),
            free: BinaryHeap::new(),
            born: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.by_context.len()
    }

    /// The number of slots that there are, free ones included.
    pub(super) fn places(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a client, new ones in the lowest free slot (QUEUE-20).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn register(&mut self, context: i32) -> Result<usize> {
        if let Some(slot) = self.by_context.get(context as u32) {
            return Ok(*slot);
        }
        self.by_context.reserve(1)?;
        if self.free.is_empty() {
            self.slots.try_reserve(1).map_err(|_| Error::NOMEM)?;
            // So that every client can give its slot back.
            self.free.try_reserve(self.slots.len() + 1).map_err(|_| Error::NOMEM)?;
        }
        let slot = self.free.pop().map_or(self.slots.len(), |Reverse(slot)| slot);
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.born += 1;
        self.slots[slot] = Some(Client {
            born: self.born,
            pairs: Vec::new(),
        });
        self.by_context.get_or_insert_with(context as u32, || slot)?;
        Ok(slot)
    }

    /// The slot of a registered client.
    pub(super) fn slot(&self, context: i32) -> Option<usize> {
        self.by_context.get(context as u32).copied()
    }

    /// The client in a slot.
    #[inline]
    pub(super) fn at(&mut self, slot: usize) -> Option<&mut Client<F>> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// The client of a context.
    pub(super) fn get(&mut self, context: i32) -> Option<&mut Client<F>> {
        let slot = self.slot(context)?;
        self.at(slot)
    }

    /// Takes a client out; its slot is free from then on.
    pub(super) fn remove(&mut self, context: i32) -> Option<Client<F>> {
        let slot = self.by_context.remove(context as u32)?;
        self.free.push(Reverse(slot));
        self.slots[slot].take()
    }

    /// All clients, in the order of their slots.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client<F>> {
        self.slots.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// QUEUE-20: any number is a context; the lowest free slot is taken; a known client keeps its
    /// slot.
    #[test]
    fn slots() {
        let mut clients = Clients::<()>::new();
        let slots = [7, -1, i32::MIN, 7].map(|context| clients.register(context).expect("memory"));
        assert_eq!(slots, [0, 1, 2, 0]);
        assert!(clients.remove(7).is_some() && clients.remove(-1).is_some() && clients.remove(7).is_none());
        assert_eq!(
            [5, 6, 8].map(|context| clients.register(context).expect("memory")),
            [0, 1, 3]
        );
        assert_eq!(clients.count(), 4);
    }

    /// What is left behind at unload: queues without clients are something, and clients without
    /// queues are.
    #[test]
    fn nothing_yet() {
        use crate::queue::Queues;
        let mut queues = Queues::<u32, ()>::new();
        assert!(queues.is_empty());
        queues.register(1).expect("memory");
        assert!(!queues.is_empty());
    }
}
