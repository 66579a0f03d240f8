//! One fetch of one client from one queue.

use super::clients::{IDLE, Pair};
use super::retained::Retained;
use super::watch::Watch;
use super::{Payload, Queue, Queues};
use crate::error::{Error, Result};

/// A fetch under way. It names queue and client by slot and birth, so it outlives both (E-14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    queue: usize,
    queue_born: u64,
    client: usize,
    client_born: u64,
    /// The event array that the fetch fills.
    pub array: i32,
}

/// An event that the client has not seen yet. Its payload stays alive until the fetch is done with
/// it, whatever happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    /// Which event it is, for [`Queues::advance`] and [`Queues::finish`].
    pub sequence: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}

/// Those who take part in a visit, as far as they still are those that it began with.
pub(super) struct Visited<'a, P, F> {
    pub(super) queue: &'a mut Queue<P, F>,
    /// `None` when the client has ended.
    pub(super) pair: Option<&'a mut Pair<F>>,
    pub(super) retained: &'a mut Retained<P>,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue is still there; so many events were evicted before the client saw them.
    Missed(u64),
    /// The queue has gone, and its event array with it.
    Gone,
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// Begins a fetch. The first one of a client makes it active, in a place that was kept for a
    /// client or in addition to the others (QUEUE-23, E-8); it begins with the oldest event.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30), `-ENOMEM`.
    pub fn begin(&mut self, handle: i32, context: i32) -> Result<Visit> {
        let slot = self.slot(handle)?;
        let client_slot = self.clients.slot(context).ok_or(Error::INVAL)?;
        let client = self.clients.at(client_slot).ok_or(Error::INVAL)?;
        let queue = self.slots[slot].as_mut().ok_or(Error::INVAL)?;
        let client_born = client.born;
        let pair = client.pair(slot)?;
        if pair.cursor == IDLE {
            pair.absent = queue.backlog.absent()?;
            // A place has been waiting since the queue was made, so all that was evicted since then
            // was missed.
            pair.cursor = if queue.places > 0 { 0 } else { queue.backlog.oldest() };
            queue.places = queue.places.saturating_sub(1);
            queue.active = queue.active.saturating_add(1);
            queue.backlog.claim();
        }
        Ok(Visit {
            queue: slot,
            queue_born: queue.born,
            client: client_slot,
            client_born,
            array: queue.array,
        })
    }

    /// Those who take part in a visit; `None` when the queue has gone.
    #[inline]
    pub(super) fn visited(&mut self, visit: &Visit) -> Option<Visited<'_, P, F>> {
        let queue = self.slots.get_mut(visit.queue)?.as_mut()?;
        if queue.born != visit.queue_born {
            return None;
        }
        let client = self.clients.at(visit.client);
        let client = client.filter(|client| client.born == visit.client_born);
        Some(Visited {
            queue,
            pair: client.and_then(|client| client.known(visit.queue)),
            retained: &mut self.retained,
        })
    }

    /// Whether queue and client of the visit are still there.
    pub fn alive(&mut self, visit: &Visit) -> bool {
        self.visited(visit).is_some_and(|visited| visited.pair.is_some())
    }

    /// Takes note that the client is done with the event `seen`, which it was shown, and shows the
    /// next one. Events that the client has no access to count as seen (E-18). `None` at the end,
    /// and when queue or client have gone.
    ///
    /// If a filter has to let the event pass first, it is stored in `filter`, which is to be empty:
    /// few clients have one, and what is in every event has to be copied for each.
    ///
    /// Events that arrive during the fetch take part in it.
    #[inline(always)]
    pub fn advance(&mut self, visit: &Visit, seen: Option<u64>, filter: &mut Option<F>) -> Option<Event<P::View>> {
        self.advance_watched(visit, seen, filter, &mut ())
    }

    /// [`Queues::advance`], with somebody who looks on.
    #[inline(always)]
    pub(super) fn advance_watched<W: Watch<P>>(
        &mut self,
        visit: &Visit,
        seen: Option<u64>,
        filter: &mut Option<F>,
        watch: &mut W,
    ) -> Option<Event<P::View>> {
        let visited = self.visited(visit);
        let Some(Visited {
            queue,
            pair: Some(pair),
            retained,
        }) = visited
        else {
            self.let_go(visit, seen);
            return None;
        };
        // The last client that sees an event has it dropped; the others mostly just go on.
        let is_plain = !W::LOOKS && queue.active > 1 && pair.allowed && !pair.filtering;
        if is_plain && seen == Some(pair.cursor) {
            let seen = pair.cursor;
            if let Some(event) = queue.backlog.step_on(seen, pair.place) {
                pair.cursor = seen + 1;
                pair.place += 1;
                return Some(Event {
                    sequence: event.sequence,
                    size: event.size,
                    payload: event.hold()?,
                });
            }
        }
        if let Some(seen) = seen {
            // A fetch inside of a callback of this one may have been faster.
            let due = pair.cursor <= seen;
            if due {
                catch_up(queue, pair, seen);
                pair.cursor = seen + 1;
            }
            let address = place::<P, F, W>(queue, seen);
            queue.backlog.release(seen, pair.place, due, retained);
            gone(queue, seen, address, watch);
        }
        loop {
            catch_up(queue, pair, u64::MAX);
            let (place_now, event) = queue.backlog.seek(pair.cursor, pair.place)?;
            let (sequence, size) = (event.sequence, event.size);
            pair.place = place_now;
            if pair.filtering || pair.allowed {
                let payload = event.hold()?;
                if pair.filtering {
                    *filter = pair.filter;
                }
                return Some(Event {
                    sequence,
                    size,
                    payload,
                });
            }
            let address = place::<P, F, W>(queue, sequence);
            if let (true, Some(payload)) = (W::LOOKS, queue.backlog.payload(sequence)) {
                watch.denied(payload, size);
            }
            queue.backlog.consume(sequence, retained);
            gone(queue, sequence, address, watch);
            pair.cursor = sequence + 1;
        }
    }

    /// The fetch does not look at event `shown` any more, which its client has not seen to the end.
    fn let_go(&mut self, visit: &Visit, shown: Option<u64>) {
        let Some(shown) = shown else { return };
        match self.visited(visit) {
            Some(Visited { queue, retained, .. }) => queue.backlog.release_any(shown, false, retained),
            None => self.retained.release(visit.queue_born, shown),
        }
    }

    /// Ends a fetch, which may still be shown an event. One that was not broken off takes the
    /// number of missed events to report (QUEUE-35); a client without access has missed nothing: it
    /// would not have seen the events.
    pub fn finish(&mut self, visit: &Visit, shown: Option<u64>, broken_off: bool) -> End {
        self.let_go(visit, shown);
        match self.visited(visit) {
            None => End::Gone,
            Some(Visited { pair: Some(pair), .. }) if !broken_off => {
                let missed = std::mem::take(&mut pair.missed);
                End::Missed(if pair.filtering || pair.allowed { missed } else { 0 })
            }
            Some(_) => End::Missed(0),
        }
    }
}

