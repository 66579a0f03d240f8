//! The clients of event queues, and what each of them has to do with each queue.

use std::ops::Range;

use crate::error::Result;
use crate::handles::Handles;
use crate::index::Map;

/// The cursor of a client that has not fetched.
pub(super) const IDLE: u64 = u64::MAX;

/// What is known about one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct Reader<F> {
    /// Different for each client and queue that ever had to do with each other, so that a fetch
    /// notices when one of them was ended.
    pub(super) generation: u64,
    /// The sequence number of the next event that the client has not seen; [`IDLE`] until its first
    /// fetch.
    pub(super) cursor: u64,
    pub(super) access: Access,
    /// One that was cleared is kept, since its release function runs when the client ends (E-13).
    pub(super) filter: Option<F>,
    /// Events that were evicted before the client saw them, and are not reported yet.
    pub(super) missed: u64,
    /// Sequence numbers from the cursor on that had no event when the client became active.
    pub(super) absent: Vec<Range<u64>>,
}

/// Which events a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// None, as at first.
    Denied,
    /// All.
    Allowed,
    /// Those that its filter lets pass, whether access is granted beside it or not.
    Filtered,
}

impl<F> Reader<F> {
    /// One that has not fetched, and has no access.
    pub(super) const fn new(generation: u64) -> Reader<F> {
        Reader {
            generation,
            cursor: IDLE,
            access: Access::Denied,
            filter: None,
            missed: 0,
            absent: Vec::new(),
        }
    }

    /// Whether the client has fetched from the queue.
    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }

    /// Everything below `end` was evicted: counts what the client had not seen of it, and moves its
    /// cursor behind that.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, end: u64) {
        if self.cursor < end {
            self.miss(end);
        }
    }

    #[cold]
    fn miss(&mut self, end: u64) {
        let cursor = self.cursor;
        let absent = self.absent.iter();
        let absent: u64 = absent
            .map(|gap| gap.end.min(end).saturating_sub(gap.start.max(cursor)))
            .sum();
        self.missed += end - cursor - absent;
        self.absent.retain(|gap| gap.end > end);
        self.cursor = end;
    }
}

/// One client.
#[derive(Debug)]
pub(super) struct Client<F> {
    /// Empty, with room for the filters of all queues: they are released with the client.
    pub(super) filters: Vec<F>,
}

/// All clients, by context.
#[derive(Debug)]
pub(super) struct Clients<F> {
    by_context: Map<usize>,
    /// Where the client was that fetched last: they mostly come in turn.
    last: usize,
    pub(super) slots: Handles<Client<F>>,
}

impl<F> Clients<F> {
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

    /// The slot of a client, new ones in the lowest free slot (QUEUE-20).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn register(&mut self, context: i32) -> Result<usize> {
        if let Some(slot) = self.slot(context) {
            return Ok(slot);
        }
        self.by_context.reserve(1)?;
        let slot = self.slots.vacant()?;
        self.slots.put(slot, Client { filters: Vec::new() });
        self.by_context.get_or_insert_with(context as u32, || slot)?;
        Ok(slot)
    }

    /// The slot of a registered client.
    #[inline(always)]
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
    pub(super) fn get_mut(&mut self, context: i32) -> Option<(usize, &mut Client<F>)> {
        let slot = self.slot(context)?;
        Some((slot, self.slots.get_mut(slot)?))
    }

    /// Takes a client out; its slot is free from then on.
    pub(super) fn remove(&mut self, context: i32) -> Option<(usize, Client<F>)> {
        let slot = self.by_context.remove(context as u32)?;
        Some((slot, self.slots.take(slot)?))
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
}
