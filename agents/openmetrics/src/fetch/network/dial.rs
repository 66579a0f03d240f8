//! Connections with hosts of several addresses, as RFC 8305 has them: the next address is tried
//! when one has not answered for a quarter of a second, and the first connection counts.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};

use super::address::Origin;
use super::connection::ConnectionPermits;
use super::resolver::Resolver;
use crate::fetch::progress::{Awaits, Progress};
use crate::limits;

/// The time after which the next address is tried.
const NEXT: Duration = Duration::from_millis(250);

/// The most addresses that are tried at one time: the oldest is given up for a fifth.
const AT_A_TIME: usize = 4;

/// The addresses at which a source has had no answer: where a request of it is waiting, or was given
/// up. They are tried after all others, the last one last.
#[derive(Default, Debug)]
pub(in crate::fetch) struct Unanswered(Mutex<Vec<SocketAddr>>);

impl Unanswered {
    /// Takes note that a request waits for an answer from an address.
    pub fn begin(&self, address: SocketAddr) {
        let mut addresses = self.0.lock();
        addresses.retain(|other| *other != address);
        if addresses.len() >= limits::ADDRESSES {
            addresses.remove(0);
        }
        addresses.push(address);
    }

    /// Takes note that an address has answered.
    pub fn answer(&self, address: SocketAddr) {
        self.0.lock().retain(|other| *other != address);
    }

    /// Puts the addresses of a host in the order in which they are tried: one family after the other,
    /// as long as there are both, and those without an answer behind.
    fn order(&self, addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
        let (first, second): (Vec<_>, Vec<_>) = addresses
            .into_iter()
            .partition(|address| address.is_ipv6() == first_is_v6);
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        let mut ordered = Vec::new();
        loop {
            let (one, other) = (first.next(), second.next());
            if one.is_none() && other.is_none() {
                break;
            }
            for address in one.into_iter().chain(other) {
                if !ordered.contains(&address) && ordered.len() < limits::ADDRESSES {
                    ordered.push(address);
                }
            }
        }
        let unanswered = self.0.lock();
        ordered.sort_by_key(|address| unanswered.iter().position(|other| other == address));
        ordered
    }
}

/// A request, as its connections need it.
#[derive(Clone, Default)]
pub(in crate::fetch) struct Way {
    /// How far the request has come.
    pub progress: Arc<Progress>,
    /// The addresses at which its source has had no answer.
    pub unanswered: Arc<Unanswered>,
}

/// Connects with hosts.
#[derive(Clone)]
pub(in crate::fetch) struct Dialer {
    /// Finds their addresses.
    pub resolver: Resolver,
    /// A permit for each address that is tried beside the first.
    pub permits: Arc<ConnectionPermits>,
}

impl Dialer {
    /// Connects with a host, by the first of its addresses that answers.
    ///
    /// # Errors
    /// What the system says of the first address that has refused.
    pub async fn connect(&self, origin: &Origin, way: &Way) -> io::Result<(TcpStream, SocketAddr)> {
        let host = origin.dialed_host();
        way.progress.set(Awaits::Name(host.to_string()));
        let mut addresses = self.resolver.addresses(&host).await?;
        addresses.iter_mut().for_each(|address| address.set_port(origin.port));
        let connected = self.first_of(way.unanswered.order(addresses), way).await;
        way.progress.set(Awaits::Answer);
        let (stream, address) = connected?;
        stream.set_nodelay(true)?;
        Ok((stream, address))
    }

    async fn first_of(&self, addresses: Vec<SocketAddr>, way: &Way) -> io::Result<(TcpStream, SocketAddr)> {
        let mut left = addresses.into_iter();
        let mut under_way = JoinSet::new();
        let mut handles = VecDeque::<AbortHandle>::new();
        let mut refused = None;
        loop {
            if let Some(address) = left.next() {
                handles.retain(|handle| !handle.is_finished());
                // Each is a descriptor; the first has the permit of the whole connection.
                let permit = (!handles.is_empty()).then(|| self.permits.one_more());
                if handles.len() >= AT_A_TIME || matches!(permit, Some(None)) {
                    handles.pop_front().iter().for_each(AbortHandle::abort);
                }
                way.progress.tries(address);
                way.unanswered.begin(address);
                handles.push_back(under_way.spawn(async move {
                    let _permit = permit;
                    (TcpStream::connect(address).await, address)
                }));
            } else if under_way.is_empty() {
                let none = || io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                return Err(refused.unwrap_or_else(none));
            }
            let until = if left.len() > 0 { NEXT } else { Duration::MAX };
            match tokio::time::timeout(until, next_end(&mut under_way)).await {
                Ok(Some((Ok(stream), address))) => return Ok((stream, address)),
                Ok(Some((Err(error), _))) => drop(refused.get_or_insert(error)),
                Ok(None) | Err(_) => {}
            }
        }
    }
}

/// Waits for the end of one attempt that was not given up; `None` if there is none.
async fn next_end(
    attempts: &mut JoinSet<(io::Result<TcpStream>, SocketAddr)>,
) -> Option<(io::Result<TcpStream>, SocketAddr)> {
    loop {
        if let Ok(ended) = attempts.join_next().await? {
            return Some(ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::pin::pin;

    use super::*;
    use crate::fetch::network::resolver::of_the_host;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    /// The families take turns, and addresses without an answer come last, in the order in which they
    /// were tried.
    #[test]
    fn the_order_of_addresses() {
        let unanswered = Unanswered::default();
        let all = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1", "[::1]:1"];
        let ordered = || unanswered.order(addresses(&all));
        let in_turn = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
        assert_eq!(ordered(), in_turn);
        unanswered.begin(in_turn[1]);
        unanswered.begin(in_turn[0]);
        let later = addresses(&["[::2]:1", "2.2.2.2:1", "[::3]:1", "1.1.1.1:1", "[::1]:1"]);
        assert_eq!(ordered(), later);
        unanswered.answer(in_turn[1]);
        assert_eq!(ordered()[4], in_turn[0]);
        unanswered.answer(in_turn[0]);
        assert_eq!(ordered(), in_turn);
        // However many addresses a host has had, few are remembered, and few are tried.
        let many: Vec<SocketAddr> = (1..1000).map(|port| ([127, 0, 0, 1], port).into()).collect();
        many.iter().for_each(|address| unanswered.begin(*address));
        assert_eq!(unanswered.0.lock().len(), limits::ADDRESSES);
        assert_eq!(unanswered.order(many).len(), limits::ADDRESSES);
    }

    /// However many addresses take no connection, few are tried at one time: each is a descriptor.
    #[tokio::test]
    async fn few_addresses_at_a_time() {
        let mut full = Vec::new();
        let mute = |_| {
            let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
            rustix::net::listen(&mute, 0).expect("ours");
            let address = mute.local_addr().expect("bound");
            while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
                full.push(stream);
            }
            (mute, address)
        };
        let (_listeners, addresses): (Vec<_>, Vec<_>) = (0..6).map(mute).unzip();
        let permits = Arc::new(ConnectionPermits::new(20));
        let dialer = Dialer {
            resolver: Resolver::new(of_the_host),
            permits: Arc::clone(&permits),
        };
        let way = Way::default();
        let mut connecting = pin!(dialer.first_of(addresses, &way));
        let connected = tokio::time::timeout(NEXT * 7, &mut connecting).await;
        assert!(connected.is_err(), "no address takes a connection");
        let free: Vec<_> = std::iter::from_fn(|| permits.one_more()).collect();
        // The first one, with the permit of the connection, was given up.
        assert_eq!(free.len(), 10 - AT_A_TIME);
    }
}
