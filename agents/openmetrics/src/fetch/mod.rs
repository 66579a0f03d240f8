//! Fetches the documents of sources, all those of a request side by side.
//!
//! Threads take the sources one after the other. There are few, since most sources answer at once;
//! if none does for a while, each waiting source gets a thread. Whatever a source does, the request
//! goes on when the time is over.

mod document;
mod http;
mod local;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

pub use document::{Document, Failure, Memory};

/// Number of threads as long as no source hangs.
const FEW: usize = 4;

/// If no source has answered for so long, the number of threads doubles.
const STALL: Duration = Duration::from_millis(5);

/// How long a thread beyond the first few waits for work.
const IDLE: Duration = Duration::from_secs(10);

/// Time for a source with its own limit to tell what was wrong.
const GRACE: Duration = Duration::from_millis(50);

/// The stack of a thread, in bytes: for TLS and decompression.
const STACK: usize = 512 << 10;

/// Where a document comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// An address, with headers for the request.
    Http {
        /// The address.
        url: String,
        /// Names and values.
        headers: Vec<(String, String)>,
    },
    /// A file of this host.
    File(PathBuf),
    /// A program, whose stdout it is.
    Script(PathBuf),
}

/// As the log shows it at level `debug`, without credentials in headers.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File(path) | Target::Script(path) => write!(out, "{}", path.display()),
            Target::Http { url, headers } => {
                write!(out, "{url} HEADERS:")?;
                for (name, value) in headers {
                    let is_secret = ["authorization", "cookie", "token", "key"]
                        .iter()
                        .any(|word| name.to_ascii_lowercase().contains(word));
                    write!(out, " {name}: {};", if is_secret { "..." } else { value })?;
                }
                Ok(())
            }
        }
    }
}

/// What has become of a source.
#[derive(Debug)]
pub struct Outcome {
    /// The number that the source was given.
    pub source: u32,
    /// The status of HTTP, 0 if it was not asked that way, and the document.
    pub result: Result<(u16, Document), Failure>,
    /// How long it took.
    pub took: Duration,
}

struct Job {
    source: u32,
    target: Arc<Target>,
    round: u64,
    until: Instant,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    client: http::Client,
    memory: Arc<Memory>,
}

/// Fetches documents.
pub struct Fetcher {
    shared: Arc<Shared>,
    results: Receiver<(u64, Outcome)>,
    sender: Sender<(u64, Outcome)>,
    /// Counts requests.
    round: u64,
    /// The sources of the request that have not come yet.
    waiting: HashSet<u32>,
    /// What is known of the request's sources and was not handed over.
    known: Vec<Outcome>,
    begun: Instant,
    until: Instant,
    /// Sources that have not come back from an earlier request.
    late: HashSet<u32>,
}

impl Fetcher {
    /// One that has no thread yet.
    #[must_use]
    pub fn new(memory: Arc<Memory>) -> Fetcher {
        let (sender, results) = channel();
        let now = Instant::now();
        Fetcher {
            shared: Arc::new(Shared {
                queue: Mutex::default(),
                work: Condvar::new(),
                client: http::Client::default(),
                memory,
            }),
            results,
            sender,
            round: 0,
            waiting: HashSet::new(),
            known: Vec::new(),
            begun: now,
            until: now,
            late: HashSet::new(),
        }
    }

    /// Begins to fetch these sources, each of which has so much time.
    pub fn begin(&mut self, sources: impl IntoIterator<Item = (u32, Arc<Target>)>, limit: Duration) {
        self.round += 1;
        while let Ok((_, outcome)) = self.results.try_recv() {
            self.late.remove(&outcome.source);
        }
        self.waiting.clear();
        self.begun = Instant::now();
        self.until = self.begun + limit;
        let (round, until) = (self.round, self.until);
        let mut jobs = VecDeque::new();
        for (source, target) in sources {
            if self.late.contains(&source) {
                let outcome = late(source, "it still hangs in an earlier fetch", Duration::ZERO);
                self.known.push(outcome);
            } else if self.waiting.insert(source) {
                jobs.push_back(Job {
                    source,
                    target,
                    round,
                    until,
                });
            }
        }
        self.shared.queue.lock().jobs.append(&mut jobs);
        self.employ(FEW);
    }

