//! Fetches the documents of sources, all those of a request side by side.
//!
//! One thread has a loop in which all addresses and programs are waited for. Files are read by
//! another, and by more only while the disk of one hangs. A request waits for so long and then goes
//! on; what is not there yet is fetched on, so long, and is there for the next request.

mod address;
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
mod proxy;
mod secure;
mod stream;
mod tls;
mod url;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use complaints::Complaints;
use descriptors::Descriptors;
pub use document::{Document, Failure, Memory};
pub(crate) use http::is_header;
use peer::Peer;
pub use secure::{Secure, is_about_a_file};
pub use url::Url;

use crate::limits;
use crate::secret::Secret;

/// If no source has answered for so long, another thread reads files.
const STALL: Duration = Duration::from_millis(5);

/// How long a thread waits for work.
const IDLE: Duration = Duration::from_secs(300);

/// The stack of a thread, in bytes.
const STACK: usize = 512 << 10;

/// The most threads that read files, look up names of hosts, and unpack documents.
const THREADS: usize = 512;

/// Where a document comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// An address, with headers for the request.
    Http {
        /// The address.
        url: Url,
        /// Names and values.
        headers: Vec<(String, Secret)>,
        /// What connections with TLS have of their own.
        secure: Option<Arc<Secure>>,
    },
    /// A file of this host.
    File(PathBuf),
    /// A program, whose stdout it is.
    Script(PathBuf),
}

/// As the log shows it at level `debug`: of headers the names.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File(path) | Target::Script(path) => write!(out, "{}", path.display()),
            Target::Http { url, headers, .. } => {
                write!(out, "{url} HEADERS:")?;
                headers.iter().try_for_each(|(name, _)| write!(out, " {name}: ...;"))
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
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
    /// When it came.
    pub ended: Instant,
}

/// A source that is fetched. If that ends without an outcome, it was by a panic, which costs this
/// source its values.
struct Job {
    source: u32,
    target: Arc<Target>,
    /// What the source has at its servers, if it has an address.
    peer: Option<Arc<Peer>>,
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
                result,
                took: self.begun.elapsed(),
                ended: Instant::now(),
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
    /// What sources have at their servers.
    peers: HashMap<u32, Arc<Peer>>,
    /// Sources that are fetched.
    under_way: HashSet<u32>,
    /// Those of them that the request waits for.
    awaited: HashSet<u32>,
    until: Instant,
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
            peers: HashMap::new(),
            under_way: HashSet::new(),
            awaited: HashSet::new(),
            until: Instant::now(),
        }
    }

    /// What has come since the last request, one after the other.
    pub fn arrived(&mut self) -> Option<Outcome> {
        let outcome = self.results.try_recv().ok()?;
        self.come(&outcome);
        Some(outcome)
    }

    /// Whether a source is fetched already.
    #[must_use]
    pub fn is_under_way(&self, source: u32) -> bool {
        self.under_way.contains(&source)
    }

    /// Begins to fetch a source, unless that is under way. `bound` is how long it may take, if that
    /// is not as long as all may.
    pub fn begin(&mut self, source: u32, target: Arc<Target>, bound: Option<Duration>) {
        if !self.under_way.insert(source) {
            return;
        }
        let peer = self.peer(source, &target);
        let mut job = Job {
            source,
            target,
            peer,
            begun: Instant::now(),
            bound: bound.unwrap_or(self.shared.bound),
            results: Some(self.sender.clone()),
        };
        let work = match &mut self.work {
            Some(work) => work,
            none => match Loop::start() {
                Ok(work) => none.insert(work),
                Err(error) => {
                    job.send(Err(failure(format!("no thread for sources: {error}"))));
                    return;
                }
            },
        };
        if matches!(&*job.target, Target::File(_)) {
            let mut files = self.shared.files.lock();
            files.push_back(job);
            if files.len() > 1 {
                // Whoever reads the first takes this one, too.
                return;
            }
            drop(files);
            self.read_files();
        } else {
            work.handle.spawn(Arc::clone(&self.shared).run(job));
        }
    }

    /// Forgets what a source has at its servers: its file has gone.
    pub fn forget(&mut self, source: u32) {
        self.peers.remove(&source);
    }

    /// What a source has at its servers, if it is fetched from an address. With another address it
    /// begins anew.
    fn peer(&mut self, source: u32, target: &Target) -> Option<Arc<Peer>> {
        let Target::Http { url, secure, .. } = target else {
            self.peers.remove(&source);
            return None;
        };
        let known = self.peers.get(&source);
        if let Some(peer) = known.filter(|peer| peer.is_of(url, secure.as_ref())) {
            return Some(Arc::clone(peer));
        }
        let peer = self.shared.client().peer(url, secure.as_ref());
        self.peers.insert(source, Arc::clone(&peer));
        Some(peer)
    }

    /// Waits for these sources, at most so long, by [`Fetcher::next`].
    pub fn wait_for(&mut self, sources: impl IntoIterator<Item = u32>, limit: Duration) {
        self.awaited = sources
            .into_iter()
            .filter(|source| self.under_way.contains(source))
            .collect();
        self.until = Instant::now() + limit;
    }

    /// What becomes of sources, in the order in which they come; `None` when all that are waited
    /// for have come, or the time is over.
    pub fn next(&mut self) -> Option<Outcome> {
        while !self.awaited.is_empty() {
            let left = self.until.saturating_duration_since(Instant::now());
            let has_files = !self.shared.files.lock().is_empty();
            match self
                .results
                .recv_timeout(if has_files { left.min(STALL) } else { left })
            {
                Ok(outcome) => {
                    self.come(&outcome);
                    return Some(outcome);
                }
                Err(_) if left.is_zero() => return None,
                Err(RecvTimeoutError::Timeout) if has_files => self.read_files(),
                Err(_) => {}
            }
        }
        None
    }

    /// Sources that were waited for and have not come.
    #[must_use]
    pub fn late(&mut self) -> HashSet<u32> {
        std::mem::take(&mut self.awaited)
    }

    fn come(&mut self, outcome: &Outcome) {
        self.under_way.remove(&outcome.source);
        self.awaited.remove(&outcome.source);
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
            Target::Http { url, headers, secure } => {
                let client = self.client();
                let peer = job.peer.clone();
                let peer = peer.unwrap_or_else(|| client.peer(url, secure.as_ref()));
                let answer = client.get(&peer, headers, &self.memory);
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
mod tests;
