//! Connections: by a proxy or without, with TLS or without.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use openssl::error::ErrorStack;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tower_service::Service;

use super::address::{Address, Origin};
use super::proxy::Proxies;
use super::tls::{self, Refused, Trust};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// What bytes go through.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection.
pub(super) struct Stream {
    io: TokioIo<Box<dyn Io>>,
    /// Whether it leads to a proxy, which is asked for whole addresses.
    is_proxied: bool,
    /// Its place among those that may be open at a time.
    _place: Option<OwnedSemaphorePermit>,
}

impl Stream {
    fn new(io: impl Io + 'static) -> Stream {
        Stream {
            io: TokioIo::new(Box::new(io)),
            is_proxied: false,
            _place: None,
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_proxied)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// All connections that may be open at a time are.
#[derive(Debug)]
pub(super) struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("too many connections are open")
    }
}

impl std::error::Error for Full {}

/// What becomes of a connection when as many are open as there may be.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// It is refused (`Full`).
    Refuse(Arc<Semaphore>),
    /// It waits until another one is closed.
    Wait(Arc<Semaphore>),
}

impl Places {
    async fn take(self) -> Result<OwnedSemaphorePermit, Full> {
        match self {
            Places::Refuse(places) => places.try_acquire_owned().map_err(|_| Full),
            Places::Wait(places) => places.acquire_owned().await.map_err(|_| Full),
        }
    }
}

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    places: Places,
    plain: HttpConnector<Resolver>,
    proxies: Arc<Proxies>,
    trust: Arc<Trust>,
    /// For proxies.
    common: Arc<Trust>,
}

impl Connector {
    /// One with these proxies and certificates; those for the proxies are `common`.
    pub fn new(proxies: Arc<Proxies>, trust: Arc<Trust>, common: Arc<Trust>, places: Places) -> Connector {
        let mut plain = HttpConnector::new_with_resolver(Resolver::default());
        plain.enforce_http(false);
        plain.set_nodelay(true);
        Connector {
            places,
            plain,
            proxies,
            trust,
            common,
        }
    }

    async fn connect(self, uri: Uri) -> Result<Stream, Error> {
        let _place = Some(self.places.clone().take().await?);
        let stream = self.connect_anyway(uri).await?;
        Ok(Stream { _place, ..stream })
    }

    async fn connect_anyway(self, uri: Uri) -> Result<Stream, Error> {
        let origin = Address::parse(&uri.to_string()).map_err(Refused)?.origin;
        let Some(proxy) = self.proxies.of_origin(&origin).map_err(Refused)? else {
            return self.direct(origin).await;
        };
        let first = ToProxy {
            connector: Connector {
                trust: Arc::clone(&self.common),
                ..self.clone()
            },
            origin: proxy.origin.clone(),
        };
        if !origin.is_secure {
            let stream = first.connect().await?;
            return Ok(Stream {
                is_proxied: true,
                ..stream
            });
        }
        let mut tunnel = Tunnel::new(proxy.uri().map_err(Refused)?, first);
        if let Some((user, password)) = &proxy.user {
            tunnel = tunnel.with_auth(basic(user, password)?);
        }
        let stream = tunnel
            .call(uri)
            .await
            .map_err(|error| by_proxy(&proxy.origin, &error))?;
        let stream = self.trust.connect(origin.bare_host(), stream.io.into_inner()).await?;
        Ok(Stream::new(stream))
    }

    async fn direct(mut self, origin: Origin) -> Result<Stream, Error> {
        let stream = self.plain.call(origin.to_string().parse()?).await?.into_inner();
        if origin.is_secure {
            return Ok(Stream::new(self.trust.connect(origin.bare_host(), stream).await?));
        }
        Ok(Stream::new(stream))
    }
}

/// The first part of the way that leads through a proxy.
struct ToProxy {
    connector: Connector,
    origin: Origin,
}

impl ToProxy {
    async fn connect(self) -> Result<Stream, Error> {
        let origin = self.origin.clone();
        let connected = self.connector.direct(self.origin).await;
        connected.map_err(|error| by_proxy(&origin, &*error))
    }
}

impl Service<Uri> for ToProxy {
    type Response = Stream;
    type Error = Error;
    type Future = Boxed<Result<Stream, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let first = ToProxy {
            connector: self.connector.clone(),
            origin: self.origin.clone(),
        };
        Box::pin(first.connect())
    }
}

fn by_proxy(proxy: &Origin, error: &(dyn std::error::Error + 'static)) -> Error {
    Refused(format!("{} (by the proxy {proxy})", words(error))).into()
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Error;
    type Future = Boxed<Result<Stream, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Addresses of a host, once they are known.
type Answer = Arc<OnceCell<Vec<SocketAddr>>>;

/// Addresses of hosts by the C library. Sources of one host wait for one answer together, not each
/// on a thread of its own.
#[derive(Clone, Default)]
struct Resolver {
    asked: Arc<Mutex<HashMap<String, Answer>>>,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Boxed<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let asked = Arc::clone(&self.asked);
        let answer = Arc::clone(asked.lock().entry(name.as_str().to_owned()).or_default());
        Box::pin(async move {
            let ask = || async {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                found
                    .map(Iterator::collect)
                    .map_err(|error| io::Error::new(error.kind(), format!("{error} ({})", name.as_str())))
            };
            let found = answer.get_or_try_init(ask).await.cloned();
            // The next one asks again.
            let mut asked = asked.lock();
            if asked.get(name.as_str()).is_some_and(|same| Arc::ptr_eq(same, &answer)) {
                asked.remove(name.as_str());
            }
            found.map(Vec::into_iter)
        })
    }
}

/// The header by which a user proves who asks.
///
/// # Errors
/// That no header can have it.
pub(super) fn basic(user: &str, password: &str) -> Result<HeaderValue, Refused> {
    let proof = format!("Basic {}", STANDARD.encode(bytes(&format!("{user}:{password}"))));
    let mut value = HeaderValue::from_str(&proof).map_err(|error| Refused(error.to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A text as `requests` sends it: in ISO 8859-1 where that has all of it, else in UTF-8.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let narrow: Result<Vec<u8>, _> = text.chars().map(|letter| u8::try_from(u32::from(letter))).collect();
    narrow.unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// What has gone wrong, in the words of whoever saw it first.
pub(super) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    loop {
        if let Some(refused) = innermost.downcast_ref::<Refused>() {
            return refused.0.clone();
        }
        if let Some(stack) = innermost.downcast_ref::<ErrorStack>() {
            return tls::reasons(stack);
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => return innermost.to_string(),
        }
    }
}