    /// What becomes of the sources, in the order in which they come; `None` when all have come.
    pub fn next(&mut self) -> Option<Outcome> {
        while self.known.is_empty() && !self.waiting.is_empty() {
            let left = (self.until + GRACE).saturating_duration_since(Instant::now());
            match self.results.recv_timeout(left.min(STALL)) {
                Ok((of, outcome)) => {
                    self.late.remove(&outcome.source);
                    if of == self.round && self.waiting.remove(&outcome.source) {
                        return Some(outcome);
                    }
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => self.give_up(),
                Err(_) => {
                    let threads = self.shared.queue.lock().threads;
                    self.employ(threads.saturating_mul(2));
                }
            }
        }
        self.known.pop()
    }

    fn give_up(&mut self) {
        let not_begun: HashSet<u32> = self.shared.queue.lock().jobs.drain(..).map(|job| job.source).collect();
        for source in std::mem::take(&mut self.waiting) {
            if !not_begun.contains(&source) {
                self.late.insert(source);
            }
            self.known.push(late(source, "no answer in time", self.begun.elapsed()));
        }
    }

    /// Has threads do what is to be done, at most so many.
    fn employ(&self, most: usize) {
        let mut queue = self.shared.queue.lock();
        let wanted = queue.jobs.len();
        for _ in 0..wanted.min(queue.idle) {
            self.shared.work.notify_one();
        }
        let new = wanted
            .saturating_sub(queue.idle)
            .min(most.saturating_sub(queue.threads));
        for _ in 0..new {
            let (shared, results) = (Arc::clone(&self.shared), self.sender.clone());
            let thread = thread::Builder::new().name("fetch".to_owned()).stack_size(STACK);
            match thread.spawn(move || shared.work(&results)) {
                Ok(_) => queue.threads += 1,
                Err(error) => {
                    log::error!("no thread for a source: {error}");
                    break;
                }
            }
        }
    }
}

fn late(source: u32, reason: &str, took: Duration) -> Outcome {
    let reason = reason.to_owned();
    Outcome {
        source,
        result: Err(Failure { status: 0, reason }),
        took,
    }
}

impl Shared {
    fn work(&self, results: &Sender<(u64, Outcome)>) {
        while let Some(job) = self.next() {
            let begun = Instant::now();
            // A panic costs this source its values.
            let run = panic::catch_unwind(AssertUnwindSafe(|| self.run(&job)));
            let result = run.unwrap_or_else(|_| {
                Err(Failure {
                    status: 0,
                    reason: "a panic, see the log".to_owned(),
                })
            });
            let outcome = Outcome {
                source: job.source,
                result,
                took: begun.elapsed(),
            };
            if results.send((job.round, outcome)).is_err() {
                return;
            }
        }
    }

    /// The next source; `None` when there has been none for long.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            let is_over = self.work.wait_for(&mut queue, IDLE).timed_out();
            queue.idle -= 1;
            let is_needed = queue.threads <= FEW;
            if queue.is_closed || (is_over && !is_needed && queue.jobs.is_empty()) {
                queue.threads -= 1;
                return None;
            }
        }
    }

    fn run(&self, job: &Job) -> Result<(u16, Document), Failure> {
        let plain = |result: Result<Document, String>| {
            result
                .map(|document| (0, document))
                .map_err(|reason| Failure { status: 0, reason })
        };
        let left = job.until.saturating_duration_since(Instant::now());
        match &*job.target {
            Target::Http { url, headers } => self.client.get(url, headers, left, &self.memory),
            Target::File(path) => plain(local::file(path, &self.memory)),
            Target::Script(path) => plain(local::script(path, job.until, &self.memory)),
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.work.notify_all();
    }
}

#[cfg(test)]
mod tests;
