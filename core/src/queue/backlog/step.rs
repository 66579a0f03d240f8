//! The usual steps of a fetch.

use super::Backlog;
use crate::queue::Payload;
use crate::queue::readers::Retained;
use crate::queue::session::Event;

impl<P: Payload> Backlog<P> {
    /// A client that was owed the event `shown`, at the index `place`, has now seen it. When the
    /// event behind it is stored, that one is shown in its place. Otherwise nothing has changed.
    #[inline(always)]
    pub(in crate::queue) fn step_on(
        &mut self,
        shown: &mut Event<P::View>,
        place: usize,
        retained: &mut Retained<P>,
    ) -> bool {
        let Some(is_last) = self.is_last(shown.sequence, place) else {
            return false;
        };
        let Some([event, next, ..]) = self.events.get_mut(place..) else {
            return false;
        };
        let Some(payload) = &next.payload else { return false };
        shown.payload = payload.view();
        shown.size = next.size;
        shown.sequence = next.sequence;
        next.holders += 1;
        event.holders -= 1;
        event.owed -= 1;
        if is_last {
            self.drop_first(retained);
        }
        true
    }

    /// A client that was owed the event `seen`, at the index `place`, has now seen it, and there is
    /// none behind it. Otherwise nothing has changed.
    #[inline(always)]
    pub(in crate::queue) fn step_off(&mut self, seen: u64, place: usize, retained: &mut Retained<P>) -> bool {
        if place + 1 != self.events.len() {
            return false;
        }
        let (Some(is_last), Some(event)) = (self.is_last(seen, place), self.events.get_mut(place)) else {
            return false;
        };
        event.holders -= 1;
        event.owed -= 1;
        if is_last {
            self.drop_first(retained);
        }
        true
    }

    /// Whether a client that has seen an event at the index `place` is the last that it was owed
    /// to. `None` where others are moved then, and when it does not stand there.
    #[inline(always)]
    fn is_last(&self, seen: u64, place: usize) -> Option<bool> {
        let event = self.events.get(place)?;
        let is_last = event.owed < 2 && event.spare == 0;
        let moves = is_last && (place != self.first || self.gaps > 0);
        (event.sequence == seen && event.payload.is_some() && !moves).then_some(is_last)
    }
}
