//! What the control metrics show of a source.

use std::time::{Duration, Instant};

/// The state of a source; instance 0 has the sums of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// How often it was fetched.
    pub calls: u64,
    /// How long that took, in whole milliseconds of each fetch.
    pub fetch_time: u64,
    /// How long its documents took to be parsed, likewise.
    pub parse_time: u64,
    /// What has become of the last fetch.
    pub status: String,
    /// The status of HTTP of the last fetch, or 0.
    pub code: i32,
    /// When the document came whose values it has.
    pub document: Option<Instant>,
}

impl Status {
    /// That of a source that was not fetched yet, in these words.
    #[must_use]
    pub fn new(status: &str) -> Status {
        Status {
            calls: 0,
            fetch_time: 0,
            parse_time: 0,
            status: status.to_owned(),
            code: 0,
            document: None,
        }
    }

    /// How old that document is, in milliseconds.
    #[must_use]
    pub fn document_age(&self) -> Option<u64> {
        self.document.map(|came| milliseconds(came.elapsed()))
    }

    /// Adds a fetch that has succeeded.
    pub fn fetched(&mut self, took: Duration) {
        self.fetch_time += milliseconds(took);
    }

    /// Adds the parsing of a document.
    pub fn parsed(&mut self, took: Duration) {
        self.parse_time += milliseconds(took);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OM-83: whole milliseconds of each success, so below one nothing.
    #[test]
    fn times_are_summed() {
        let mut status = Status::new("unknown");
        assert_eq!((status.status.as_str(), status.document_age()), ("unknown", None));
        for micros in [2_700, 999, 3_000] {
            status.fetched(Duration::from_micros(micros));
            status.parsed(Duration::from_micros(2 * micros));
        }
        assert_eq!((status.fetch_time, status.parse_time), (5, 12));
        status.document = Some(Instant::now());
        assert!(status.document_age().is_some_and(|age| age < 60_000));
        std::thread::sleep(Duration::from_millis(5));
        assert!(status.document_age() >= Some(5));
    }
}
