//! The payloads of events, which a queue stores, and their looks in debug output.

use std::fmt::{self, Display};

use crate::events::printed;
use crate::log::Bytes;

/// The part of an event that a queue stores.
pub trait Payload {
    /// The payload as a callback sees it while nothing is locked. A fetch may use it until it says
    /// that it is done with the event: until then, the payload is neither moved nor dropped.
    type EventData: Copy;

    /// The payload as callbacks see it.
    fn view(&self) -> Self::EventData;

    /// The address of the payload, for debug output.
    fn address(&self) -> usize {
        0
    }

    /// The beginning of an event of `size` bytes, for debug output.
    fn excerpt(_: Self::EventData, _size: usize) -> Excerpt {
        Excerpt::default()
    }
}

/// The size of the shown part of an event in bytes, with a NUL.
const EXCERPT: usize = 64;

/// The beginning of an event in debug output: without its last byte, with blanks for white space
/// and dots for what cannot be shown.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt {
    bytes: [u8; EXCERPT],
    len: usize,
}

impl Excerpt {
    /// The excerpt of `size` bytes, which `fill` writes as far as there is room.
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
