//! Events that have left their queue while a callback still looks at them (E-14).

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
