//! The requests of a source that are under way: stuck is not slow.
//!
//! A request may have no answer for reasons that are not its source's: a relay has forgotten the
//! kept connection, or one worker of the server hangs. So a source that is silent for longer than
//! it usually takes is asked once more, on another connection, and the first answer counts. A
//! source that is known to be that slow is waited for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use crate::fetch::progress::{Awaits, Progress};
use crate::fetch::target::Target;

/// The least time without an answer after which a source is asked once more.
const PATIENCE: Duration = Duration::from_millis(200);

/// The factor above the usual time from which a request takes too long.
const TOO_LONG: u32 = 4;

/// The weight of the last document in what is usual, as one part of so many.
const WEIGHT: u32 = 8;

/// A request to a source. Dropping it gives the request up.
pub(in crate::fetch) struct Attempt {
    /// Its number among all requests.
    pub number: u64,
    /// The target of the request.
    pub target: Arc<Target>,
    /// The time at which it was sent.
    pub begun: Instant,
    /// The time that it may take.
    pub bound: Duration,
    /// The progress of the request.
    pub progress: Arc<Progress>,
    /// The task of the request; `None` for a file, which a thread reads.
    pub task: Option<AbortHandle>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The meaning of a request's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fetch) enum End {
    /// The request was given up before, or has failed while another request may still be answered.
    Nothing,
    /// The request has the answer of the source; the source's other requests are given up.
    Answer {
        /// True if the request has overtaken one that was silent on a kept connection.
        is_other_dead: bool,
    },
}

/// The requests of a source that are under way, and how long its documents usually take.
#[derive(Default)]
pub(in crate::fetch) struct Attempts {
    usual: Option<Duration>,
    /// Two at most. The older is left alone: a source that is slower than two intervals would never
    /// have values.
    under_way: Vec<Attempt>,
}

impl Attempts {
    /// Returns whether any is under way.
    pub fn are_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// The time that the source may be silent before it is asked once more.
    pub fn patience(&self) -> Duration {
        self.usual.map_or(PATIENCE, |usual| PATIENCE.max(usual * TOO_LONG))
    }

    /// What the source is waiting for: of two requests, the one that has come further.
    pub fn awaits(&self) -> Awaits {
        let under_way = self.under_way.iter().map(|attempt| attempt.progress.awaits());
        under_way.max_by_key(Awaits::stage).unwrap_or(Awaits::Answer)
    }

    /// Returns whether a request that needs the source asks it now: nothing is under way, or that
    /// is for too long. Scripts never run twice at a time.
    pub fn may_begin(&self, now: Instant) -> bool {
        self.under_way.last().is_none_or(|last| {
            matches!(*last.target, Target::Http { .. }) && now.saturating_duration_since(last.begun) >= self.patience()
        })
    }

    /// The time at which the source is asked once more although a request waits for it until
    /// `until`: its first request is silent on a kept connection. Half of the time is left for the
    /// second request.
    pub fn again_at(&self, until: Instant) -> Option<Instant> {
        let [one] = &self.under_way[..] else { return None };
        let half = until.saturating_duration_since(one.begun) / 2;
        let is_usual = one.progress.is_silent() && self.usual? < half;
        is_usual.then_some(one.begun + self.patience().min(half))
    }

    /// Adds a request, which is returned. Those for another target are given up, and the younger of
    /// two.
    pub fn add(&mut self, attempt: Attempt) -> &mut Attempt {
        self.under_way.retain(|other| other.target == attempt.target);
        self.under_way.truncate(1);
        let last = self.under_way.len();
        self.under_way.insert(last, attempt);
        &mut self.under_way[last]
    }

    /// The target and the bound of the request that is under way for longest.
    pub fn first(&self) -> Option<(Arc<Target>, Duration)> {
        let first = self.under_way.first()?;
        Some((Arc::clone(&first.target), first.bound))
    }

