//! The clients of event queues, and their filters.

use crate::error::{Error, Result};
use crate::handles::Handles;
use crate::index::Map;

/// One client.
#[derive(Debug)]
pub(super) struct Client<F> {
    /// By slot of the queue. One that was cleared is kept, since its release function runs when the
    /// client ends (E-13).
    filters: Vec<Option<F>>,
}

impl<F> Client<F> {
    /// The filter for the queue in a slot.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn filter(&mut self, queue: usize) -> Result<&mut Option<F>> {
        if self.filters.len() <= queue {
            let more = queue + 1 - self.filters.len();
            self.filters.try_reserve(more).map_err(|_| Error::NOMEM)?;
            self.filters.resize_with(queue + 1, || None);
        }
        Ok(&mut self.filters[queue])
    }

    /// The filter for the queue in a slot, if there is one.
    pub(super) fn known_filter(&self, queue: usize) -> Option<&F> {
        self.filters.get(queue)?.as_ref()
    }

    /// Takes the filter for a queue out.
    pub(super) fn take_filter(&mut self, queue: usize) -> Option<F> {
        self.filters.get_mut(queue)?.take()
    }
}

/// The filters of a client that has ended, by slot of the queue: they are to be released.
#[derive(Debug)]
pub struct Filters<F>(std::vec::IntoIter<Option<F>>);

impl<F> Filters<F> {
    /// Those of a client, or of an unknown one.
    pub(super) fn of(client: Option<Client<F>>) -> Filters<F> {
        let filters = client.map_or(Vec::new(), |client| client.filters);
        Filters(filters.into_iter())
    }
}

impl<F> Iterator for Filters<F> {
    type Item = F;

    fn next(&mut self) -> Option<F> {
        self.0.find_map(|filter| filter)
    }
}

/// All clients, by context.
#[derive(Debug)]
pub(super) struct Clients<F> {
    by_context: Map<usize>,
    /// Where the client was that was looked up last: they mostly come in turn.
    last: usize,
    slots: Handles<Client<F>>,
}

impl<F> Clients<F> {
    /// Whether there never was one.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.slots() == 0
    }

    pub(super) const fn new() -> Clients<F> {
        Clients {
            by_context: Map::new(),
            last: 0,
            slots: Handles::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.by_context.len()
    }

    /// The number of slots that there are, free ones included.
    pub(super) fn places(&self) -> usize {
        self.slots.slots()
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
        let slot = self.slots.vacant()?;
        self.slots.put(slot, Client { filters: Vec::new() });
        self.by_context.get_or_insert_with(context as u32, || slot)?;
        Ok(slot)
    }

    /// The slot of a registered client.
    pub(super) fn slot(&self, context: i32) -> Option<usize> {
        self.by_context.get(context as u32).copied()
    }

    /// [`Clients::slot`] for a fetch.
    pub(super) fn next_slot(&mut self, context: i32) -> Option<usize> {
        let context = context as u32;
        let near = self.by_context.get_at(context, self.last);
        // Behind the last one the first one has its turn again.
        let near = near.or_else(|| self.by_context.get_at(context, 0));
        let (place, slot) = near.or_else(|| self.by_context.get_anywhere(context))?;
        self.last = place;
        Some(*slot)
    }

    /// The client of a context, and its slot.
    pub(super) fn get(&mut self, context: i32) -> Option<(usize, &mut Client<F>)> {
        let slot = self.slot(context)?;
        Some((slot, self.slots.get_mut(slot)?))
    }

    /// The filter of the client in a slot for the queue in a slot.
    pub(super) fn filter(&self, client: usize, queue: usize) -> Option<&F> {
        self.slots.get(client)?.known_filter(queue)
    }

    /// Takes a client out; its slot is free from then on.
    pub(super) fn remove(&mut self, context: i32) -> Option<(usize, Client<F>)> {
        let slot = self.by_context.remove(context as u32)?;
        Some((slot, self.slots.take(slot)?))
    }

    /// All clients, in the order of their slots.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client<F>> {
        self.slots.values_mut()
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