/// Where a stored event is, if somebody wants to know.
#[inline(always)]
fn place<P: Payload, F, W: Watch<P>>(queue: &Queue<P, F>, sequence: u64) -> Option<usize> {
    if !W::LOOKS {
        return None;
    }
    queue.backlog.payload(sequence).map(W::address)
}

/// Tells who looks on that an event that stood at `address` has gone, if it has.
#[inline(always)]
fn gone<P: Payload, F, W: Watch<P>>(queue: &Queue<P, F>, sequence: u64, address: Option<usize>, watch: &mut W) {
    if let (true, Some(address)) = (W::LOOKS, address) {
        if queue.backlog.payload(sequence).is_none() {
            watch.removed(&queue.name, address);
        }
    }
}

/// Counts what was evicted ahead of the client, up to the event `limit`, and moves its cursor
/// behind that.
///
/// The event in hand may itself be evicted while it is shown (E-14): the client has seen it, so it
/// is not missed.
#[inline]
fn catch_up<P: Payload, F>(queue: &Queue<P, F>, pair: &mut Pair<F>, limit: u64) {
    let end = queue.backlog.evicted().min(limit);
    if pair.cursor < end {
        miss(pair, end);
    }
}

/// What lies between the client's cursor and `end` was evicted.
#[cold]
fn miss<F>(pair: &mut Pair<F>, end: u64) {
    let cursor = pair.cursor;
    let absent = pair.absent.iter();
    let absent: u64 = absent
        .map(|gap| gap.end.min(end).saturating_sub(gap.start.max(cursor)))
        .sum();
    pair.missed += end - cursor - absent;
    pair.absent.retain(|gap| gap.end > end);
    pair.cursor = end;
}
