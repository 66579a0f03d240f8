//! The sources with one server, of which some serve one connection at a time: a connection that one
//! source keeps would bar all others.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::address::Origin;

/// The time after which a request on a new connection has its neighbours close theirs.
const PATIENCE: Duration = Duration::from_millis(250);

/// The time for which the neighbours keep none then: a server that is silent for longer is so for
/// another reason.
const ROOM: Duration = Duration::from_secs(5);

/// A source that may keep a connection with its server between requests.
pub(in crate::fetch) trait Neighbour: Send + Sync {
    /// Returns whether a connection with the server waits for its next use.
    fn keeps_open(&self) -> bool;

    /// Closes the connections that wait for their next use.
    fn close_idle(&self);
}

/// The sources with one server.
#[derive(Default)]
pub(in crate::fetch) struct Neighbours {
    /// The number of requests that wait for room.
    waiting: AtomicUsize,
    /// True if the server has answered on a connection while another one was kept: it serves several
    /// at a time, and nobody has to make room.
    serves_several: AtomicBool,
    all: Mutex<Vec<Weak<dyn Neighbour>>>,
}

impl Neighbours {
    /// Adds a source.
    pub fn add(&self, source: Weak<dyn Neighbour>) {
        let mut all = self.all.lock();
        all.retain(|other| other.strong_count() > 0);
        all.push(source);
    }

    /// Returns whether a request waits for room: then no connection is to be kept.
    pub fn are_waiting(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// Takes note that the server has answered on a new connection.
    pub fn answer(&self) {
        if !self.serves_several.load(Relaxed) {
            let keeps = self.all().iter().any(|source| source.keeps_open());
            self.serves_several.store(keeps, Relaxed);
        }
    }

    /// Waits for the answer to a request on a new connection. If it does not come soon, the
    /// connections that the neighbours keep are closed, and those that they finish meanwhile.
    pub async fn make_room_for<T>(&self, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
            return answer;
        }
        if !self.serves_several.load(Relaxed) {
            let _waiting = Waiting::new(&self.waiting);
            self.all().iter().for_each(|source| source.close_idle());
            if let Ok(answer) = tokio::time::timeout(ROOM, &mut answer).await {
                return answer;
            }
        }
        answer.await
    }

    fn all(&self) -> Vec<Arc<dyn Neighbour>> {
        self.all.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// One request that waits.
struct Waiting<'n>(&'n AtomicUsize);

impl Waiting<'_> {
    fn new(count: &AtomicUsize) -> Waiting<'_> {
        count.fetch_add(1, Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// The neighbours at all servers of sources.
#[derive(Default)]
pub(in crate::fetch) struct Neighbourhoods(Mutex<HashMap<Origin, Weak<Neighbours>>>);

impl Neighbourhoods {
    /// The sources with this server.
    pub fn at(&self, origin: &Origin) -> Arc<Neighbours> {
        let mut all = self.0.lock();
        let known = all.get(origin).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            all.retain(|_, neighbours| neighbours.strong_count() > 0);
            let new = Arc::new(Neighbours::default());
            all.insert(origin.clone(), Arc::downgrade(&new));
            new
        })
    }
}
