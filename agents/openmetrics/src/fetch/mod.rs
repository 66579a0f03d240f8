//! Fetches the documents of sources, all those of a request side by side.
//!
//! One thread has a loop in which all addresses and programs are waited for. Files are read by
//! another, and by more only while the disk of one hangs. A request waits for so long and then goes
//! on; what is not there yet is fetched on, so long, and is there for the next request.

mod address;
mod attempts;
mod coding;
mod complaints;
mod connect;
mod connection;
mod cookies;
mod descriptors;
mod document;
mod header_text;
mod http;
mod local;
mod netrc;
mod peer;
mod proof;
mod proxy;
mod resolver;
mod secure;
mod stream;
mod target;
mod tls;
mod url;

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use attempts::{Attempt, Attempts, End};
use complaints::Complaints;
use descriptors::Descriptors;
pub use document::{Document, Failure, Memory};
pub(crate) use http::is_header;
use peer::Peer;
pub use proof::Proof;
pub use secure::{Secure, is_about_a_file};
pub use target::Target;
pub use url::Url;

use crate::limits;

/// If no source has answered for so long, another thread reads files.
const STALL: Duration = Duration::from_millis(5);

/// How often the sources that are waited for are looked after, at least.
const LOOK: Duration = Duration::from_millis(100);

/// How long a thread waits for work.
const IDLE: Duration = Duration::from_secs(300);

/// The stack of a thread, in bytes.
const STACK: usize = 512 << 10;

/// The most threads that read files and unpack documents.
const THREADS: usize = 512;

/// What has become of a source.
#[derive(Debug)]
pub struct Outcome {
    /// The number that the source was given.
    pub source: u32,
    /// The status of HTTP, 0 if it was not asked that way, and the document.
    pub result: Result<(u16, Document), Failure>,
    /// How long it took.
    pub took: Duration,
    /// When it came.
    pub ended: Instant,
    /// Whether there was no answer within the bound of the source.
    pub is_late: bool,
    /// The number of the request.
    attempt: u64,
}

/// What is known of a source.
#[derive(Default)]
struct Known {
    /// What it has at its servers, if it has an address.
    peer: Option<Arc<Peer>>,
    attempts: Attempts,
}

/// A source that is fetched. If that ends without an outcome, it was by a panic, which costs this
/// source its values.
struct Job {
    source: u32,
    /// The number of the request.
    attempt: u64,
    target: Arc<Target>,
    /// What the source has at its servers, if it has an address.
    peer: Option<Arc<Peer>>,
    progress: Arc<http::Progress>,
    begun: Instant,
    /// How long it may take.
    bound: Duration,
    results: Option<Sender<Outcome>>,
}

impl Job {
    fn end(mut self, result: Result<(u16, Document), Failure>) {
        self.send(result);
    }

    fn send(&mut self, result: Result<(u16, Document), Failure>) {
        if let Some(results) = self.results.take() {
            // Nobody waits any more when the agent ends.
            let _ = results.send(Outcome {
                source: self.source,
                attempt: self.attempt,
                result,
                took: self.begun.elapsed(),
                ended: Instant::now(),
                is_late: self.begun.elapsed() >= self.bound,
            });
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.send(Err(failure("a panic, see the log")));
    }
}

fn failure(reason: impl Into<String>) -> Failure {
    Failure {
        status: 0,
        reason: reason.into(),
    }
}

struct Shared {
    client: OnceLock<http::Client>,
    memory: Arc<Memory>,
    complaints: Complaints,
    descriptors: Descriptors,
    /// Files that nobody has begun to read.
    files: Mutex<VecDeque<Job>>,
    /// How long a source may take that says nothing else.
    bound: Duration,
}

/// The thread that waits for addresses and programs, and those that work for it.
struct Loop {
    handle: Handle,
    /// Dropped, it ends.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loop {
    fn start() -> std::io::Result<Loop> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .thread_keep_alive(IDLE)
            .thread_stack_size(STACK)
            .thread_name("fetch")
            .build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let run = move || {
            let _ = runtime.block_on(ended);
            // A file that hangs is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new()
            .name("fetch".to_owned())
            .stack_size(STACK)
            .spawn(run)?;
        Ok(Loop {
            handle,
            end: Some(end),
            thread: Some(thread),
        })
    }
}

/// Programs that still run are killed before the agent ends.
impl Drop for Loop {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Fetches documents.
pub struct Fetcher {
    shared: Arc<Shared>,
    /// Started with the first source.
    work: Option<Loop>,
    results: Receiver<Outcome>,
    sender: Sender<Outcome>,
    sources: HashMap<u32, Known>,
    /// The number of the last request.
    attempts: u64,
    /// Sources that are waited for, and until when.
    awaited: HashMap<u32, Instant>,
    /// Sources that were waited for in vain.
    late: HashSet<u32>,
    /// Sources that were asked once more meanwhile.
    asked_again: Vec<u32>,
    /// When the awaited ones are looked after.
    tick: Instant,
}

impl Fetcher {
    /// One that has no thread yet.
    #[must_use]
    pub fn new(memory: Arc<Memory>) -> Fetcher {
        Fetcher::bounded(memory, limits::BACKGROUND)
    }

