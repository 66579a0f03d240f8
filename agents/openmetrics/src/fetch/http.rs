//! `http://` and `https://`, as Python's `requests` asks (OM-91, OM-94 to OM-98).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cookie_store::{CookieStore, RawCookie};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    PROXY_AUTHORIZATION, SET_COOKIE, USER_AGENT,
};
use hyper::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::address::Address;
use super::coding;
use super::connect::{Connector, Full, Places, basic, bytes, words};
use super::descriptors::connections;
use super::document::{Document, Failure, Memory};
use super::netrc::Netrc;
use super::proxy::Proxies;
use super::secure::Secure;
use super::tls::Trust;
use crate::limits;

/// How long a connection may wait for its next use: pmlogger asks once a minute.
const KEPT: Duration = Duration::from_secs(300);

/// The most that a connection reads ahead, in bytes; the head of a reply has to fit.
const BUFFER: usize = 128 << 10;

/// The body of a reply that leads elsewhere is read so far, in bytes, for the connection's sake.
const DRAINED: usize = 64 << 10;

/// A packed document of more bytes is unpacked on another thread.
const SMALL: usize = 64 << 10;

type Pool = legacy::Client<Connector, Empty<Bytes>>;

/// How long connections of sources with certificates of their own are remembered without a use.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The connections of sources that have the same certificates.
#[derive(Clone)]
struct Pools {
    /// Keeps connections; if there are too many, it makes no others.
    kept: Pool,
    /// Asks in the place of the other then, and closes each connection, so that others have it.
    once: Pool,
}

/// A client that keeps its connections and cookies.
pub(super) struct Client {
    pools: Pools,
    /// Those with certificates of their own, each with its last use.
    own: Mutex<HashMap<Secure, (Pools, Instant)>>,
    /// The places of connections that are kept, and of the others.
    places: [Arc<Semaphore>; 2],
    trust: Arc<Trust>,
    proxies: Arc<Proxies>,
    netrc: Netrc,
    cookies: Mutex<CookieStore>,
    /// Where addresses of sources lead to for good.
    moved: Mutex<HashMap<String, Step>>,
}

/// An address on the way of a source.
#[derive(Clone)]
struct Step {
    address: Address,
    /// Whether the way has not left the scheme, host and port of the source.
    is_at_home: bool,
}

/// A source that is asked.
struct Asked<'s> {
    first: Step,
    headers: &'s [(String, String)],
    pools: Pools,
}

/// A reply that leads nowhere else.
struct Reply {
    response: Response<Incoming>,
    address: Address,
    /// The last address that may be asked first the next time.
    moved: Option<Step>,
}

impl Pools {
    fn new(proxies: &Arc<Proxies>, trust: &Arc<Trust>, common: &Arc<Trust>, places: &[Arc<Semaphore>; 2]) -> Pools {
        let pool = |places: Places, idle: usize| {
            let connector = Connector::new(Arc::clone(proxies), Arc::clone(trust), Arc::clone(common), places);
            legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(KEPT)
                .pool_max_idle_per_host(idle)
                .http1_title_case_headers(true)
                .http1_max_buf_size(BUFFER)
                .http1_allow_obsolete_multiline_headers_in_responses(true)
                .http1_allow_spaces_after_header_name_in_responses(true)
                .http1_ignore_invalid_headers_in_responses(true)
                .build(connector)
        };
        let [kept, once] = places.each_ref().map(Arc::clone);
        Pools {
            kept: pool(Places::Refuse(kept), usize::MAX),
            once: pool(Places::Wait(once), 0),
        }
    }
}

impl Client {
    /// One with the proxies and certificates of the environment.
    pub fn of_the_environment() -> Client {
        Client::with(Proxies::of_the_environment(), Trust::of_the_environment())
    }

    /// One with these proxies and certificates.
    pub fn with(proxies: Proxies, trust: Trust) -> Client {
        Client::limited(proxies, trust, connections())
    }

    /// One that has at most so many connections at a time.
    pub fn limited(proxies: Proxies, trust: Trust, connections: usize) -> Client {
        let (proxies, trust) = (Arc::new(proxies), Arc::new(trust));
        let places = [(); 2].map(|()| Arc::new(Semaphore::new((connections / 2).max(1))));
        Client {
            pools: Pools::new(&proxies, &trust, &trust, &places),
            own: Mutex::default(),
            places,
            trust,
            proxies,
            netrc: Netrc::of_the_user(),
            cookies: Mutex::default(),
            moved: Mutex::default(),
        }
    }

