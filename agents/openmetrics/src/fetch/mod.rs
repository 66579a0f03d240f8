//! Fetches the documents of sources, all documents of a request side by side.
//!
//! `network` asks addresses, `local` reads files and runs scripts, and `schedule` says who is asked when.
//!
//! One thread waits in a loop for all addresses and programs. Another thread reads files; more
//! threads read files only while the disk of one hangs. A request waits up to a time limit. The
//! fetch of a late document goes on up to a longer limit, and its document is for the next request.

mod descriptors;
mod document;
mod local;
mod network;
mod progress;
mod schedule;
mod target;
mod thread;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

pub use document::{Document, Failure, Memory};
pub(crate) use network::http::is_header;
use network::peer::Peer;
pub use network::proof::Proof;
pub use network::secure::{Secure, is_about_a_file};
pub use network::url::Url;
pub use progress::Awaits;
pub use schedule::aside::Aside;
use schedule::attempts::{Attempt, Attempts, End};
pub use schedule::work::Outcome;
use schedule::work::{AddressJob, FileJob, Loop, Report, ScriptJob, Shared, failure};
pub use target::Target;

use crate::{headroom, limits};

/// If no source has answered for so long, another thread reads files.
const STALL: Duration = Duration::from_millis(5);

/// The greatest interval at which awaited sources are checked.
const LOOK: Duration = Duration::from_millis(100);

/// The fetches of one source.
#[derive(Default)]
struct SourceFetches {
    /// Its state at its servers, if it has an address.
    peer: Option<Arc<Peer>>,
    attempts: Attempts,
}

/// Fetches documents.
pub struct Fetcher {
    shared: Arc<Shared>,
    /// Started with the first source.
    work: Option<Loop>,
    results: Receiver<Outcome>,
    sender: Sender<Outcome>,
    sources: HashMap<u32, SourceFetches>,
    /// The number of the last request.
    attempts: u64,
    /// Sources that are waited for, and until when.
    awaited: HashMap<u32, Instant>,
    /// Sources that were waited for in vain.
    late: HashSet<u32>,
    /// Sources that were asked once more meanwhile.
    asked_again: Vec<u32>,
    /// The time at which the awaited sources are checked next.
    tick: Instant,
}

impl Fetcher {
    /// A fetcher without a thread yet.
    #[must_use]
    pub fn new(memory: Arc<Memory>) -> Fetcher {
        Fetcher::bounded(memory, limits::BACKGROUND)
    }

    /// A fetcher that gives a source no more time than `bound`.
    #[must_use]
    pub fn bounded(memory: Arc<Memory>, bound: Duration) -> Fetcher {
        let (sender, results) = channel();
        Fetcher {
            shared: Arc::new(Shared::new(memory, bound)),
            work: None,
            results,
            sender,
            sources: HashMap::new(),
            attempts: 0,
            awaited: HashMap::new(),
            late: HashSet::new(),
            asked_again: Vec::new(),
            tick: Instant::now(),
        }
    }

    /// The outcomes since the last request, one after the other.
    pub fn arrived(&mut self) -> Option<Outcome> {
        loop {
            let outcome = self.results.try_recv().ok()?;
            if self.come(&outcome) {
                return Some(outcome);
            }
        }
    }

    /// Returns whether a request that needs a source fetches it now: nothing is under way, or that
    /// is for too long.
    #[must_use]
    pub fn may_begin(&self, source: u32) -> bool {
        let fetches = self.sources.get(&source);
        fetches.is_none_or(|fetches| fetches.attempts.may_begin(Instant::now()))
    }

    /// The time that a source may be silent before it is asked once more.
    #[must_use]
    pub fn patience(&self, source: u32) -> Duration {
        let fetches = self.sources.get(&source);
        fetches.map_or(Duration::ZERO, |fetches| fetches.attempts.patience())
    }

    /// What a source is waiting for.
    #[must_use]
    pub fn awaits(&self, source: u32) -> Awaits {
        let fetches = self.sources.get(&source);
        fetches.map_or(Awaits::Answer, |fetches| fetches.attempts.awaits())
    }

    /// Begins to fetch a source, unless [`Fetcher::may_begin`] says no. `bound` is how long it may
    /// take, if that is not as long as all may.
    pub fn begin(&mut self, source: u32, target: Arc<Target>, bound: Option<Duration>) {
        if self.may_begin(source) {
            self.ask(source, target, bound.unwrap_or(self.shared.bound));
        }
    }

