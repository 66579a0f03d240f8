//! What `-Dlibpmda` says about queues and their clients, in the C library's words (E-7).
//!
//! All of it is put together beside the work itself, under the same lock, and only when somebody
//! has asked for it. An observer is told what a fetch does while it goes from event to event.

use std::fmt::{self, Display};

use super::session::Participants;
use super::{Event, FetchSession, Payload, Queue, Queues};
use crate::handles;
use crate::log::{Bytes, Journal};

/// A payload that can be shown.
pub trait Printable: Payload {
    /// Where it is.
    fn address(&self) -> usize;
    /// The beginning of the event, of `size` bytes.
    fn excerpt(&self, size: usize) -> Excerpt;
}

/// How much of an event is shown, in bytes, with a NUL.
const EXCERPT: usize = 64;

/// The beginning of an event: all but its last byte, with blanks for white space and dots for what
/// cannot be shown.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt {
    bytes: [u8; EXCERPT],
    len: usize,
}

impl Excerpt {
    /// Of `size` bytes, of which `fill` gives as many as there is room for.
    pub fn new(size: usize, fill: impl FnOnce(&mut [u8]) -> usize) -> Excerpt {
        let mut bytes = [0; EXCERPT];
        let len = size.min(EXCERPT).saturating_sub(1);
        let len = fill(&mut bytes[..len]).min(len);
        for byte in &mut bytes[..len] {
            *byte = match *byte {
                b' ' | b'\t'..=b'\r' => b' ',
                byte @ b'!'..=b'~' => byte,
                _ => b'.',
            };
        }
        Excerpt { bytes, len }
    }
}

impl Display for Excerpt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(&self.bytes[..self.len]).fmt(out)
    }
}

/// An address as C prints it.
struct At(Option<usize>);

impl Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(out, "{address:#x}"),
            None => out.write_str("(nil)"),
        }
    }
}

/// What is to be said about an ending client and one queue.
#[derive(Debug)]
pub struct ClientEndReport {
    /// The client has a filter there, which is to be released first.
    pub filter: bool,
    /// The queue loses a client.
    pub lines: Journal,
}

impl<P: Printable, F: Copy> Queues<P, F> {
    /// Whether a handle belongs to a queue that has gone.
    #[must_use]
    pub fn is_vacant(&self, handle: i32) -> bool {
        handles::slot(handle).is_some_and(|slot| self.slots.is_vacant(slot))
    }

    fn queue(&self, handle: i32) -> Option<&Queue<P, F>> {
        self.slots.get(handles::slot(handle)?)
    }

    /// An event is about to be appended: which others have to go for it. PCP 6.0.5 `revised` the
    /// words.
    pub fn trace_append(&mut self, handle: i32, size: usize, revised: bool, journal: &mut Journal) {
        let Some(queue) = self.queue(handle) else { return };
        let (name, limit) = (Bytes(&queue.name), queue.limit);
        journal.debug(format_args!(
            "Appending event: queue#{handle} \"{name}\" ({size} bytes)"
        ));
        let Some(room) = limit.checked_sub(size) else { return };
        let mut memory = queue.backlog.memory();
        let mut gone = queue.backlog.stored_events();
        // Fetches that have the event in hand, or had the one before it.
        let mut hands = 0;
        let (dropping, removing) = if revised {
            ("Client dropped queue", "Client removing queue:")
        } else {
            ("Dropping", "Removing")
        };
        while memory > room as u64 {
            let Some((event, payload)) = gone.next() else { break };
            let (e, sz) = (At(Some(payload.address())), event.size);
            journal.debug(format_args!(
                "{dropping} {name}: e={e} sz={sz} max={limit} qsz={memory}"
            ));
            hands += event.holders();
            for _ in 0..hands {
                journal.debug(format_args!("Client missed queue {name} event {e}"));
            }
            journal.debug(format_args!("{removing} {name} event {e} ({sz} bytes)"));
            memory -= sz as u64;
        }
    }

    /// An event has been appended.
    pub fn trace_appended(&self, handle: i32, size: usize, journal: &mut Journal) {
        let Some(queue) = self.queue(handle).filter(|queue| queue.clients() > 0) else {
            return;
        };
        let e = At(queue.backlog.newest().map(Printable::address));
        let (name, clients) = (Bytes(&queue.name), queue.clients());
        journal.debug(format_args!(
            "Inserted {name} event {e} ({size} bytes) clients = {clients}"
        ));
    }

