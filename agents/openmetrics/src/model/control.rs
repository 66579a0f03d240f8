//! The values of the control metrics for a source.

use std::time::{Duration, Instant};

/// The status code of a failure without one of HTTP: no connection, no file, a script that has
/// failed.
pub const NO_ANSWER: i32 = -1;

/// The status of all sources together, of which nothing is wrong.
pub const NO_STATUS: &str = "none";

/// The state of a source; instance 0 has the sums of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The number of fetches.
    pub calls: u64,
    /// The number of fetches without a document.
    pub failures: u64,
    /// The time that fetches took, in whole milliseconds of each.
    pub fetch_time: u64,
    /// The time that parsing took, in whole milliseconds of each document.
    pub parse_time: u64,
    /// The outcome of the last fetch, in words.
    pub status: String,
    /// The status of HTTP of the last fetch; 0 for a document of a file or a script, and before
    /// the first fetch.
    pub code: i32,
    /// The document whose values it has.
    pub document: Option<Shown>,
    /// The number of metrics and instances whose numbers are not on the disk.
    pub unsaved: u64,
    /// True if the values are the sums of all sources.
    is_sum: bool,
}

/// A document whose values a source has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The time at which it came.
    pub came: Instant,
    /// The number of its samples that are shown.
    pub samples: u64,
    /// The number of its samples that are not shown, though no filter excludes them.
    pub lost: u64,
}

impl Status {
    /// The status of a source that was not fetched yet, in these words.
    #[must_use]
    pub fn new(status: &str) -> Status {
        Status {
            calls: 0,
            failures: 0,
            fetch_time: 0,
            parse_time: 0,
            status: status.to_owned(),
            code: 0,
            document: None,
            unsaved: 0,
            is_sum: false,
        }
    }

    /// The sums of all sources.
    #[must_use]
    pub fn sums() -> Status {
        Status {
            is_sum: true,
            ..Status::new(NO_STATUS)
        }
    }

    /// The age of the document in milliseconds.
    #[must_use]
    pub fn document_age(&self) -> Option<u64> {
        self.document.map(|document| milliseconds(document.came.elapsed()))
    }

    /// 1 if the source has a document, 0 after a fetch that has brought none. `None` before the
    /// first fetch, and for all sources together.
    #[must_use]
    pub fn up(&self) -> Option<u32> {
        (self.calls > 0 && !self.is_sum).then(|| u32::from(self.document.is_some()))
    }

    /// Adds a fetch that has succeeded.
    pub fn fetched(&mut self, took: Duration) {
        self.fetch_time += milliseconds(took);
    }

    /// Adds the parsing of a document.
    pub fn parsed(&mut self, took: Duration) {
        self.parse_time += milliseconds(took);
    }

    /// Takes note that the source has no values. Returns true if these words are new.
    pub fn fail(&mut self, text: String, code: u16) -> bool {
        let is_new = self.status != text;
        self.status = text;
        self.code = if code == 0 { NO_ANSWER } else { i32::from(code) };
        self.document = None;
        is_new
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times are summed in whole milliseconds, so a fetch below one millisecond adds nothing
    /// (OM-83).
    #[test]
    fn times_are_summed() {
        let mut status = Status::new("unknown");
        assert_eq!((status.status.as_str(), status.document_age()), ("unknown", None));
        for micros in [2_700, 999, 3_000] {
            status.fetched(Duration::from_micros(micros));
            status.parsed(Duration::from_micros(2 * micros));
        }
        assert_eq!((status.fetch_time, status.parse_time), (5, 12));
        status.document = Some(Shown {
            came: Instant::now(),
            samples: 1,
            lost: 0,
        });
        assert!(status.document_age().is_some_and(|age| age < 60_000));
        std::thread::sleep(Duration::from_millis(5));
        assert!(status.document_age() >= Some(5));
    }

    /// A failure without a status of HTTP is shown as -1, not as the 0 of a script that succeeds
    /// (OM-83).
    #[test]
    fn failures() {
        let mut status = Status::new("unknown");
        assert_eq!(status.up(), None);
        status.calls = 1;
        for (code, shown) in [(0, NO_ANSWER), (404, 404)] {
            assert!(status.fail(format!("no: {code}"), code));
            assert!(!status.fail(format!("no: {code}"), code));
            assert_eq!((status.code, status.up()), (shown, Some(0)));
        }
    }
}
