//! How a source stands: whether a request waits for it, and for how long (OM-90).

use std::time::{Duration, Instant, SystemTime};

use crate::limits;

/// How a source stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Standing {
    /// Its documents come in time: a request waits for the source.
    #[default]
    InTime,
    /// Its last document came later than a request waits: the source keeps the values of a document
    /// until the next one comes, and is waited for only if that document is old.
    Slow,
    /// A request has waited in vain, and nothing has come from the source since.
    Late(Lateness),
    /// Its file has gone.
    Gone,
}

/// The time in which nothing has come from a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// The time at which the first of the requests asked that have waited in vain.
    pub since: SystemTime,
    /// The number of these requests.
    in_vain: u32,
    /// True if the source was slow before.
    was_slow: bool,
}

impl Standing {
    /// The standing after a request that has asked at `asked`, and has waited in vain.
    #[must_use]
    pub fn after_waiting_in_vain(self, asked: SystemTime) -> Standing {
        match self {
            Standing::InTime | Standing::Slow => Standing::Late(Lateness {
                since: asked,
                in_vain: 1,
                was_slow: self == Standing::Slow,
            }),
            Standing::Late(late) => Standing::Late(Lateness {
                in_vain: late.in_vain.saturating_add(1),
                ..late
            }),
            Standing::Gone => Standing::Gone,
        }
    }

    /// The time for which a request waits for the source: `limit`, but of a late source only once
    /// more, and then half as long after each request that has waited in vain, though no less than
    /// `patience`. So a source that has just been started anew is seen by the next request, and one
    /// that hangs for hours costs requests little.
    #[must_use]
    pub fn waits(self, limit: Duration, patience: Duration, has_old_document: bool) -> Duration {
        match self {
            Standing::InTime => limit,
            Standing::Slow if has_old_document => limit,
            Standing::Slow | Standing::Gone => Duration::ZERO,
            Standing::Late(late) => {
                let halved = 1_u32.checked_shl(late.in_vain.saturating_sub(1)).unwrap_or(u32::MAX);
                limit.min(patience.max(limit / halved))
            }
        }
    }

    /// Returns whether the source keeps the values of its last document when it is late once more.
    #[must_use]
    pub fn keeps_values(self) -> bool {
        match self {
            Standing::Slow => true,
            Standing::Late(late) => late.was_slow,
            Standing::InTime | Standing::Gone => false,
        }
    }

    /// The time of lateness, if the source is late.
    #[must_use]
    pub fn lateness(self) -> Option<Lateness> {
        match self {
            Standing::Late(late) => Some(late),
            _ => None,
        }
    }
}

/// The document whose values a source has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastDocument {
    /// The time at which it came.
    pub came: Instant,
    /// True if it came after the request that waited for it, and no request for values has had it
    /// yet.
    pub is_unseen: bool,
    /// The part that the server has not sent, in words, if the document has ended early.
    pub cut_off: Option<String>,
}

impl LastDocument {
    /// Returns whether it is so old that a request waits for a newer one, though its source is slow.
    #[must_use]
    pub fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.came) > limits::FRESH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);
    const PATIENCE: Duration = Duration::from_millis(200);

    /// The standing of a source after so many requests that have waited in vain.
    fn late(before: Standing, in_vain: u32) -> Standing {
        let now = SystemTime::now();
        (0..in_vain).fold(before, |standing, number| {
            standing.after_waiting_in_vain(now + Duration::from_secs(number.into()))
        })
    }

    /// A late source is waited for in full once more, and half as long after each further request, no
    /// less than it may be silent.
    #[test]
    fn late_sources_are_waited_for_less_and_less() {
        for (in_vain, expected) in [
            (1, 2000),
            (2, 1000),
            (3, 500),
            (4, 250),
            (5, 200),
            (6, 200),
            (1000, 200),
        ] {
            let waits = late(Standing::InTime, in_vain).waits(LIMIT, PATIENCE, false);
            assert_eq!(waits, Duration::from_millis(expected), "{in_vain}");
        }
        assert_eq!(late(Standing::InTime, 9).waits(LIMIT, LIMIT * 4, false), LIMIT);
        assert_eq!(
            late(Standing::InTime, 9).waits(Duration::ZERO, PATIENCE, true),
            Duration::ZERO
        );
    }

    /// A slow source is not waited for unless its document is old, and keeps its values when it is
    /// late.
    #[test]
    fn slow_sources() {
        let waits = |standing: Standing, is_old| standing.waits(LIMIT, PATIENCE, is_old);
        assert_eq!(waits(Standing::Slow, false), Duration::ZERO);
        assert_eq!(waits(Standing::Slow, true), LIMIT);
        assert_eq!(waits(Standing::InTime, false), LIMIT);
        assert_eq!(waits(Standing::Gone, true), Duration::ZERO);
        assert!(late(Standing::Slow, 3).keeps_values() && Standing::Slow.keeps_values());
        assert!(!late(Standing::InTime, 3).keeps_values() && !Standing::InTime.keeps_values());
    }

    /// Lateness lasts from the first request that has waited in vain; what has gone is not late.
    #[test]
    fn since_when_a_source_is_late() {
        let asked = SystemTime::UNIX_EPOCH;
        let first = Standing::InTime.after_waiting_in_vain(asked);
        let second = first.after_waiting_in_vain(asked + LIMIT);
        assert_eq!(second.lateness().map(|late| late.since), Some(asked));
        assert_eq!(Standing::Gone.after_waiting_in_vain(asked), Standing::Gone);
        assert_eq!(Standing::InTime.lateness(), None);
    }

    /// A document is old after a minute.
    #[test]
    fn old_documents() {
        let now = Instant::now();
        let document = LastDocument {
            came: now,
            is_unseen: false,
            cut_off: None,
        };
        assert!(!document.is_old(now) && !document.is_old(now + limits::FRESH));
        assert!(document.is_old(now + limits::FRESH + Duration::from_millis(1)));
    }
}
