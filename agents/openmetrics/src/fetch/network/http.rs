//! Fetches of `http://` and `https://` addresses: requests, redirections, cookies and bodies, as
//! Python's `requests` has them (OM-91, OM-94 to OM-98). For `fetch`; connections are in `connect`
//! and `connection`, documents in `document`.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use http_body_util::Empty;
use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    LOCATION, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Request, Response};
use parking_lot::Mutex;

use super::address::{Address, Origin};
use super::coding;
use super::connect::{self, Connector, basic, words};
use super::connection::{Connection, ConnectionPermits};
use super::dial::Way;
use super::header_text::{bytes, text};
use super::neighbours::Neighbourhoods;
use super::netrc::Netrc;
use super::peer::{Peer, Side};
use super::proof::Proof;
use super::proxy::Proxies;
use super::secure::Secure;
use super::tls::Trust;
use super::url::Url;
use crate::fetch::descriptors::connections;
use crate::fetch::document::{Document, Failure, Memory};
use crate::fetch::progress::Progress;
use crate::fetch::thread::on_another_thread;
use crate::limits;
use crate::secret::Secret;

/// The body of a reply that leads elsewhere is read so far, in bytes, for the connection's sake.
const DRAINED: usize = 64 << 10;

/// A packed document that has more bytes when it is not packed, or between two codings, is unpacked on
/// another thread: all other sources wait for this one.
const SMALL: usize = 1 << 20;

/// The state that all sources share: the settings of the host, and the permits for connections.
pub(in crate::fetch) struct Client {
    connector: Connector,
    netrc: Netrc,
    permits: Arc<ConnectionPermits>,
    /// The sources of each server.
    neighbourhoods: Neighbourhoods,
    /// The certificates of sources that have some of their own. Sources with the same share them:
    /// those that are trusted take a megabyte.
    trusts: Mutex<HashMap<Secure, Weak<Trust>>>,
}

/// One request of a source: the way from its address to its document.
struct Retrieval<'s> {
    client: &'s Client,
    peer: &'s Arc<Peer>,
    first: &'s Address,
    headers: &'s [(String, Secret)],
    /// The value of `Authorization:` that files have.
    proof: Option<HeaderValue>,
    progress: &'s Arc<Progress>,
    /// True if connections are kept for the next request.
    keeps: bool,
    /// Connections that may be asked again on this way, one on each side.
    free: [Option<Connection>; 2],
}

/// A reply that leads nowhere else, and the connection on which its body comes.
struct Reply {
    response: Response<Incoming>,
    address: Address,
    connection: Connection,
    side: Side,
}

impl Client {
    /// A client with the proxies and certificates of the environment.
    pub fn of_the_environment() -> Client {
        Client::with(Proxies::of_the_environment(), Trust::of_the_environment())
    }

    /// A client with these proxies and certificates.
    pub fn with(proxies: Proxies, trust: Trust) -> Client {
        Client::limited(proxies, trust, connections())
    }

    /// A client without proxies that finds hosts by this function.
    #[cfg(test)]
    pub fn looking_up(look_up: super::resolver::LookUp) -> Client {
        let permits = Arc::new(ConnectionPermits::new(connections()));
        let connector = Connector::looking_up(Proxies::default(), Trust::of_the_environment(), &permits, look_up);
        Client::connecting(connector, permits)
    }

    /// A client that has at most so many connections at a time.
    pub fn limited(proxies: Proxies, trust: Trust, connections: usize) -> Client {
        let permits = Arc::new(ConnectionPermits::new(connections));
        Client::connecting(Connector::new(proxies, trust, &permits), permits)
    }

    fn connecting(connector: Connector, permits: Arc<ConnectionPermits>) -> Client {
        Client {
            connector,
            netrc: Netrc::of_the_user(),
            permits,
            neighbourhoods: Neighbourhoods::default(),
            trusts: Mutex::default(),
        }
    }

    /// A source that was not asked yet.
    pub fn peer(&self, url: &Url, secure: Option<&Arc<Secure>>) -> Arc<Peer> {
        let trust = match secure {
            None => Arc::clone(&self.connector.trust),
            Some(secure) => {
                let mut trusts = self.trusts.lock();
                let used = trusts.get(&**secure).and_then(Weak::upgrade);
                used.unwrap_or_else(|| {
                    trusts.retain(|_, trust| trust.strong_count() > 0);
                    let trust = Arc::new(self.connector.trust.with(secure));
                    trusts.insert(Secure::clone(secure), Arc::downgrade(&trust));
                    trust
                })
            }
        };
        let neighbours = match url.address() {
            Ok(address) => self.neighbourhoods.at(&address.origin),
            Err(_) => Arc::default(),
        };
        let peer = Arc::new(Peer::new(url.clone(), secure.cloned(), trust, neighbours));
        let source = Arc::downgrade(&peer);
        peer.neighbours.add(source);
        peer
    }