    fn ask(&mut self, source: u32, target: Arc<Target>, bound: Duration) {
        self.attempts += 1;
        let fetches = self.sources.entry(source).or_default();
        let attempt = Attempt {
            number: self.attempts,
            target: Arc::clone(&target),
            begun: Instant::now(),
            bound,
            progress: Arc::default(),
            task: None,
        };
        let report = Report {
            source,
            attempt: attempt.number,
            target,
            begun: attempt.begun,
            bound,
            results: Some(self.sender.clone()),
        };
        let (progress, target) = (Arc::clone(&attempt.progress), Arc::clone(&attempt.target));
        let attempt = fetches.attempts.add(attempt);
        let work = match &mut self.work {
            Some(work) => work,
            none => match Loop::start(&self.shared) {
                Ok(work) => none.insert(work),
                Err(error) => return report.send(Err(failure(format!("no thread for sources: {error}")))),
            },
        };
        let shared = Arc::clone(&self.shared);
        let last = fetches.peer.take();
        match &*target {
            Target::File(path) => self.shared.read(FileJob {
                report,
                path: path.clone(),
            }),
            Target::Script(path) => {
                let path = path.clone();
                attempt.task = Some(work.spawn(shared.run(ScriptJob { report, path })));
            }
            Target::Http {
                url,
                headers,
                proof,
                secure,
            } => {
                let peer = shared.peer(url, secure.as_ref(), last);
                fetches.peer = Some(Arc::clone(&peer));
                attempt.task = Some(work.spawn(shared.ask(AddressJob {
                    report,
                    peer,
                    headers: headers.clone(),
                    proof: proof.clone(),
                    progress,
                })));
            }
        }
    }

    /// Forgets a source whose file was removed.
    pub fn forget(&mut self, source: u32) {
        self.sources.remove(&source);
    }

    /// Waits for sources, for each at most so long, by [`Fetcher::next`].
    pub fn wait_for(&mut self, sources: impl IntoIterator<Item = (u32, Duration)>) {
        let now = Instant::now();
        let is_under_way = |source: &u32| {
            let fetches = self.sources.get(source);
            fetches.is_some_and(|fetches| fetches.attempts.are_under_way())
        };
        self.awaited = sources
            .into_iter()
            .filter(|(source, _)| is_under_way(source))
            .map(|(source, limit)| (source, now + limit))
            .collect();
        self.late.clear();
        self.tick = now;
    }

    /// The outcomes of sources, in the order in which they arrive; `None` when all awaited sources
    /// have one, or their time is over, and at the time `until`.
    pub fn next(&mut self, until: Option<Instant>) -> Option<Outcome> {
        while !self.awaited.is_empty() {
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return None;
            }
            let left = self.tick.saturating_duration_since(now);
            let has_files = self.shared.has_files();
            let mut time = until.map_or(left, |until| left.min(until - now));
            if has_files {
                time = time.min(STALL);
            }
            match self.results.recv_timeout(time) {
                Ok(outcome) if self.come(&outcome) => return Some(outcome),
                Ok(_) => {}
                Err(_) if left.is_zero() => self.look_after_awaited(),
                Err(RecvTimeoutError::Timeout) if has_files => self.read_beside(),
                Err(_) => {}
            }
        }
        None
    }

    /// Waits no more for sources that have not come.
    pub fn stop_waiting(&mut self) {
        self.late.extend(self.awaited.drain().map(|(source, _)| source));
    }

    /// Waits no more for sources whose time is over, and asks those once more whose connection is
    /// silent.
    fn look_after_awaited(&mut self) {
        let now = Instant::now();
        let mut tick = now + LOOK;
        let mut silent = Vec::new();
        self.awaited.retain(|source, until| {
            if *until <= now {
                self.late.insert(*source);
                return false;
            }
            tick = tick.min(*until);
            let fetches = self.sources.get(source);
            match fetches.and_then(|fetches| fetches.attempts.again_at(*until)) {
                Some(again) if again <= now => silent.push(*source),
                Some(again) => tick = tick.min(again),
                None => {}
            }
            true
        });
        self.tick = tick;
        for source in silent {
            let first = self.sources.get(&source).and_then(|fetches| fetches.attempts.first());
            if let Some((target, bound)) = first {
                log::debug!("source {source} is silent and is asked on another connection: {target}");
                self.ask(source, target, bound);
                self.asked_again.push(source);
            }
        }
    }

    /// Sources that were waited for and have not come.
    #[must_use]
    pub fn late(&mut self) -> HashSet<u32> {
        std::mem::take(&mut self.late)
    }

    /// Sources that were asked once more while they were waited for.
    #[must_use]
    pub fn asked_again(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.asked_again)
    }

    /// Takes note of what has become of a request. False if it does not count: the source was
    /// forgotten, or another request of it has or may have an answer.
    fn come(&mut self, outcome: &Outcome) -> bool {
        let Some(fetches) = self.sources.get_mut(&outcome.source) else {
            return false;
        };
        let document = outcome.result.is_ok().then_some(outcome.took);
        let is_final = outcome.result.as_ref().err().is_some_and(|failure| failure.status != 0);
        let End::Answer { is_other_dead } = fetches.attempts.end(outcome.attempt, document, is_final) else {
            return false;
        };
        if let (true, Some(peer)) = (is_other_dead, &fetches.peer) {
            peer.find_dead();
        }
        self.awaited.remove(&outcome.source);
        true
    }

    /// Has one more thread read the files that wait, beside one whose disk hangs.
    fn read_beside(&self) {
        let Some(work) = self.work.as_ref().filter(|_| headroom::has_for_threads(1)) else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        work.handle.spawn_blocking(move || shared.read_waiting());
    }
}

#[cfg(test)]
pub(crate) mod tests;
