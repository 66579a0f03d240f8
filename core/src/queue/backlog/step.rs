//! The usual steps of a fetch.

use super::Backlog;
use crate::queue::Payload;
use crate::queue::retained::Retained;
use crate::queue::shown::Event;

impl<P: Payload> Backlog<P> {
    /// A client that was owed the event in hand, `seen` at the index `place`, has now seen it. The
    /// event behind it takes its place, or none behind the last one; whether there is one. `None`:
    /// the next one has gone, or the event in hand is not there; nothing has changed.
    #[inline(always)]
    pub(in crate::queue) fn step_on(
        &mut self,
        hand: &mut Option<Event<P::View>>,
        seen: u64,
        place: usize,
        retained: &mut Retained<P>,
    ) -> Option<bool> {
        let (event, behind) = self.events.get_mut(place..)?.split_first_mut()?;
        if event.sequence != seen || event.payload.is_none() {
            return None;
        }
        let is_last = event.owed < 2 && event.spare == 0;
        if is_last && (place != self.first || self.gaps > 0) {
            // Others are moved then.
            return None;
        }
        let goes_on = match behind.first_mut() {
            Some(next) => {
                *hand = Some(next.show()?);
                true
            }
            None => {
                *hand = None;
                false
            }
        };
        event.holders -= 1;
        event.owed -= 1;
        if is_last {
            self.drop_first(retained);
        }
        Some(goes_on)
    }
}