    /// One that gives a source no more time than this.
    #[must_use]
    pub fn bounded(memory: Arc<Memory>, bound: Duration) -> Fetcher {
        let (sender, results) = channel();
        Fetcher {
            shared: Arc::new(Shared {
                client: OnceLock::new(),
                memory,
                complaints: Complaints::default(),
                descriptors: Descriptors::raise(),
                files: Mutex::default(),
                bound,
            }),
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

    /// What has come since the last request, one after the other.
    pub fn arrived(&mut self) -> Option<Outcome> {
        loop {
            let outcome = self.results.try_recv().ok()?;
            if self.come(&outcome) {
                return Some(outcome);
            }
        }
    }

    /// Whether a request that needs a source fetches it now: nothing is under way, or that is for
    /// too long.
    #[must_use]
    pub fn may_begin(&self, source: u32) -> bool {
        let known = self.sources.get(&source);
        known.is_none_or(|known| known.attempts.may_begin(Instant::now()))
    }

    /// How long a source may be silent before it is asked once more; zero if it has never had a
    /// document.
    #[must_use]
    pub fn patience(&self, source: u32) -> Duration {
        let known = self.sources.get(&source);
        known.and_then(|known| known.attempts.patience()).unwrap_or_default()
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
        let known = self.sources.entry(source).or_default();
        known.peer = self.shared.peer(&target, known.peer.take());
        let mut attempt = Attempt {
            number: self.attempts,
            target: Arc::clone(&target),
            begun: Instant::now(),
            bound,
            progress: Arc::default(),
            task: None,
        };
        let mut job = Job {
            source,
            attempt: attempt.number,
            target,
            peer: known.peer.clone(),
            progress: Arc::clone(&attempt.progress),
            begun: attempt.begun,
            bound,
            results: Some(self.sender.clone()),
        };
        let work = match &mut self.work {
            Some(work) => work,
            none => match Loop::start() {
                Ok(work) => none.insert(work),
                Err(error) => {
                    known.attempts.add(attempt);
                    job.send(Err(failure(format!("no thread for sources: {error}"))));
                    return;
                }
            },
        };
        if !matches!(&*job.target, Target::File(_)) {
            let task = work.handle.spawn(Arc::clone(&self.shared).run(job));
            attempt.task = Some(task.abort_handle());
            known.attempts.add(attempt);
            return;
        }
        known.attempts.add(attempt);
        let mut files = self.shared.files.lock();
        files.push_back(job);
        let is_read = files.len() > 1;
        drop(files);
        // Whoever reads the first takes the others, too.
        if !is_read {
            self.read_files();
        }
    }

    /// Forgets a source, whose file has gone.
    pub fn forget(&mut self, source: u32) {
        self.sources.remove(&source);
    }

    /// Waits for sources, for each at most so long, by [`Fetcher::next`].
    pub fn wait_for(&mut self, sources: impl IntoIterator<Item = (u32, Duration)>) {
        let now = Instant::now();
        let is_under_way = |source: &u32| {
            let known = self.sources.get(source);
            known.is_some_and(|known| known.attempts.are_under_way())
        };
        self.awaited = sources
            .into_iter()
            .filter(|(source, _)| is_under_way(source))
            .map(|(source, limit)| (source, now + limit))
            .collect();
        self.late.clear();
        self.tick = now;
    }

    /// What becomes of sources, in the order in which they come; `None` when all that are waited
    /// for have come, or their time is over.
    pub fn next(&mut self) -> Option<Outcome> {
        while !self.awaited.is_empty() {
            let left = self.tick.saturating_duration_since(Instant::now());
            let has_files = !self.shared.files.lock().is_empty();
            match self
                .results
                .recv_timeout(if has_files { left.min(STALL) } else { left })
            {
                Ok(outcome) if self.come(&outcome) => return Some(outcome),
                Ok(_) => {}
                Err(_) if left.is_zero() => self.look_after_awaited(),
                Err(RecvTimeoutError::Timeout) if has_files => self.read_files(),
                Err(_) => {}
            }
        }
        None
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
            let known = self.sources.get(source);
            match known.and_then(|known| known.attempts.again_at(*until)) {
                Some(again) if again <= now => silent.push(*source),
                Some(again) => tick = tick.min(again),
                None => {}
            }
            true
        });
        self.tick = tick;
        for source in silent {
            let first = self.sources.get(&source).and_then(|known| known.attempts.first());
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
        let Some(known) = self.sources.get_mut(&outcome.source) else {
            return false;
        };
        let document = outcome.result.is_ok().then_some(outcome.took);
        let is_final = outcome.result.as_ref().err().is_some_and(|failure| failure.status != 0);
        let End::Answer { is_other_dead } = known.attempts.end(outcome.attempt, document, is_final) else {
            return false;
        };
        if let (true, Some(peer)) = (is_other_dead, &known.peer) {
            peer.find_dead();
        }
        self.awaited.remove(&outcome.source);
        true
    }

    /// Has one more thread read files, until there are none.
    fn read_files(&self) {
        let Some(work) = &self.work else { return };
        let shared = Arc::clone(&self.shared);
        work.handle.spawn_blocking(move || shared.read_files());
    }
}

impl Shared {
    fn client(&self) -> &http::Client {
        self.client.get_or_init(http::Client::of_the_environment)
    }

