//! One queue, and its clients.

use super::backlog::Backlog;
use crate::error::{Error, Result};

#[derive(Debug)]
pub(super) struct Queue<F> {
    pub(super) name: Vec<u8>,
    /// Most bytes of payload that are stored.
    pub(super) limit: usize,
    /// The event array of the caller.
    pub(super) array: i32,
    /// Different for each queue: a fetch notices another one in its slot.
    pub(super) generation: u64,
    /// Goes away with its last client (QUEUE-40).
    pub(super) closing: bool,
    /// Clients that have fetched.
    pub(super) active: u32,
    /// Announced clients that have not fetched yet.
    pub(super) places: u32,
    /// Events that came, stored or not (QUEUE-5).
    pub(super) count: u32,
    /// Bytes that came.
    pub(super) bytes: u64,
    pub(super) backlog: Backlog,
    /// The readers, by the slots of their clients.
    pub(super) readers: Vec<Option<QueueReader<F>>>,
}

impl<F> Queue<F> {
    pub(super) fn clients(&self) -> u32 {
        self.active.saturating_add(self.places)
    }

    pub(super) fn counts(&mut self, size: usize) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(size as u64);
    }

    /// The reader of the client in a slot, made if there is none; `generation` counts.
    pub(super) fn enter(&mut self, client: usize, generation: &mut u64) -> Result<&mut QueueReader<F>> {
        if self.readers.len() <= client {
            let more = client + 1 - self.readers.len();
            self.readers.try_reserve(more).map_err(|_| Error::ENOMEM)?;
            self.readers.resize_with(client + 1, || None);
        }
        Ok(self.readers[client].get_or_insert_with(|| {
            *generation += 1;
            QueueReader::new(*generation)
        }))
    }
}

/// The cursor of a client that has not fetched.
const IDLE: u64 = u64::MAX;

/// The state of one client and one queue (QUEUE-22).
#[derive(Debug)]
pub(super) struct QueueReader<F> {
    /// Different for each reader: a fetch notices when its own was ended.
    pub(super) generation: u64,
    /// The number of the next event that the client has not seen; [`IDLE`] until its first fetch.
    pub(super) cursor: u64,
    pub(super) access: Access,
    /// Kept when it was cleared: its release function runs when the client ends (E-13).
    pub(super) filter: Option<F>,
    /// Evicted events that are not reported yet.
    pub(super) missed: u64,
}

/// The events that a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// None, as at first.
    Denied,
    /// All.
    Allowed,
    /// Those that its filter lets pass.
    Filtered,
}

impl<F> QueueReader<F> {
    pub(super) const fn new(generation: u64) -> QueueReader<F> {
        QueueReader {
            generation,
            cursor: IDLE,
            access: Access::Denied,
            filter: None,
            missed: 0,
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }
}
