//! A source's state at its servers: connections and cookies, which no other source uses.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::address::Origin;
use super::connection::{Connection, ConnectionPermits, Task};
use super::cookies::Jar;
use super::dial::Unanswered;
use super::neighbours::{Neighbour, Neighbours};
use super::secure::Secure;
use super::tls::Trust;
use super::url::Url;
use crate::fetch::thread::FileThread;

/// The time that a connection may wait for its next use: pmlogger asks once a minute.
const KEPT: Duration = Duration::from_secs(300);

/// After so many kept connections in a row that were dead none is kept for so many requests.
const DEAD: u32 = 2;
const PAUSE: u32 = 100;

/// The destination of a source's connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fetch) enum Side {
    /// To the source's own server, by which it is told the source's secrets.
    Home = 0,
    /// To where that has redirected to.
    Away = 1,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::Home, Side::Away];
}

/// A source's state at its servers: cookies, and the connections that are kept for its next
/// request, one on each side.
pub(in crate::fetch) struct Peer {
    /// The address of the source.
    pub url: Url,
    secure: Option<Arc<Secure>>,
    /// The trust in the source's own server.
    pub trust: Arc<Trust>,
    /// The thread that reads its files.
    pub thread: FileThread,
    /// Its cookies.
    pub cookies: Jar,
    /// The addresses at which it has had no answer.
    pub unanswered: Arc<Unanswered>,
    /// The sources with the same server.
    pub neighbours: Arc<Neighbours>,
    kept: [Mutex<Option<Idle>>; 2],
    keeping: Mutex<Keeping>,
}

/// A connection that waits for its next use, and the task that closes it after a time.
struct Idle {
    connection: Connection,
    _end: Task<()>,
}

/// Decides whether connections are kept: something on the way, such as a relay, may forget those
/// that wait, without a word.
#[derive(Default)]
struct Keeping {
    /// Kept connections in a row that were dead.
    dead: u32,
    /// Requests for which none is kept.
    pause: u32,
}

impl Keeping {
    /// Counts a dead connection, and tells whether a pause begins.
    fn lose(&mut self) -> bool {
        self.dead += 1;
        if self.dead < DEAD {
            return false;
        }
        *self = Keeping { dead: 0, pause: PAUSE };
        true
    }

    fn is_worth_while(&mut self) -> bool {
        let is_pause = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        !is_pause
    }
}

impl Peer {
    /// A source that was not asked yet.
    pub fn new(url: Url, secure: Option<Arc<Secure>>, trust: Arc<Trust>, neighbours: Arc<Neighbours>) -> Peer {
        Peer {
            url,
            secure,
            trust,
            thread: FileThread::new(),
            cookies: Jar::default(),
            unanswered: Arc::default(),
            neighbours,
            kept: Default::default(),
            keeping: Mutex::default(),
        }
    }

    /// Returns whether this is the state of a source with this address and these certificates. A
    /// source with others begins anew.
    pub fn is_of(&self, url: &Url, secure: Option<&Arc<Secure>>) -> bool {
        self.url == *url && self.secure.as_ref() == secure
    }

    /// Takes note that a kept connection was dead: a request on another one was answered first.
    pub fn find_dead(&self) {
        let is_pause = self.keeping.lock().lose();
        if is_pause {
            self.close_idle();
        }
    }

    /// Takes note that a kept connection has served once more.
    pub fn find_alive(&self) {
        self.keeping.lock().dead = 0;
    }

    /// Returns whether a request that begins now keeps its connections.
    pub fn keeps(&self) -> bool {
        self.keeping.lock().is_worth_while()
    }

    /// Takes the connection that is kept with a server.
    pub fn take(&self, side: Side, origin: &Origin) -> Option<Connection> {
        let idle = self.kept[side as usize]
            .lock()
            .take_if(|idle| idle.connection.origin == *origin);
        idle.map(|idle| idle.connection)
    }

    /// Keeps a connection for the next request, if it is open, a permit is free, and no other source
    /// waits for this server. It replaces the one before on its side.
    pub fn keep(self: &Arc<Peer>, side: Side, mut connection: Connection, permits: &ConnectionPermits) {
        if self.neighbours.are_waiting() || !connection.stay(permits) {
            return;
        }
        let peer = Arc::downgrade(self);
        let idle = Idle {
            connection,
            _end: Task::spawn(close_unused(peer, side)),
        };
        let last = self.kept[side as usize].lock().replace(idle);
        drop(last);
    }
}

impl Neighbour for Peer {
    fn keeps_open(&self) -> bool {
        let kept = self.kept[Side::Home as usize].lock();
        kept.as_ref().is_some_and(|idle| idle.connection.is_open())
    }

    fn close_idle(&self) {
        for kept in &self.kept {
            let idle = kept.lock().take();
            drop(idle);
        }
    }
}

/// Closes a connection that nobody has used for long.
async fn close_unused(peer: Weak<Peer>, side: Side) {
    tokio::time::sleep(KEPT).await;
    if let Some(peer) = peer.upgrade() {
        let idle = peer.kept[side as usize].lock().take();
        drop(idle);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::fetch::network::stream::{Counted, Stream};

    /// A connection that nobody uses is closed after a time.
    #[tokio::test]
    async fn connections_are_kept_for_a_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = Url::new(&format!("http://{}/", listener.local_addr().expect("bound")));
        let origin = url.address().expect("an address").origin.clone();
        let trust = Arc::new(Trust::of_the_environment());
        let peer = Arc::new(Peer::new(url, None, trust, Arc::default()));
        let address = listener.local_addr().expect("bound");
        let stream = Counted::new(TcpStream::connect(address).await.expect("it listens"), address);
        let exchange = stream.exchange();
        let permits = ConnectionPermits::new(2);
        let permit = permits.take().await.expect("it is free");
        let connection = Connection::start(&origin, Stream::new(stream, exchange), permit).await;
        peer.keep(Side::Home, connection.expect("a connection"), &permits);
        // Time is over as soon as all wait for it.
        tokio::time::pause();
        tokio::time::sleep(KEPT - Duration::from_secs(1)).await;
        assert!(peer.keeps_open());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!peer.keeps_open() && peer.take(Side::Home, &origin).is_none());
    }

    /// After two dead connections in a row none is kept for a hundred requests.
    #[test]
    fn when_connections_are_kept() {
        let mut keeping = Keeping::default();
        for _ in 0..5 {
            assert!(!keeping.lose() && keeping.is_worth_while());
            keeping.dead = 0;
        }
        for _ in 0..3 {
            assert!(!keeping.lose() && keeping.is_worth_while());
            assert!(keeping.lose());
            assert!((0..PAUSE).all(|_| !keeping.is_worth_while()));
            assert!(keeping.is_worth_while());
        }
    }
}
