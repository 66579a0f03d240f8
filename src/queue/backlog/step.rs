//! The usual step of a fetch.

use super::{Backlog, Event};
use crate::queue::Payload;

impl<P: Payload> Backlog<P> {
    /// A client that was owed the event `seen`, at the index `place`, has now seen it: when it
    /// stays for others, and the event behind it is stored, it is released, and that one is given.
    /// `None`, and nothing has changed, in any other case.
    #[inline(always)]
    pub(in crate::queue) fn step_on(&mut self, seen: u64, place: usize) -> Option<&mut Event<P>> {
        let evicted = self.evicted;
        let [event, next, ..] = self.events.get_mut(place..)? else {
            return None;
        };
        let is_known = event.sequence == seen && event.payload.is_some() && evicted <= seen;
        if !is_known || next.payload.is_none() || (event.owed < 2 && event.spare == 0) {
            return None;
        }
        event.holders -= 1;
        event.owed -= 1;
        Some(next)
    }
}
