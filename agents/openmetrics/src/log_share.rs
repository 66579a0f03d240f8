//! The share of one source in the log, which is for all.

use std::time::{Duration, Instant};

/// The number of bytes that a source may write into the log in an hour.
pub const HOURLY: usize = 64 << 10;
const HOUR: Duration = Duration::from_secs(3600);

/// The number of bytes that a source has written into the log in this hour.
#[derive(Debug, Default)]
pub struct LogShare {
    /// The time at which the hour began; `None` before the first text.
    since: Option<Instant>,
    written: usize,
}

/// The part of a text that may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// So many bytes of it.
    pub bytes: usize,
    /// True if nothing more may be written in this hour.
    pub is_last: bool,
}

impl LogShare {
    /// Takes room for a text of so many bytes, as far as there is room.
    pub fn take(&mut self, bytes: usize, now: Instant) -> Granted {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) > HOUR {
            (self.since, self.written) = (Some(now), 0);
        }
        let bytes = bytes.min(HOURLY - self.written);
        self.written += bytes;
        Granted {
            bytes,
            is_last: bytes > 0 && self.written == HOURLY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each hour there is as much room; what is beyond it is refused, and the last one knows.
    #[test]
    fn an_hour_has_so_many_bytes() {
        let mut share = LogShare::default();
        let begun = Instant::now();
        let granted = |bytes, is_last| Granted { bytes, is_last };
        for after in [Duration::ZERO, HOUR + Duration::from_millis(1)] {
            let mut take = |bytes| share.take(bytes, begun + after);
            assert_eq!(take(0), granted(0, false));
            assert_eq!(take(HOURLY - 1), granted(HOURLY - 1, false));
            assert_eq!(take(7), granted(1, true));
            assert_eq!(take(7), granted(0, false));
            assert_eq!(share.take(7, begun + after + HOUR), granted(0, false));
        }
    }
}