    /// The connections of a source. None goes to a source that shows another certificate, or trusts
    /// others.
    fn pools(&self, secure: Option<&Secure>) -> Pools {
        let Some(secure) = secure else {
            return self.pools.clone();
        };
        let mut own = self.own.lock();
        if let Some((pools, used)) = own.get_mut(secure) {
            *used = Instant::now();
            return pools.clone();
        }
        own.retain(|_, (_, used)| used.elapsed() < REMEMBERED);
        let trust = Arc::new(self.trust.with(secure));
        let pools = Pools::new(&self.proxies, &trust, &self.trust, &self.places);
        own.insert(secure.clone(), (pools.clone(), Instant::now()));
        pools
    }

    /// Gets a document.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        secure: Option<&Secure>,
        memory: &Arc<Memory>,
    ) -> Result<(u16, Document), Failure> {
        let failure = |reason: String| Failure { status: 0, reason };
        let first = Step {
            address: Address::parse(url).map_err(failure)?,
            is_at_home: true,
        };
        let asked = Asked {
            first: first.clone(),
            headers,
            pools: self.pools(secure),
        };
        let moved = self.moved.lock().get(url).cloned();
        let mut reply = None;
        if let Some(moved) = moved {
            reply = self.follow(&asked, moved.clone()).await.ok();
            let is_good = reply
                .as_ref()
                .is_some_and(|reply| reply.response.status().as_u16() < 400);
            if let (Some(reply), true) = (&mut reply, is_good) {
                reply.moved.get_or_insert(moved);
            } else {
                // It may not have moved for so good.
                self.moved.lock().remove(url);
                reply = None;
            }
        }
        let Reply {
            response,
            address,
            moved,
        } = match reply {
            Some(reply) => reply,
            None => self.follow(&asked, first).await.map_err(failure)?,
        };
        let status = response.status().as_u16();
        let failure = |reason: String| Failure {
            status,
            reason: format!("{reason} for url: {address}"),
        };
        if let 400..600 = status {
            let kind = if status < 500 { "Client Error" } else { "Server Error" };
            let phrase = phrase(&response);
            drain(response.into_body()).await;
            return Err(failure(format!("{status} {kind}: {phrase}")));
        }
        // Without a document there is no status either, as with PCP's agent.
        let document = read(response, memory).await.map_err(|reason| Failure {
            status: 0,
            ..failure(reason)
        })?;
        if let Some(moved) = moved {
            let mut known = self.moved.lock();
            if known.len() < limits::SOURCES as usize || known.contains_key(url) {
                known.insert(url.to_owned(), moved);
            }
        }
        Ok((status, document))
    }

    /// Asks an address of a source, and those that it leads to.
    async fn follow(&self, asked: &Asked<'_>, start: Step) -> Result<Reply, String> {
        let mut step = start;
        let mut moved = None;
        let mut is_permanent = true;
        for _ in 0..=limits::REDIRECTS {
            let response = self.ask(asked, &step).await?;
            let status = response.status().as_u16();
            let location = response
                .headers()
                .get(LOCATION)
                .filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else {
                return Ok(Reply {
                    response,
                    address: step.address,
                    moved,
                });
            };
            let address = step.address.join(&text(location.as_bytes()))?;
            drain(response.into_body()).await;
            is_permanent &= matches!(status, 301 | 308);
            step = Step {
                is_at_home: step.is_at_home && address.origin == asked.first.address.origin,
                address,
            };
            if is_permanent {
                moved = Some(step.clone());
            }
        }
        Err(format!("Exceeded {} redirects.", limits::REDIRECTS))
    }

    /// Asks for one address.
    async fn ask(&self, asked: &Asked<'_>, step: &Step) -> Result<Response<Incoming>, String> {
        let address = &step.address;
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = address.uri()?;
        let sent = request.headers_mut();
        sent.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("pmdaopenmetrics/", env!("CARGO_PKG_VERSION"))),
        );
        sent.insert(ACCEPT, HeaderValue::from_static("*/*"));
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding::ACCEPTED));
        let mut proof = None;
        if step.is_at_home {
            add(sent, asked.headers);
            proof = asked.first.address.user.clone();
        }
        let proof = proof.or_else(|| self.netrc.login(address.origin.bare_host()));
        if let Some((user, password)) = proof {
            sent.insert(
                AUTHORIZATION,
                basic(&user, &password).map_err(|error| error.to_string())?,
            );
        }
        if !sent.contains_key(COOKIE) {
            sent.extend(self.cookies(address).map(|cookies| (COOKIE, cookies)));
        }
        if !address.origin.is_secure {
            if let Some((user, password)) = self.proxies.of_origin(&address.origin)?.and_then(|proxy| proxy.user) {
                sent.insert(
                    PROXY_AUTHORIZATION,
                    basic(&user, &password).map_err(|error| error.to_string())?,
                );
            }
        }
        // Elsewhere nobody is shown the certificate of the source.
        let pools = if step.is_at_home { &asked.pools } else { &self.pools };
        let mut response = pools.kept.request(request.clone()).await;
        if response.as_ref().is_err_and(is_full) {
            response = pools.once.request(request).await;
        }
        let response = response.map_err(|error| format!("{} for url: {address}", words(&error)))?;
        self.keep_cookies(address, response.headers());
        Ok(response)
    }

    fn cookies(&self, address: &Address) -> Option<HeaderValue> {
        let cookies = self.cookies.lock();
        cookies.iter_any().next()?;
        let url = address.to_string().parse().ok()?;
        let mut found = cookies.matches(&url);
        // The longest paths first (RFC 6265).
        found.sort_by_key(|cookie| (Reverse(cookie.path.as_ref().len()), cookie.name().to_owned()));
        let pairs = found
            .iter()
            .map(|cookie| format!("{}={}", cookie.name(), cookie.value()));
        let text = pairs.collect::<Vec<_>>().join("; ");
        HeaderValue::from_str(&text).ok().filter(|_| !text.is_empty())
    }

    fn keep_cookies(&self, address: &Address, headers: &HeaderMap) {
        if !headers.contains_key(SET_COOKIE) {
            return;
        }
        let Ok(url) = address.to_string().parse() else { return };
        let set = headers.get_all(SET_COOKIE).iter();
        let read = set.filter_map(|value| RawCookie::parse(text(value.as_bytes())).ok());
        let mut cookies = self.cookies.lock();
        for cookie in read {
            let is_new = cookies.iter_any().count() < limits::COOKIES;
            // A server may not fill the memory with them.
            if is_new && cookie.name().len() + cookie.value().len() <= limits::COOKIE {
                let _ = cookies.insert_raw(&cookie, &url);
            }
        }
    }
}

