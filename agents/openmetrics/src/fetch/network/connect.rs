//! Connections: by a proxy or without, with TLS or without.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use openssl::error::ErrorStack;
use tower_service::Service;

use super::address::Origin;
use super::connection::ConnectionPermits;
use super::dial::{Dialer, Way};
use super::header_text::bytes;
use super::proxy::Proxies;
use super::resolver::{self, LookUp, Resolver};
use super::stream::{Counted, Stream};
use super::tls::{self, Refused, Trust};
use crate::secret::Login;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// The reason why there is no connection.
pub(in crate::fetch) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Connects with servers, as the host says: by its proxies, with its certificates.
#[derive(Clone)]
pub(in crate::fetch) struct Connector {
    dialer: Dialer,
    /// The proxies of the host.
    pub proxies: Arc<Proxies>,
    /// The trust in proxies, and in the servers of sources without lines of their own.
    pub trust: Arc<Trust>,
}

impl Connector {
    /// A connector with these proxies, certificates and permits.
    pub fn new(proxies: Proxies, trust: Trust, permits: &Arc<ConnectionPermits>) -> Connector {
        Connector::looking_up(proxies, trust, permits, resolver::of_the_host)
    }

    /// A connector that finds hosts by this function.
    pub fn looking_up(proxies: Proxies, trust: Trust, permits: &Arc<ConnectionPermits>, look_up: LookUp) -> Connector {
        Connector {
            dialer: Dialer {
                resolver: Resolver::new(look_up),
                permits: Arc::clone(permits),
            },
            proxies: Arc::new(proxies),
            trust: Arc::new(trust),
        }
    }

    /// Connects with a server, which has to show what `trust` wants if it is one of `https:`.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self, origin: &Origin, trust: &Trust, way: &Way) -> Result<Stream, Error> {
        let Some(proxy) = self.proxies.of_origin(origin).map_err(Refused)? else {
            return self.direct(origin, trust, way).await;
        };
        let first = ToProxy {
            connector: self.clone(),
            origin: proxy.origin.clone(),
            way: way.clone(),
        };
        if !origin.is_secure {
            let mut stream = first.connect().await?;
            stream.is_proxied = true;
            return Ok(stream);
        }
        let mut tunnel = Tunnel::new(proxy.uri().map_err(Refused)?, first);
        if let Some(login) = &proxy.login {
            tunnel = tunnel.with_auth(basic(login)?);
        }
        let stream = tunnel
            .call(origin.bare().parse()?)
            .await
            .map_err(|error| by_proxy(&proxy.origin, &error))?;
        let exchange = stream.exchange();
        let stream = trust.connect(origin.bare_host(), stream.into_io()).await?;
        Ok(Stream::new(stream, exchange))
    }

    async fn direct(&self, origin: &Origin, trust: &Trust, way: &Way) -> Result<Stream, Error> {
        let (stream, address) = self.dialer.connect(origin, way).await?;
        let stream = Counted::new(stream, address);
        let exchange = stream.exchange();
        if origin.is_secure {
            let stream = trust.connect(origin.bare_host(), stream).await?;
            return Ok(Stream::new(stream, exchange));
        }
        Ok(Stream::new(stream, exchange))
    }
}

/// The first part of the way that leads through a proxy.
#[derive(Clone)]
struct ToProxy {
    connector: Connector,
    origin: Origin,
    way: Way,
}

impl ToProxy {
    async fn connect(self) -> Result<Stream, Error> {
        let connector = &self.connector;
        let connected = connector.direct(&self.origin, &connector.trust, &self.way).await;
        connected.map_err(|error| by_proxy(&self.origin, &*error))
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
        Box::pin(self.clone().connect())
    }
}

fn by_proxy(proxy: &Origin, error: &(dyn std::error::Error + 'static)) -> Error {
    Refused(format!("{} (by the proxy {proxy})", words(error))).into()
}

/// The header by which a user proves who asks.
///
/// # Errors
/// That no header can have it.
pub(in crate::fetch) fn basic(login: &Login) -> Result<HeaderValue, Refused> {
    let (user, password) = (login.user.reveal(), login.password.reveal());
    basic_of(&bytes(&format!("{user}:{password}")))
}

/// As [`basic`], with the bytes of user, colon and password.
///
/// # Errors
/// That no header can have it.
pub(in crate::fetch) fn basic_of(login: &[u8]) -> Result<HeaderValue, Refused> {
    let proof = format!("Basic {}", STANDARD.encode(login));
    let mut value = HeaderValue::from_str(&proof).map_err(|error| Refused(error.to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The words of the innermost cause of an error.
pub(in crate::fetch) fn words(error: &(dyn std::error::Error + 'static)) -> String {
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
