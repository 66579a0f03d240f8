//! The work of fetching: the thread with the loop, the threads that read files, and the sources that
//! they are given.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use super::complaints::Complaints;
use super::descriptors::Descriptors;
use super::document::{Document, Failure, Memory};
use super::peer::Peer;
use super::progress::Progress;
use super::target::Target;
use super::{http, local};
use crate::headroom;

/// The time that a thread waits for work.
const IDLE: Duration = Duration::from_secs(300);

/// The stack of a thread, in bytes.
const STACK: usize = 512 << 10;

/// The most threads that read files and unpack documents.
const THREADS: usize = 512;

/// The outcome of a fetch.
#[derive(Debug)]
pub struct Outcome {
    /// The number that the source was given.
    pub source: u32,
    /// The status of HTTP, 0 if it was not asked that way, and the document.
    pub result: Result<(u16, Document), Failure>,
    /// The time that it took.
    pub took: Duration,
    /// The time at which it ended.
    pub ended: Instant,
    /// True if there was no answer within the bound of the source.
    pub is_late: bool,
    /// The number of the request.
    pub(super) attempt: u64,
    /// The target of the request.
    pub(super) target: Arc<Target>,
}

/// A source that is fetched. If that ends without an outcome, it was by a panic, which costs this
/// source its values.
pub(super) struct Job {
    pub(super) source: u32,
    /// The number of the request.
    pub(super) attempt: u64,
    pub(super) target: Arc<Target>,
    /// The source's state at its servers, if it has an address.
    pub(super) peer: Option<Arc<Peer>>,
    pub(super) progress: Arc<Progress>,
    pub(super) begun: Instant,
    /// The time that it may take.
    pub(super) bound: Duration,
    pub(super) results: Option<Sender<Outcome>>,
}

impl Job {
    fn end(mut self, result: Result<(u16, Document), Failure>) {
        self.send(result);
    }

    pub(super) fn send(&mut self, result: Result<(u16, Document), Failure>) {
        if let Some(results) = self.results.take() {
            // Nobody waits any more when the agent ends.
            let _ = results.send(Outcome {
                source: self.source,
                attempt: self.attempt,
                target: Arc::clone(&self.target),
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

pub(super) fn failure(reason: impl Into<String>) -> Failure {
    Failure {
        status: 0,
        reason: reason.into(),
    }
}

/// The files that nobody has begun to read.
#[derive(Default)]
struct Files {
    waiting: VecDeque<Job>,
    /// Nobody is to read more of them.
    is_over: bool,
}

/// The thread that waits for addresses and programs, the one that reads files, and those that work
/// for both.
pub(super) struct Loop {
    pub(super) handle: Handle,
    shared: Arc<Shared>,
    /// Dropped, it ends.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loop {
    pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<Loop> {
        if !headroom::has_for_threads(2) {
            return Err(std::io::Error::other(headroom::NO_MEMORY));
        }
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
            // A disk that hangs is not waited for.
            runtime.shutdown_background();
        };
        let thread = |name: &str| thread::Builder::new().name(name.to_owned()).stack_size(STACK);
        let new = Loop {
            handle,
            shared: Arc::clone(shared),
            end: Some(end),
            thread: Some(thread("fetch").spawn(run)?),
        };
        shared.files.lock().is_over = false;
        let reader = Arc::clone(shared);
        // Nobody waits for the end of this thread either: a file may hang.
        thread("files").spawn(move || reader.read_files())?;
        Ok(new)
    }
}

/// Programs that still run are killed before the agent ends.
impl Drop for Loop {
    fn drop(&mut self) {
        *self.shared.files.lock() = Files {
            waiting: VecDeque::new(),
            is_over: true,
        };
        self.shared.file.notify_one();
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub(super) struct Shared {
    pub(super) client: OnceLock<http::Client>,
    memory: Arc<Memory>,
    complaints: Complaints,
    descriptors: Descriptors,
    files: Mutex<Files>,
    /// Wakes the thread that reads files.
    file: Condvar,
    /// The time that a source may take if its file names none.
    pub(super) bound: Duration,
}

impl Shared {
    pub(super) fn new(memory: Arc<Memory>, bound: Duration) -> Shared {
        Shared {
            client: OnceLock::new(),
            memory,
            complaints: Complaints::default(),
            descriptors: Descriptors::raise(),
            files: Mutex::default(),
            file: Condvar::new(),
            bound,
        }
    }

    fn client(&self) -> &http::Client {
        self.client.get_or_init(http::Client::of_the_environment)
    }

    /// A source's state at its servers, if it is fetched from an address. With another address it
    /// begins anew.
    pub(super) fn peer(&self, target: &Target, last: Option<Arc<Peer>>) -> Option<Arc<Peer>> {
        let Target::Http { url, secure, .. } = target else {
            return None;
        };
        let last = last.filter(|peer| peer.is_of(url, secure.as_ref()));
        Some(last.unwrap_or_else(|| self.client().peer(url, secure.as_ref())))
    }

    /// Has a file read.
    pub(super) fn read(&self, job: Job) {
        self.files.lock().waiting.push_back(job);
        self.file.notify_one();
    }

    /// Returns whether there are files that nobody has begun to read.
    pub(super) fn has_files(&self) -> bool {
        !self.files.lock().waiting.is_empty()
    }

    /// Reads files until the agent ends.
    fn read_files(&self) {
        loop {
            self.read_waiting();
            let mut files = self.files.lock();
            if files.is_over {
                return;
            }
            if files.waiting.is_empty() {
                self.file.wait(&mut files);
            }
        }
    }

    /// Reads files until none waits.
    pub(super) fn read_waiting(&self) {
        loop {
            let Some(job) = self.files.lock().waiting.pop_front() else {
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

    pub(super) async fn run(self: Arc<Shared>, job: Job) {
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
                let late = || {
                    let seconds = job.bound.as_secs_f64();
                    format!("{} within {seconds} s for url: {url}", job.progress.awaits())
                };
                within(job.bound, answer, late).await
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
