//! What `-Dlibpmda` says about queues and their clients, in the C library's words (QUEUE-60).

use std::fmt::{self, Display};

use super::{Payload, Queues};
use crate::events::printed;
use crate::log::{Bytes, Journal};

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
            *byte = printed(*byte);
        }
        Excerpt { bytes, len }
    }
}

impl Default for Excerpt {
    fn default() -> Excerpt {
        Excerpt::new(0, |_| 0)
    }
}

impl Display for Excerpt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(&self.bytes[..self.len]).fmt(out)
    }
}

/// An address as C prints it.
pub(super) struct At(pub(super) Option<usize>);

impl Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(out, "{address:#x}"),
            None => out.write_str("(nil)"),
        }
    }
}

impl<P: Payload, F: Copy> Queues<P, F> {
    /// An event is about to be appended: which others have to go for it. PCP 6.0.5 `revised` the
    /// words.
    #[inline]
    pub fn trace_append(&mut self, handle: i32, size: usize, revised: bool) {
        let Some(journal) = &mut self.journal else { return };
        let Ok((_, queue)) = super::in_use(&mut self.slots, handle) else {
            return;
        };
        let (name, limit) = (Bytes(&queue.name), queue.limit);
        journal.debug(format_args!(
            "Appending event: queue#{handle} \"{name}\" ({size} bytes)"
        ));
        let Some(room) = limit.checked_sub(size) else { return };
        let mut memory = queue.backlog.memory;
        let mut gone = queue.backlog.stored(0);
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
            hands += event.holders;
            for _ in 0..hands {
                journal.debug(format_args!("Client missed queue {name} event {e}"));
            }
            journal.debug(format_args!("{removing} {name} event {e} ({sz} bytes)"));
            memory -= sz as u64;
        }
    }

    /// An event has been appended.
    pub fn trace_appended(&mut self, handle: i32, size: usize) {
        let Some(journal) = &mut self.journal else { return };
        let Ok((_, queue)) = super::in_use(&mut self.slots, handle) else {
            return;
        };
        let (name, clients) = (Bytes(&queue.name), queue.clients());
        if clients > 0 {
            let newest = queue.backlog.stored(queue.backlog.newest()).next();
            let e = At(newest.map(|(_, payload)| payload.address()));
            journal.debug(format_args!(
                "Inserted {name} event {e} ({size} bytes) clients = {clients}"
            ));
        }
    }

    /// A client is about to end. What is to be said of a queue comes behind the release of the
    /// filter there: gives the lines behind each filter.
    pub(super) fn trace_end(&mut self, context: i32) -> Vec<Journal> {
        let mut behind = Vec::new();
        let Some(journal) = &mut self.journal else {
            return behind;
        };
        let slot = self.clients.slot(context);
        let shown = slot.unwrap_or(0);
        journal.debug(format_args!("pmdaEventEndClient ctx={context} slot={shown}"));
        let Some(slot) = slot else { return behind };
        for queue in self.slots.values_mut() {
            let Ok(reader) = queue.reader(slot) else { continue };
            let is_active = reader.is_active();
            if reader.filter.is_some() && behind.try_reserve(1).is_ok() {
                behind.push(Journal::new());
            }
            if is_active {
                let lines = behind.last_mut().unwrap_or(journal);
                let (name, clients) = (Bytes(&queue.name), queue.clients());
                lines.debug(format_args!("queue_cleanup: {name} numclients={clients}"));
                if clients == 1 {
                    let shutdown = i32::from(queue.closing);
                    lines.debug(format_args!("queue_cleanup: {name} final shutdown={shutdown}"));
                }
            }
        }
        behind
    }
}