    /// Takes note that a request has ended: after this time with a document, or without, in which
    /// case `is_final` tells whether the server has answered.
    pub fn end(&mut self, number: u64, document: Option<Duration>, is_final: bool) -> End {
        let Some(position) = self.under_way.iter().position(|attempt| attempt.number == number) else {
            return End::Nothing;
        };
        // Its task sends what has become of it, and ends by itself.
        self.under_way.remove(position).task.take();
        if let Some(took) = document {
            let usual = self.usual.unwrap_or(took);
            self.usual = Some(usual - usual / WEIGHT + took / WEIGHT);
        } else if !is_final && self.are_under_way() {
            return End::Nothing;
        }
        let is_silent = |other: &Attempt| other.progress.is_silent();
        let is_other_dead = document.is_some() && self.under_way.first().is_some_and(is_silent);
        self.under_way.clear();
        End::Answer { is_other_dead }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::network::url::Url;

    const MS: Duration = Duration::from_millis(1);

    fn http(url: &str) -> Arc<Target> {
        Arc::new(Target::Http {
            url: Url::new(url),
            headers: Vec::new(),
            proof: None,
            secure: None,
        })
    }

    fn attempt(number: u64, target: &Arc<Target>, begun: Instant) -> Attempt {
        Attempt {
            number,
            target: Arc::clone(target),
            begun,
            bound: MS * 60_000,
            progress: Arc::default(),
            task: None,
        }
    }

    fn numbers(attempts: &Attempts) -> Vec<u64> {
        attempts.under_way.iter().map(|attempt| attempt.number).collect()
    }

    /// A source that takes this long, and has one request under way.
    fn usual(time: Duration, begun: Instant) -> Attempts {
        let mut attempts = Attempts::default();
        attempts.add(attempt(1, &http("http://h/"), begun));
        assert_eq!(attempts.end(1, Some(time), true), End::Answer { is_other_dead: false });
        attempts.add(attempt(2, &http("http://h/"), begun));
        attempts
    }

    /// A request that is late is followed by another one, unless the source is known to be slow.
    #[test]
    fn when_a_source_is_asked_again() {
        let now = Instant::now();
        assert!(Attempts::default().may_begin(now));
        for (time, patience) in [
            (MS, 200 * MS),
            (50 * MS, 200 * MS),
            (100 * MS, 400 * MS),
            (5000 * MS, 20_000 * MS),
        ] {
            let attempts = usual(time, now);
            assert_eq!(attempts.patience(), patience);
            assert!(
                !attempts.may_begin(now + patience - MS) && attempts.may_begin(now + patience),
                "{time:?}"
            );
        }
        // A source that has never answered.
        let mut attempts = Attempts::default();
        attempts.add(attempt(1, &http("http://h/"), now));
        assert!(!attempts.may_begin(now + PATIENCE - MS) && attempts.may_begin(now + PATIENCE));
        // Files and scripts are waited for.
        for target in [Target::File("/x".into()), Target::Script("/x".into())] {
            let mut attempts = Attempts::default();
            attempts.add(attempt(1, &Arc::new(target), now));
            assert!(!attempts.may_begin(now + MS * 3_600_000));
        }
    }

    /// While a request waits, only one on a kept connection is followed by another, in time for its
    /// answer.
    #[test]
    fn when_a_silent_connection_is_passed_by() {
        let now = Instant::now();
        let until = now + 2000 * MS;
        for (time, again) in [
            (MS, Some(200)),
            (100 * MS, Some(400)),
            (999 * MS, Some(1000)),
            (1000 * MS, None),
        ] {
            let mut attempts = usual(time, now);
            assert_eq!(attempts.again_at(until), None, "no kept connection");
            attempts.under_way[0].progress.set_silent(true);
            assert_eq!(
                attempts.again_at(until),
                again.map(|again| now + MS * again),
                "{time:?}"
            );
            attempts.add(attempt(3, &http("http://h/"), now));
            assert_eq!(attempts.again_at(until), None, "there are two");
        }
    }

    /// Two are under way at most, and the older stays; those for another address go.
    #[test]
    fn two_at_a_time() {
        let now = Instant::now();
        let mut attempts = usual(MS, now);
        for number in 3..6 {
            attempts.add(attempt(number, &http("http://h/"), now));
            assert_eq!(numbers(&attempts), [2, number]);
        }
        attempts.add(attempt(6, &http("http://other/"), now));
        assert_eq!(numbers(&attempts), [6]);
    }

    /// The first answer counts; a failure alone counts only when it is the server's or the last.
    #[test]
    fn what_counts() {
        let now = Instant::now();
        let two = || {
            let mut attempts = usual(MS, now);
            attempts.add(attempt(3, &http("http://h/"), now));
            attempts
        };
        let answer = |is_other_dead| End::Answer { is_other_dead };
        let mut attempts = two();
        assert_eq!(attempts.end(9, Some(MS), true), End::Nothing);
        assert_eq!(attempts.end(3, None, false), End::Nothing, "it was refused");
        assert_eq!(numbers(&attempts), [2]);
        assert_eq!(attempts.end(2, None, false), answer(false));
        for number in [2, 3] {
            let mut attempts = two();
            assert_eq!(attempts.end(number, None, true), answer(false), "such as 404");
            assert!(!attempts.are_under_way());
        }
        let mut attempts = two();
        attempts.under_way[0].progress.set_silent(true);
        assert_eq!(attempts.end(3, Some(MS), true), answer(true));
        assert!(!attempts.are_under_way());
    }

    /// One document that took long does not make a source slow, several do.
    #[test]
    fn what_is_usual() {
        let now = Instant::now();
        let mut attempts = usual(8 * MS, now);
        let mut take = |time: Duration| {
            attempts.end(2, Some(time), true);
            attempts.add(attempt(2, &http("http://h/"), now));
            attempts.usual.expect("there were documents")
        };
        assert_eq!(take(1008 * MS), 133 * MS);
        assert!(take(8 * MS) < 133 * MS);
        let last = (0..40).map(|_| take(1000 * MS)).last();
        assert!(last > Some(990 * MS), "{last:?}");
    }
}