    /// Gets the document of a source.
    ///
    /// # Errors
    /// Why there is none, with the status of HTTP.
    pub async fn get(
        &self,
        peer: &Arc<Peer>,
        headers: &[(String, Secret)],
        proof: Option<&Proof>,
        memory: &Arc<Memory>,
        progress: &Arc<Progress>,
    ) -> Result<(u16, Document), Failure> {
        let first = peer.url.address().map_err(|reason| Failure { status: 0, reason })?;
        let proof = match proof {
            Some(proof) => proof
                .header(&peer.thread)
                .await
                .map_err(|reason| Failure { status: 0, reason })?,
            None => None,
        };
        let mut retrieval = Retrieval {
            client: self,
            peer,
            first,
            headers,
            proof,
            progress,
            keeps: peer.keeps(),
            free: [None, None],
        };
        let result = retrieval.run(memory).await;
        retrieval.keep_connections();
        result
    }
}

impl Retrieval<'_> {
    async fn run(&mut self, memory: &Arc<Memory>) -> Result<(u16, Document), Failure> {
        let reply = self.follow().await;
        let Reply {
            response,
            address,
            connection,
            side,
        } = reply.map_err(|reason| Failure { status: 0, reason })?;
        let status = response.status().as_u16();
        let failure = |status: u16, reason: String| Failure {
            status,
            reason: format!("{reason} for url: {address}"),
        };
        if let 400..600 = status {
            let kind = if status < 500 { "Client Error" } else { "Server Error" };
            let phrase = phrase(&response);
            if status < 500 {
                // The cookies may be the reason: a session that has ended, or a head that is too long
                // for this server.
                self.peer.cookies.empty();
            }
            self.end(response, connection, side).await;
            return Err(failure(status, format!("{status} {kind}: {phrase}")));
        }
        // Without a document there is no status either, as with PCP's agent.
        let document = read(response, &connection, memory)
            .await
            .map_err(|reason| failure(0, reason))?;
        self.peer.unanswered.answer(connection.address());
        self.free[side as usize] = Some(connection);
        Ok((status, document))
    }

    /// Asks the address of the source, and those that it leads to.
    async fn follow(&mut self) -> Result<Reply, String> {
        let mut address = self.first.clone();
        let mut side = Side::Home;
        for _ in 0..=limits::REDIRECTS {
            let (response, connection) = self.ask(&address, side).await?;
            // An empty one leads nowhere, as with PCP's agent.
            let leads = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let location = response.headers().get(LOCATION);
            let location = location.filter(|location| leads && !location.is_empty());
            let Some(location) = location else {
                return Ok(Reply {
                    response,
                    address,
                    connection,
                    side,
                });
            };
            address = address.join(&text(location.as_bytes()))?;
            self.end(response, connection, side).await;
            if address.origin != self.first.origin {
                // Back home, after another host has said where that is, it stays away.
                side = Side::Away;
            }
        }
        Err(format!("Exceeded {} redirects.", limits::REDIRECTS))
    }

    /// Ends a reply that is no document. Its connection may be asked again if the body is short.
    async fn end(&mut self, response: Response<Incoming>, connection: Connection, side: Side) {
        self.peer.unanswered.answer(connection.address());
        if drain(response.into_body(), &connection).await {
            self.free[side as usize] = Some(connection);
        }
    }

    /// Asks for one address.
    async fn ask(&mut self, address: &Address, side: Side) -> Result<(Response<Incoming>, Connection), String> {
        let request = self.request(address, side)?;
        let uri = address.uri()?;
        let words = |error: &(dyn std::error::Error + 'static)| format!("{} for url: {address}", words(error));
        let free = self.free[side as usize].take_if(|free| free.origin == address.origin);
        if let Some(mut kept) = free.or_else(|| self.peer.take(side, &address.origin)) {
            self.progress.set_silent(true);
            self.peer.unanswered.begin(kept.address());
            let response = kept.send(request.clone(), &uri, self.names(side)).await;
            self.progress.set_silent(false);
            match response {
                Ok(response) => {
                    self.peer.find_alive();
                    self.peer.cookies.keep(address, response.headers());
                    return Ok((response, kept));
                }
                // The server has closed it before it had the request: another one is asked.
                Err(_) if kept.is_silent() => self.peer.unanswered.answer(kept.address()),
                Err(error) => return Err(words(&error)),
            }
        }
        let neighbours = (address.origin == self.first.origin).then(|| Arc::clone(&self.peer.neighbours));
        let asked = async {
            let mut opened = self.open(&address.origin, side).await.map_err(|error| words(&*error))?;
            let response = opened.send(request, &uri, self.names(side)).await;
            let response = response.map_err(|error| words(&error))?;
            Ok::<_, String>((response, opened))
        };
        let (response, opened) = match neighbours {
            Some(neighbours) => {
                let answer = neighbours.make_room_for(asked).await?;
                neighbours.answer();
                answer
            }
            None => asked.await?,
        };
        self.peer.cookies.keep(address, response.headers());
        Ok((response, opened))
    }

    /// The names of the source's own headers, as its file has them.
    fn names(&self, side: Side) -> Vec<String> {
        match side {
            Side::Home => self.headers.iter().map(|(name, _)| name.clone()).collect(),
            Side::Away => Vec::new(),
        }
    }

    /// The request for an address, but for where it is sent.
    fn request(&self, address: &Address, side: Side) -> Result<Request<Empty<Bytes>>, String> {
        let said = |error: &dyn std::error::Error| error.to_string();
        let mut request = Request::new(Empty::new());
        let sent = request.headers_mut();
        sent.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("pmdaopenmetrics/", env!("CARGO_PKG_VERSION"))),
        );
        sent.insert(ACCEPT, HeaderValue::from_static("*/*"));
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        let host = address.origin.authority();
        sent.insert(HOST, HeaderValue::from_str(&host).map_err(|error| said(&error))?);
        let (mut proof, mut login) = (None, None);
        if side == Side::Home {
            add(sent, self.headers);
            proof = self.proof.clone();
            login = self.first.login.clone();
        }
        if proof.is_none() {
            let login = login.or_else(|| self.client.netrc.login(address.origin.bare_host()));
            proof = login
                .map(|login| basic(&login))
                .transpose()
                .map_err(|error| said(&error))?;
        }
        if let Some(proof) = proof {
            sent.insert(AUTHORIZATION, proof);
        }
        if !sent.contains_key(COOKIE) {
            sent.extend(self.peer.cookies.header(address).map(|cookies| (COOKIE, cookies)));
        }
        if !address.origin.is_secure {
            let proxy = self.client.connector.proxies.of_origin(&address.origin)?;
            if let Some(login) = proxy.and_then(|proxy| proxy.login) {
                sent.insert(PROXY_AUTHORIZATION, basic(&login).map_err(|error| said(&error))?);
            }
        }
        Ok(request)
    }

    /// Opens a connection. On the side `Away` the source's own certificates are not used.
    async fn open(&mut self, origin: &Origin, side: Side) -> Result<Connection, connect::Error> {
        // A task that waits for a permit must not hold one, or two tasks could wait for each other.
        self.keep_connections();
        let permit = self.client.permits.take().await?;
        let connector = &self.client.connector;
        let trust = match side {
            Side::Home => &self.peer.trust,
            Side::Away => &connector.trust,
        };
        let way = Way {
            progress: Arc::clone(self.progress),
            unanswered: Arc::clone(&self.peer.unanswered),
        };
        let stream = connector.connect(origin, trust, &way).await?;
        Ok(Connection::start(origin, stream, permit).await?)
    }

    /// Leaves the connections to the next request that wants them.
    fn keep_connections(&mut self) {
        for side in Side::ALL {
            if let Some(connection) = self.free[side as usize].take().filter(|_| self.keeps) {
                self.peer.keep(side, connection, &self.client.permits);
            }
        }
    }
}

