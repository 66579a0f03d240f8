//! The errors that clients get, in the log: each once, and bounded in number; and what is lost.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use log::Level;

/// Maximum number of different lines about one thing, such as a metric whose error has another text
/// each time.
const LINES_OF_ONE: usize = 8;
/// Maximum number of lines in [`PERIOD`], such as those of thousands of metrics that fail.
const LINES: usize = 1000;
const PERIOD: Duration = Duration::from_secs(3600);

/// The lines that the log has. A line that the log has already, or has no room for, is logged at
/// level `debug`.
#[derive(Default)]
pub(crate) struct Reports {
    hasher: RandomState,
    /// By the hash of the thing the hashes of its lines: a line may be long.
    lines: HashMap<u64, Vec<u64>>,
    /// The number of all lines, and the time of the first.
    count: usize,
    since: Option<Instant>,
}

/// What could not be kept, such as events of a queue: for it the log has a line a minute.
#[derive(Default)]
pub(crate) struct Losses {
    /// The number of those that no line has told yet.
    untold: u64,
    told: Option<Instant>,
}

/// The least time between two lines about losses.
const PAUSE: Duration = Duration::from_secs(60);

impl Losses {
    /// Counts a loss. Returns how much a line should tell of, if one is due.
    pub(crate) fn count(&mut self, lost: u64, now: Instant) -> Option<u64> {
        self.untold = self.untold.saturating_add(lost);
        if self
            .told
            .is_some_and(|told| now.saturating_duration_since(told) < PAUSE)
        {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

impl Reports {
    /// Logs a line about a thing, unless the log has it.
    pub(crate) fn log(&mut self, level: Level, thing: &str, line: impl Display) {
        let line = line.to_string();
        match self.note(thing, &line, Instant::now()) {
            Note::New => log::log!(level, "{line}"),
            Note::Last => log::log!(level, "{line} (more about this at level debug)"),
            Note::None => log::debug!("{line}"),
        }
    }

    /// Takes note of a line, and returns whether it is to be logged.
    fn note(&mut self, thing: &str, line: &str, now: Instant) -> Note {
        if self.count >= LINES {
            let is_over = self
                .since
                .is_none_or(|since| now.saturating_duration_since(since) >= PERIOD);
            if !is_over {
                return Note::None;
            }
            self.lines.clear();
            self.count = 0;
        }
        let lines = self.lines.entry(self.hasher.hash_one(thing)).or_default();
        let line = self.hasher.hash_one(line);
        if lines.contains(&line) || lines.len() >= LINES_OF_ONE {
            return Note::None;
        }
        lines.push(line);
        let is_last = lines.len() == LINES_OF_ONE;
        if self.count == 0 {
            self.since = Some(now);
        }
        self.count += 1;
        if is_last || self.count == LINES {
            Note::Last
        } else {
            Note::New
        }
    }
}

/// The way in which a line is logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Note {
    New,
    /// The last one of its thing, or of all.
    Last,
    /// Not, since the log has the line already, or no room.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first loss is told at once, those of the next minute together, by the one that follows
    /// it.
    #[test]
    fn losses() {
        let mut losses = Losses::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let told = [0, 0, 1, 59, 60, 61, 200].map(|seconds| losses.count(1, at(seconds)));
        assert_eq!(told, [Some(1), None, None, None, Some(4), None, Some(2)]);
    }

    /// A line is logged once; one thing has some lines, all together have so many an hour.
    #[test]
    fn bounds() {
        let mut reports = Reports::default();
        let start = Instant::now();
        let told = ["a", "b", "a", "c", "d", "e", "f", "g", "h", "i", "i"].map(|line| reports.note("one", line, start));
        let of_one = [
            Note::New,
            Note::New,
            Note::None,
            Note::New,
            Note::New,
            Note::New,
            Note::New,
            Note::New,
            Note::Last,
            Note::None,
            Note::None,
        ];
        assert_eq!(told, of_one);
        assert_eq!(reports.note("two", "a", start), Note::New);
        for number in 0..LINES - LINES_OF_ONE - 2 {
            assert_eq!(reports.note(&number.to_string(), "a", start), Note::New);
        }
        assert_eq!(reports.note("last", "a", start), Note::Last);
        assert_eq!(reports.note("more", "a", start + PERIOD / 2), Note::None);
        assert_eq!(reports.note("more", "a", start + PERIOD), Note::New);
    }
}
