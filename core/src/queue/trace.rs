//! The output of `-Dlibpmda` about queues and their clients, in the C library's words (QUEUE-60).

use std::fmt::{self, Display};

use super::backlog::{Event, Events, Excerpt, Payload, Queue, StoredEvent};
use crate::log::{Bytes, Journal};

/// The address of an event as C prints it.
struct At(Option<usize>);

impl Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(out, "{address:#x}"),
            None => out.write_str("(nil)"),
        }
    }
}

/// The address of an event.
fn at<P: Payload>(event: &StoredEvent<P>) -> At {
    At(event.payload().map(P::address))
}

/// Says that the oldest event of a queue is evicted.
#[cold]
pub(super) fn eviction<P: Payload, F>(journal: &mut Journal, revised: bool, queue: &Queue<F>, event: &StoredEvent<P>) {
    let (name, limit, memory) = (Bytes(&queue.name), queue.limit, queue.backlog.memory);
    let (e, sz) = (at(event), event.size);
    let (dropping, removing) = if revised {
        ("Client dropped queue", "Client removing queue:")
    } else {
        ("Dropping", "Removing")
    };
    journal.debug(format_args!(
        "{dropping} {name}: e={e} sz={sz} max={limit} qsz={memory}"
    ));
    journal.debug(format_args!("{removing} {name} event {e} ({sz} bytes)"));
}

/// Says that an event was stored.
#[cold]
pub(super) fn inserted<P: Payload, F>(journal: &mut Journal, queue: &Queue<F>, event: &StoredEvent<P>) {
    let (name, clients) = (Bytes(&queue.name), queue.clients());
    let (e, sz) = (at(event), event.size);
    journal.debug(format_args!(
        "Inserted {name} event {e} ({sz} bytes) clients = {clients}"
    ));
}

/// Says that a client begins to fetch.
#[cold]
pub(super) fn start<P: Payload, F>(journal: &mut Journal, queue: &Queue<F>, client: usize, events: &Events<P>) {
    let reader = queue.readers[client].as_ref();
    let next = reader.and_then(|reader| queue.backlog.get(reader.cursor.max(queue.backlog.oldest)));
    let last = next.map_or(At(None), |slot| at(events.get(slot)));
    journal.debug(format_args!("queue_fetch start, last event={last}"));
}

/// Says that an event is shown to the client, or culled.
#[cold]
pub(super) fn event<P: Payload>(journal: &mut Journal, event: Option<&Event<P::EventData>>, is_culled: bool) {
    let action = if is_culled { "Culling" } else { "Adding" };
    let Some(Event { size, payload, .. }) = event else {
        return;
    };
    let excerpt: Excerpt = P::excerpt(*payload, *size);
    journal.debug(format_args!("{action} event (sz={size}): \"{excerpt}\""));
}

/// Says that an event has left a queue, since all clients have seen it.
#[cold]
pub(super) fn removal<P: Payload>(journal: &mut Journal, queue: &[u8], event: &StoredEvent<P>) {
    let (name, event) = (Bytes(queue), at(event));
    journal.debug(format_args!("Removing {name} event {event} in fetch"));
}

/// Says that an active client of a queue ends.
#[cold]
pub(super) fn cleanup<F>(journal: &mut Journal, queue: &Queue<F>) {
    let (name, clients) = (Bytes(&queue.name), queue.clients());
    journal.debug(format_args!("queue_cleanup: {name} numclients={clients}"));
    if clients == 1 {
        let shutdown = i32::from(queue.closing);
        journal.debug(format_args!("queue_cleanup: {name} final shutdown={shutdown}"));
    }
}
