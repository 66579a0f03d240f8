//! One fetch of one client from one queue.

#![forbid(unsafe_code)]

use super::clients::Pair;
use super::{Queue, Queues};
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

/// An event that the client has not seen yet. The payload stays alive as long as this does, whatever happens to
/// the queue.
#[derive(Debug)]
pub struct Event<P, F> {
    /// What [`Queues::advance`] wants to hear when the event was shown or filtered out.
    pub sequence: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: P,
    /// A filter that has to let the event pass first.
    pub filter: Option<F>,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The queue is still there; so many events were evicted before the client saw them.
    Missed(u64),
    /// The queue has gone, and its event array with it.
    Gone,
}

impl<P: Clone, F: Copy> Queues<P, F> {
    /// Begins a fetch. The first one of a client makes it active, in a place that was kept for a client or in
    /// addition to the others (QUEUE-23, E-8); it begins with the oldest event.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue (QUEUE-30).
    pub fn begin(&mut self, handle: i32, context: i32) -> Result<Visit> {
        let slot = self.slot(handle)?;
        let client_slot = self.clients.slot(context).ok_or(Error::INVAL)?;
        let client = self.clients.at(client_slot).ok_or(Error::INVAL)?;
        let queue = self.slots[slot].as_mut().ok_or(Error::INVAL)?;
        let client_born = client.born;
        let pair = client.pair(slot);
        if pair.cursor.is_none() {
            // A place has been waiting since the queue was made, so all that was evicted since then was missed.
            pair.cursor = Some(if queue.places > 0 { 0 } else { queue.ring.oldest() });
            queue.places = queue.places.saturating_sub(1);
            queue.active = queue.active.saturating_add(1);
            pair.absent = queue.ring.claim();
        }
        Ok(Visit {
            queue: slot,
            queue_born: queue.born,
            client: client_slot,
            client_born,
            array: queue.array,
        })
    }

    /// Queue and pair of a visit, as far as they still are those that it began with.
    fn parties(&mut self, visit: &Visit) -> (Option<&mut Queue<P>>, Option<&mut Pair<F>>) {
        let queue = self.slots.get_mut(visit.queue).and_then(Option::as_mut);
        let queue = queue.filter(|queue| queue.born == visit.queue_born);
        let client = self.clients.at(visit.client);
        let client = client.filter(|client| client.born == visit.client_born);
        (queue, client.map(|client| client.pair(visit.queue)))
    }

    /// Whether queue and client of the visit are still there.
    pub fn alive(&mut self, visit: &Visit) -> bool {
        matches!(self.parties(visit), (Some(_), Some(_)))
    }

    /// Takes note that the client is done with event `seen`, and gives the next one. Events that the client has no
    /// access to count as seen (E-18). `None` at the end, and when queue or client have gone.
    ///
    /// Events that arrive during the fetch take part in it.
    pub fn advance(&mut self, visit: &Visit, seen: Option<u64>) -> Option<Event<P, F>> {
        let (Some(queue), Some(pair)) = self.parties(visit) else {
            return None;
        };
        // A fetch inside of a callback of this one may have been faster.
        if let Some(seen) = seen.filter(|seen| pair.cursor.is_some_and(|cursor| cursor <= *seen)) {
            catch_up(queue, pair, seen);
            queue.ring.consume(seen);
            pair.cursor = Some(seen + 1);
        }
        loop {
            catch_up(queue, pair, u64::MAX);
            let (sequence, size, payload) = queue.ring.seek(pair.cursor?)?;
            if pair.filtering || pair.allowed {
                return Some(Event {
                    sequence,
                    size,
                    payload: payload.clone(),
                    filter: pair.filter.filter(|_| pair.filtering),
                });
            }
            queue.ring.consume(sequence);
            pair.cursor = Some(sequence + 1);
        }
    }

    /// Ends a fetch that was not broken off, and takes the number of missed events to report (QUEUE-35). A client
    /// without access has missed nothing: it would not have seen the events.
    pub fn finish(&mut self, visit: &Visit) -> End {
        match self.parties(visit) {
            (None, _) => End::Gone,
            (Some(_), None) => End::Missed(0),
            (Some(_), Some(pair)) => {
                let missed = std::mem::take(&mut pair.missed);
                End::Missed(if pair.filtering || pair.allowed { missed } else { 0 })
            }
        }
    }
}

/// Counts what was evicted ahead of the client, up to the event `limit`, and moves its cursor behind that.
///
/// The event in hand may itself be evicted while it is shown (E-14): the client has seen it, so it is not missed.
fn catch_up<P: Clone, F>(queue: &Queue<P>, pair: &mut Pair<F>, limit: u64) {
    let end = queue.ring.evicted().min(limit);
    if let Some(cursor) = pair.cursor.filter(|cursor| *cursor < end) {
        let absent = pair.absent.iter();
        let absent: u64 = absent
            .map(|gap| gap.end.min(end).saturating_sub(gap.start.max(cursor)))
            .sum();
        pair.missed += end - cursor - absent;
        pair.absent.retain(|gap| gap.end > end);
        pair.cursor = Some(end);
    }
}
