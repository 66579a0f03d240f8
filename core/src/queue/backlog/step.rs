//! The usual step of a fetch.

use super::Backlog;
use crate::queue::Payload;
use crate::queue::retained::Retained;
use crate::queue::shown::Event;

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
        let Some([event, next, ..]) = self.events.get_mut(place..) else {
            return false;
        };
        let Some(payload) = &next.payload else { return false };
        if event.sequence != shown.sequence || event.payload.is_none() {
            return false;
        }
        let is_last = event.owed < 2 && event.spare == 0;
        if is_last && (place != self.first || self.gaps > 0) {
            // Others are moved then.
            return false;
        }
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
}