    /// A queue is about to be shut down.
    pub fn trace_shutdown(&self, handle: i32, journal: &mut Journal) {
        if let Some(queue) = self.queue(handle) {
            let (name, clients) = (Bytes(&queue.name), queue.clients());
            journal.debug(format_args!("queue_shutdown: {name} numclients={clients}"));
        }
    }

    /// A client has got a slot.
    pub fn trace_client(&self, context: i32, slot: i32, journal: &mut Journal) {
        let total = self.clients.places();
        journal.debug(format_args!(
            "pmdaEventNewClient: slot={slot} (total={total}) context={context}"
        ));
    }

    /// Whether a client is registered.
    #[must_use]
    pub fn is_client(&self, context: i32) -> bool {
        self.clients.slot(context).is_some()
    }

    /// A client is about to end: what to say at once, and then about each queue, in the order of
    /// their slots.
    pub fn trace_end(&mut self, context: i32, journal: &mut Journal) -> Vec<ClientEndReport> {
        let slot = self.clients.slot(context);
        let shown = slot.unwrap_or(0);
        journal.debug(format_args!("pmdaEventEndClient ctx={context} slot={shown}"));
        let Some(client) = slot else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (slot, queue) in self.slots.iter() {
            let Some(reader) = queue.readers.at(client) else {
                continue;
            };
            let mut lines = Journal::new();
            if reader.is_active() {
                let (name, clients) = (Bytes(&queue.name), queue.clients());
                lines.debug(format_args!("queue_cleanup: {name} numclients={clients}"));
                if clients == 1 {
                    let shutdown = i32::from(queue.closing);
                    lines.debug(format_args!("queue_cleanup: {name} final shutdown={shutdown}"));
                }
            }
            if all.try_reserve(1).is_ok() {
                all.push(ClientEndReport {
                    filter: self.clients.filter(client, slot).is_some(),
                    lines,
                });
            }
        }
        all
    }

    /// A fetch has begun.
    pub fn trace_fetch(&mut self, session: &FetchSession, journal: &mut Journal) {
        if let Some(Participants {
            backlog,
            reader: Some(reader),
            ..
        }) = self.participants(session)
        {
            let next = backlog
                .stored_events()
                .find(|(event, _)| event.sequence >= reader.cursor);
            let last = At(next.map(|(_, payload)| payload.address()));
            journal.debug(format_args!("queue_fetch start, last event={last}"));
        }
    }

    /// [`Queues::advance`], and what there is to say about it.
    pub fn advance_traced(
        &mut self,
        session: &FetchSession,
        hand: &mut Option<Event<P::View>>,
        filter: &mut Option<F>,
        journal: &mut Journal,
    ) {
        self.advance_observed(session, hand, filter, journal);
    }
}

impl<P: Printable> QueueObserver<P> for Journal {
    const OBSERVES: bool = true;

    fn denied(&mut self, payload: &P, size: usize) {
        let excerpt = payload.excerpt(size);
        self.debug(format_args!("Clientq access denied"));
        self.debug(format_args!("Culling event (sz={size}): \"{excerpt}\""));
    }

    fn removed(&mut self, queue: &[u8], address: usize) {
        let (name, event) = (Bytes(queue), At(Some(address)));
        self.debug(format_args!("Removing {name} event {event} in fetch"));
    }

    fn address(payload: &P) -> usize {
        payload.address()
    }
}

/// Is told what a client passes and what leaves the queue.
pub(super) trait QueueObserver<P> {
    /// Whether it wants to know at all.
    const OBSERVES: bool;

    /// The client may not see an event.
    fn denied(&mut self, payload: &P, size: usize);

    /// Everybody has seen the event that stood here.
    fn removed(&mut self, queue: &[u8], address: usize);

    /// Where a payload stands.
    fn address(payload: &P) -> usize;
}

/// No observer: costs nothing.
impl<P> QueueObserver<P> for () {
    const OBSERVES: bool = false;

    #[inline(always)]
    fn denied(&mut self, _: &P, _: usize) {}

    #[inline(always)]
    fn removed(&mut self, _: &[u8], _: usize) {}

    #[inline(always)]
    fn address(_: &P) -> usize {
        0
    }
}