/// Adds the headers of a source, each in the place of a default one.
fn add(sent: &mut HeaderMap, headers: &[(String, Secret)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(&bytes(value.reveal())),
        ) {
            sent.insert(name, value);
        }
    }
}

/// Returns whether a header can be sent.
pub(crate) fn is_header(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_bytes(&bytes(value)).is_ok()
}

/// The server's words about its status.
fn phrase(response: &Response<Incoming>) -> String {
    match response.extensions().get::<ReasonPhrase>() {
        Some(phrase) => text(phrase.as_bytes()),
        None => response.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

/// Reads what a reply says beside its status, and tells whether that was short enough to be read
/// to its end: only then may its connection be asked again.
async fn drain(mut body: Incoming, connection: &Connection) -> bool {
    let mut read = 0;
    while let Some(data) = connection.next_data(&mut body).await {
        let Ok(data) = data else { return false };
        read += data.len();
        if read > DRAINED {
            return false;
        }
    }
    true
}

/// Reads the document of a reply.
async fn read(response: Response<Incoming>, connection: &Connection, memory: &Arc<Memory>) -> Result<Document, String> {
    let named = response.headers().get_all(CONTENT_ENCODING).iter();
    let named = named.map(|value| text(value.as_bytes())).collect::<Vec<_>>().join(",");
    let codings = coding::named(&named)?;
    let mut body = response.into_body();
    let mut document = Document::new(memory);
    let length = body.size_hint().exact();
    if let Some(length) = length {
        document.expect(length)?;
    }
    while let Some(data) = connection.next_data(&mut body).await {
        match data {
            Ok(data) => document.push(&data)?,
            // As PCP's agent does, ours uses the part that has arrived, without a last line that is
            // cut: half a number would be a wrong one.
            Err(error) if ends_early(&error) && length.is_some() && codings.is_empty() => {
                document.end_early(length.unwrap_or_default());
                break;
            }
            Err(error) => return Err(words(&error)),
        }
    }
    if codings.is_empty() {
        return Ok(document);
    }
    if let Some(unpacked) = coding::unpack(&document, &codings, memory, SMALL)? {
        return Ok(unpacked);
    }
    let memory = Arc::clone(memory);
    let unpack = move || coding::unpack(&document, &codings, &memory, usize::MAX);
    let unpacked = on_another_thread(unpack).await?;
    unpacked.ok_or_else(|| "it is too large".to_owned())
}

/// Returns whether a body has ended before its length.
fn ends_early(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof)
}
