//! One queue, and the clients that read it.

use super::backlog::Backlog;
use crate::error::{Error, Result};

/// One queue.
#[derive(Debug)]
pub(super) struct Queue<F> {
    pub(super) name: Vec<u8>,
    /// Most bytes of payload that are stored at a time.
    pub(super) limit: usize,
    /// The event array that fetches fill; the caller's.
    pub(super) array: i32,
    /// Different for each queue, so that a fetch notices when its slot holds another one.
    pub(super) generation: u64,
    /// Goes away with its last client (QUEUE-40).
    pub(super) closing: bool,
    /// Clients that have fetched.
    pub(super) active: u32,
    /// Announced clients that have not fetched yet.
    pub(super) places: u32,
    /// Events that came, whether they were stored or not (QUEUE-5).
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

    /// An event has come.
    pub(super) fn counts(&mut self, size: usize) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(size as u64);
    }

    /// The reader of the client in a slot, made if there is none; `generation` counts.
    ///
    /// # Errors
    /// `-ENOMEM`.
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
    /// Different for each client and queue that ever had to do with each other, so that a fetch
    /// notices when one of them was ended.
    pub(super) generation: u64,
    /// The number of the next event that the client has not seen; [`IDLE`] until its first fetch.
    pub(super) cursor: u64,
    pub(super) access: Access,
    /// One that was cleared is kept, since its release function runs when the client ends (E-13).
    pub(super) filter: Option<F>,
    /// Events that were evicted before the client saw them, and are not reported yet.
    pub(super) missed: u64,
}

/// The events that a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// None, as at first.
    Denied,
    /// All.
    Allowed,
    /// Those that its filter lets pass, whether access is granted beside it or not.
    Filtered,
}

impl<F> QueueReader<F> {
    /// One that has not fetched, and has no access.
    pub(super) const fn new(generation: u64) -> QueueReader<F> {
        QueueReader {
            generation,
            cursor: IDLE,
            access: Access::Denied,
            filter: None,
            missed: 0,
        }
    }

    /// Returns whether the client has fetched from the queue.
    pub(super) fn is_active(&self) -> bool {
        self.cursor != IDLE
    }
}
