//! The work of fetching: the thread with the loop, the threads that read files, and the sources that
//! they are given.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::fetch::descriptors::Descriptors;
use crate::fetch::document::{Document, Failure, Memory};
use crate::fetch::local;
use crate::fetch::local::complaints::Complaints;
use crate::fetch::network::http;
use crate::fetch::network::peer::Peer;
use crate::fetch::network::proof::Proof;
use crate::fetch::network::secure::Secure;
use crate::fetch::network::url::Url;
use crate::fetch::progress::Progress;
use crate::fetch::target::Target;
use crate::headroom;
use crate::secret::Secret;

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
    pub(in crate::fetch) attempt: u64,
    /// The target of the request.
    pub(in crate::fetch) target: Arc<Target>,
}

/// The report on a fetch, which is owed. Dropped without an outcome, the fetch has ended by a panic,
/// which costs its source the values.
pub(in crate::fetch) struct Report {
    pub(in crate::fetch) source: u32,
    /// The number of the request.
    pub(in crate::fetch) attempt: u64,
    pub(in crate::fetch) target: Arc<Target>,
    pub(in crate::fetch) begun: Instant,
    /// The time that it may take.
    pub(in crate::fetch) bound: Duration,
    pub(in crate::fetch) results: Option<Sender<Outcome>>,
}

impl Report {
    pub(in crate::fetch) fn send(mut self, result: Result<(u16, Document), Failure>) {
        self.send_once(result);
    }

    fn send_once(&mut self, result: Result<(u16, Document), Failure>) {
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

impl Drop for Report {
    fn drop(&mut self) {
        self.send_once(Err(failure("a panic, see the log")));
    }
}

/// A file to be read, by a thread that may wait for a disk.
pub(in crate::fetch) struct FileJob {
    pub(in crate::fetch) report: Report,
    pub(in crate::fetch) path: PathBuf,
}

/// An address to be asked, in the loop.
pub(in crate::fetch) struct AddressJob {
    pub(in crate::fetch) report: Report,
    /// The source's state at its servers.
    pub(in crate::fetch) peer: Arc<Peer>,
    pub(in crate::fetch) headers: Vec<(String, Secret)>,
    pub(in crate::fetch) proof: Option<Arc<Proof>>,
    pub(in crate::fetch) progress: Arc<Progress>,
}

/// A script to be run, in the loop.
pub(in crate::fetch) struct ScriptJob {
    pub(in crate::fetch) report: Report,
    pub(in crate::fetch) path: PathBuf,
}

pub(in crate::fetch) fn failure(reason: impl Into<String>) -> Failure {
    Failure {
        status: 0,
        reason: reason.into(),
    }
}

/// The files that nobody has begun to read.
#[derive(Default)]
struct Files {
    waiting: VecDeque<FileJob>,
    /// Nobody is to read more of them.
    is_over: bool,
}

/// The thread that waits for addresses and programs, the one that reads files, and those that work
/// for both.
pub(in crate::fetch) struct Loop {
    pub(in crate::fetch) handle: Handle,
    shared: Arc<Shared>,
    /// Dropped, it ends.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loop {
    pub(in crate::fetch) fn start(shared: &Arc<Shared>) -> std::io::Result<Loop> {
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

impl Loop {
    /// Begins a task. Returns the handle by which it is given up.
    pub(in crate::fetch) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle.spawn(task).abort_handle()
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

pub(in crate::fetch) struct Shared {
    pub(in crate::fetch) client: OnceLock<http::Client>,
    memory: Arc<Memory>,
    complaints: Complaints,
    descriptors: Descriptors,
    files: Mutex<Files>,
    /// Wakes the thread that reads files.
    file: Condvar,
    /// The time that a source may take if its file names none.
    pub(in crate::fetch) bound: Duration,
}

impl Shared {
    pub(in crate::fetch) fn new(memory: Arc<Memory>, bound: Duration) -> Shared {
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

    /// A source's state at its servers. With another address it begins anew.
    pub(in crate::fetch) fn peer(&self, url: &Url, secure: Option<&Arc<Secure>>, last: Option<Arc<Peer>>) -> Arc<Peer> {
        let last = last.filter(|peer| peer.is_of(url, secure));
        last.unwrap_or_else(|| self.client().peer(url, secure))
    }

    /// Has a file read.
    pub(in crate::fetch) fn read(&self, job: FileJob) {
        self.files.lock().waiting.push_back(job);
        self.file.notify_one();
    }

    /// Returns whether there are files that nobody has begun to read.
    pub(in crate::fetch) fn has_files(&self) -> bool {
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
    pub(in crate::fetch) fn read_waiting(&self) {
        loop {
            let Some(job) = self.files.lock().waiting.pop_front() else {
                return;
            };
            let FileJob { report, path } = job;
            let read = panic::catch_unwind(AssertUnwindSafe(|| local::file(&path, &self.memory)));
            // A panic is told by the end of the report.
            if let Ok(read) = read {
                report.send(read.map(|document| (0, document)).map_err(failure));
            }
        }
    }

    /// Asks an address.
    pub(in crate::fetch) async fn ask(self: Arc<Shared>, job: AddressJob) {
        let AddressJob {
            report,
            peer,
            headers,
            proof,
            progress,
        } = job;
        let answer = self
            .client()
            .get(&peer, &headers, proof.as_deref(), &self.memory, &progress);
        let late = || {
            let seconds = report.bound.as_secs_f64();
            format!("{} within {seconds} s for url: {}", progress.awaits(), peer.url)
        };
        let result = within(report.bound, answer, late).await;
        report.send(result);
    }

    /// Runs a script.
    pub(in crate::fetch) async fn run(self: Arc<Shared>, job: ScriptJob) {
        let ScriptJob { report, path } = job;
        let run = async {
            let document = local::script(&path, &self.memory, &self.complaints, &self.descriptors).await;
            document.map(|document| (0, document)).map_err(failure)
        };
        let late = || format!("Command '{}' has not ended in time and was killed", path.display());
        let result = within(report.bound, run, late).await;
        report.send(result);
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
