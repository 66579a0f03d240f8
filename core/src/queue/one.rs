//! One queue, and the clients that read it.

use super::backlog::Backlog;
use crate::error::{Error, Result};

/// One queue.
#[derive(Debug)]
pub(super) struct Queue<F> {
    pub(super) name: Vec<u8>,
    /// The greatest number of bytes of payload that are stored at a time.
    pub(super) limit: usize,
    /// The handle of the event array that fetches fill; the array is the caller's.
    pub(super) array: i32,
    /// A number that no other queue has had: a fetch notices when its handle is that of another
    /// queue.
    pub(super) generation: u64,
    /// True if it was shut down: it goes with its last client (QUEUE-40).
    pub(super) closing: bool,
    /// The number of clients that have fetched and have not ended.
    pub(super) active: u32,
    /// The number of announced clients that have not fetched yet.
    pub(super) places: u32,
    /// The number of events that came, stored or not (QUEUE-5).
    pub(super) count: u32,
    /// The number of bytes that came.
    pub(super) bytes: u64,
    pub(super) backlog: Backlog,
    /// The readers, by the slots of their clients.
    pub(super) readers: Vec<Option<QueueReader<F>>>,
}

impl<F> Queue<F> {
    /// The number of clients that events are kept for.
    pub(super) fn clients(&self) -> u32 {
        self.active.saturating_add(self.places)
    }

    /// Counts an event that has come.
    pub(super) fn counts(&mut self, size: usize) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(size as u64);
    }

    /// Returns the reader of the client in a slot, and makes it if there is none; `generation` is
    /// counted up for a new one.
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
    /// A number that no other reader has had: a fetch notices when its client or queue was ended.
    pub(super) generation: u64,
    /// The number of the next event that the client has not seen; [`IDLE`] until its first fetch.
    pub(super) cursor: u64,
    /// The events that the client may see.
    pub(super) access: Access,
    /// The filter. One that does not filter any more is kept, since its release function runs when
    /// the client ends (E-13).
    pub(super) filter: Option<F>,
    /// The number of events that were evicted before the client saw them, and are not reported yet.
    pub(super) missed: u64,
}

/// The events that a client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// No events, as at first.
    Denied,
    /// All events.
    Allowed,
    /// Those events that the filter lets pass, whether or not access was granted beside it.
    Filtered,
}

impl<F> QueueReader<F> {
    /// The reader of a client that has not fetched, and has no access.
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