/// Whether a request has no connection because there are too many.
fn is_full(error: &legacy::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<Full>() {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// Adds the headers of a source, each in the place of a default one.
fn add(sent: &mut HeaderMap, headers: &[(String, String)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(&bytes(value)),
        ) {
            sent.insert(name, value);
        }
    }
}

/// Whether a header can be sent.
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

/// Text of a header: UTF-8, else ISO 8859-1.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Reads what a reply says beside its status, as far as it is short.
async fn drain(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > DRAINED {
            return;
        }
    }
}

/// Reads the document of a reply.
async fn read(response: Response<Incoming>, memory: &Arc<Memory>) -> Result<Document, String> {
    let named = response.headers().get_all(CONTENT_ENCODING).iter();
    let named = named.map(|value| text(value.as_bytes())).collect::<Vec<_>>().join(",");
    let codings = coding::named(&named)?;
    let mut body = response.into_body();
    let mut document = Document::new(memory);
    if let Some(length) = body.size_hint().exact() {
        document.expect(length)?;
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| words(&error))?;
        if let Some(data) = frame.data_ref() {
            document.push(data)?;
        }
    }
    if codings.is_empty() || document.bytes().len() <= SMALL {
        return coding::unpack(document, &codings, memory);
    }
    let memory = Arc::clone(memory);
    let unpacked = tokio::task::spawn_blocking(move || coding::unpack(document, &codings, &memory));
    unpacked.await.unwrap_or_else(|error| Err(error.to_string()))
}
