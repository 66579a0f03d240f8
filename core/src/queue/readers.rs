//! What a queue knows of the clients that have to do with it, and the events that have left it
//! while a callback of one of them still looks at them (E-14).

use std::ops::Range;

use crate::error::{Error, Result};

/// The cursor of a client that has not fetched.
pub(super) const IDLE: u64 = u64::MAX;

/// What is known about one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct Reader {
    /// Different for each client and queue that ever had to do with each other, so that a fetch
    /// notices when one of them was ended; 0 for nobody.
    pub(super) generation: u64,
    /// The sequence number of the next event that the client has not seen; [`IDLE`] until its first
    /// fetch.
    pub(super) cursor: u64,
    /// Where in the backlog the event was that a fetch has shown last. A hint: the backlog may have
    /// moved its events since.
    pub(super) place: usize,
    pub(super) access: Access,
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

impl Access {
    /// With access granted or denied: a filter decides as before.
    pub(super) fn granted(self, allowed: bool) -> Access {
        match self {
            Access::Filtered => Access::Filtered,
            _ if allowed => Access::Allowed,
            _ => Access::Denied,
        }
    }
}

impl Reader {
    const NOBODY: Reader = Reader {
        generation: 0,
        cursor: IDLE,
        place: usize::MAX,
        access: Access::Denied,
        missed: 0,
        absent: Vec::new(),
    };

    /// Whether the client has fetched from the queue.
    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }
}

/// The readers of a queue, by slot of the client.
#[derive(Debug)]
pub(super) struct Readers(Vec<Reader>);

impl Readers {
    pub(super) const fn new() -> Readers {
        Readers(Vec::new())
    }

    /// What is known about the client in a slot; one that is new here is generation as `next`,
    /// which counts.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn enter(&mut self, client: usize, next: &mut u64) -> Result<&mut Reader> {
        if self.at(client).is_none() {
            self.make(client, next)?;
        }
        Ok(&mut self.0[client])
    }

    #[cold]
    fn make(&mut self, client: usize, next: &mut u64) -> Result<()> {
        if self.0.len() <= client {
            let more = client + 1 - self.0.len();
            self.0.try_reserve(more).map_err(|_| Error::NOMEM)?;
            self.0.resize_with(client + 1, || Reader::NOBODY);
        }
        *next += 1;
        self.0[client].generation = *next;
        Ok(())
    }

    /// The reader in a slot, if it is the one that was generation as `generation`.
    #[inline(always)]
    pub(super) fn get(&mut self, client: usize, generation: u64) -> Option<&mut Reader> {
        self.0.get_mut(client).filter(|reader| reader.generation == generation)
    }

    /// The reader in a slot.
    pub(super) fn at(&self, client: usize) -> Option<&Reader> {
        self.0.get(client).filter(|reader| reader.generation != 0)
    }

    /// The reader in a slot, to be changed.
    pub(super) fn at_mut(&mut self, client: usize) -> Option<&mut Reader> {
        self.0.get_mut(client).filter(|reader| reader.generation != 0)
    }

    /// Forgets a client, and gives what was known about it.
    pub(super) fn leave(&mut self, client: usize) -> Option<Reader> {
        let reader = self.at_mut(client)?;
        Some(std::mem::replace(reader, Reader::NOBODY))
    }
}

/// An event that the queue has no use for any more.
#[derive(Debug)]
struct RetainedEvent<P> {
    /// Birth of the queue.
    queue: u64,
    sequence: u64,
    /// How many fetches show it at this moment.
    holders: u32,
    /// Only kept alive.
    _payload: P,
}

/// Stored events count the fetches that show them. One that leaves its queue before that count is 0
/// is kept here.
///
/// A callback that leaves with `longjmp` never takes its count back: the event is kept for ever,
/// which harms nothing else.
#[derive(Debug)]
pub(super) struct Retained<P> {
    events: Vec<RetainedEvent<P>>,
}

impl<P> Retained<P> {
    pub(super) const fn new() -> Retained<P> {
        Retained { events: Vec::new() }
    }

    /// Keeps an event of a queue until `holders` fetches are done with it.
    #[cold]
    pub(super) fn keep(&mut self, queue: u64, sequence: u64, holders: u32, payload: P) {
        if self.events.try_reserve(1).is_err() {
            // Without the note nobody knows when it may go, and it must not go under a callback's
            // eyes.
            std::mem::forget(payload);
            return;
        }
        self.events.push(RetainedEvent {
            queue,
            sequence,
            holders,
            _payload: payload,
        });
    }

    /// A fetch is done with an event that is not in its queue any more.
    #[cold]
    pub(super) fn release(&mut self, queue: u64, sequence: u64) {
        // From the end: what was lost by `longjmp` lies in front.
        let found = self
            .events
            .iter()
            .rposition(|kept| kept.queue == queue && kept.sequence == sequence);
        let Some(place) = found else { return };
        self.events[place].holders -= 1;
        if self.events[place].holders == 0 {
            self.events.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// E-14: the last fetch that shows an event frees it, and no other event with it.
    #[test]
    fn kept_until_the_last_fetch_is_done() {
        let mut retained = Retained::new();
        let events = [Rc::new(()), Rc::new(())];
        retained.keep(1, 7, 2, Rc::clone(&events[0]));
        retained.keep(2, 7, 1, Rc::clone(&events[1]));
        retained.release(1, 8);
        retained.release(1, 7);
        assert_eq!(events.each_ref().map(Rc::strong_count), [2, 2]);
        retained.release(1, 7);
        assert_eq!(events.each_ref().map(Rc::strong_count), [1, 2]);
        retained.release(1, 7);
        retained.release(2, 7);
        assert_eq!(events.each_ref().map(Rc::strong_count), [1, 1]);
    }
}