    /// What a source has at its servers, if it is fetched from an address. With another address it
    /// begins anew.
    fn peer(&self, target: &Target, known: Option<Arc<Peer>>) -> Option<Arc<Peer>> {
        let Target::Http { url, secure, .. } = target else {
            return None;
        };
        let known = known.filter(|peer| peer.is_of(url, secure.as_ref()));
        Some(known.unwrap_or_else(|| self.client().peer(url, secure.as_ref())))
    }

    fn read_files(&self) {
        loop {
            let Some(job) = self.files.lock().pop_front() else {
                return;
            };
            let result = match &*job.target {
                Target::File(path) => panic::catch_unwind(AssertUnwindSafe(|| local::file(path, &self.memory))),
                _ => Ok(Err("no file".to_owned())),
            };
            // A panic is told by the job's end.
            if let Ok(result) = result {
                job.end(result.map(|document| (0, document)).map_err(failure));
            }
        }
    }

    async fn run(self: Arc<Shared>, job: Job) {
        let result = match &*job.target {
            Target::Http {
                url,
                headers,
                proof,
                secure,
            } => {
                let client = self.client();
                let peer = job.peer.clone();
                let peer = peer.unwrap_or_else(|| client.peer(url, secure.as_ref()));
                let answer = client.get(&peer, headers, proof.as_deref(), &self.memory, &job.progress);
                within(job.bound, answer, || format!("no answer in time from {url}")).await
            }
            Target::Script(path) => {
                let run = async {
                    let document = local::script(path, &self.memory, &self.complaints, &self.descriptors).await;
                    document.map(|document| (0, document)).map_err(failure)
                };
                within(job.bound, run, || {
                    format!("Command '{}' has not ended in time and was killed", path.display())
                })
                .await
            }
            Target::File(path) => local::file(path, &self.memory)
                .map(|document| (0, document))
                .map_err(failure),
        };
        job.end(result);
    }
}

async fn within<T>(
    bound: Duration,
    work: impl Future<Output = Result<T, Failure>>,
    late: impl Fn() -> String,
) -> Result<T, Failure> {
    let done = tokio::time::timeout(bound, work).await;
    done.unwrap_or_else(|_| Err(failure(late())))
}

#[cfg(test)]
pub(crate) mod tests;
