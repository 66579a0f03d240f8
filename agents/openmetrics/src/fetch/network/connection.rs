//! A connection with a server: one request at a time, and kept for the next ones.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::http::Uri;
use hyper::{Request, Response};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::address::Origin;
use super::stream::{Exchange, Stream};

/// The most that a connection reads ahead, in bytes; the head of a reply has to fit.
const BUFFER: usize = 128 << 10;

/// A task that ends when it is dropped.
pub(in crate::fetch) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    /// Starts a task.
    pub fn spawn(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Task(tokio::spawn(work))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A permit for each connection, since each is a descriptor: half of them for connections that are
/// kept between requests, the others for those of one request.
pub(in crate::fetch) struct ConnectionPermits {
    kept: Arc<Semaphore>,
    passing: Arc<Semaphore>,
}

impl ConnectionPermits {
    /// Permits for so many connections at a time.
    pub fn new(connections: usize) -> ConnectionPermits {
        let half = || Arc::new(Semaphore::new((connections / 2).max(1)));
        ConnectionPermits {
            kept: half(),
            passing: half(),
        }
    }

    /// Waits for the permit of a connection for one request. A task that has such a permit must not
    /// wait here: all tasks could wait for each other.
    ///
    /// # Errors
    /// None, as the semaphore is never closed.
    pub async fn take(&self) -> Result<ConnectionPermit, AcquireError> {
        Ok(ConnectionPermit {
            _permit: Arc::clone(&self.passing).acquire_owned().await?,
            is_kept: false,
        })
    }

    /// A permit for one more connection of a task that has one, if one is free.
    pub fn one_more(&self) -> Option<ConnectionPermit> {
        Some(ConnectionPermit {
            _permit: Arc::clone(&self.passing).try_acquire_owned().ok()?,
            is_kept: false,
        })
    }

    /// The permit of a connection that is kept, if one is free.
    fn keep(&self) -> Option<ConnectionPermit> {
        Some(ConnectionPermit {
            _permit: Arc::clone(&self.kept).try_acquire_owned().ok()?,
            is_kept: true,
        })
    }
}

/// The permit of a connection.
pub(in crate::fetch) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    is_kept: bool,
}

/// A connection. Dropped, it is closed.
pub(in crate::fetch) struct Connection {
    /// The server.
    pub origin: Origin,
    sender: SendRequest<Empty<Bytes>>,
    is_proxied: bool,
    exchange: Exchange,
    /// Reads and writes.
    work: Task<hyper::Result<()>>,
    permit: ConnectionPermit,
}

impl Connection {
    /// Begins HTTP on a stream.
    ///
    /// # Errors
    /// What hyper says.
    pub async fn start(origin: &Origin, stream: Stream, permit: ConnectionPermit) -> hyper::Result<Connection> {
        let (is_proxied, exchange) = (stream.is_proxied, stream.exchange());
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            .max_buf_size(BUFFER)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .handshake(stream)
            .await?;
        Ok(Connection {
            origin: origin.clone(),
            sender,
            is_proxied,
            exchange,
            work: Task::spawn(connection),
            permit,
        })
    }

    /// Sends a request for an address of its server, and waits for the head of the reply. `names`
    /// are those of headers, as the server gets them.
    ///
    /// # Errors
    /// What hyper says.
    pub async fn send(
        &mut self,
        mut request: Request<Empty<Bytes>>,
        uri: &Uri,
        names: Vec<String>,
    ) -> hyper::Result<Response<Incoming>> {
        *request.uri_mut() = match uri.path_and_query() {
            Some(target) if !self.is_proxied => target.clone().into(),
            _ => uri.clone(),
        };
        self.exchange.start(names);
        let response = match self.sender.ready().await {
            Ok(()) => self.sender.send_request(request).await,
            Err(error) => Err(error),
        };
        match response {
            // The connection knows why.
            Err(error) if error.is_closed() || error.is_canceled() => match (&mut self.work.0).await {
                Ok(Err(why)) => Err(why),
                _ => Err(error),
            },
            Err(error) => Err(error),
            Ok(response) => {
                self.exchange.begin_body();
                Ok(response)
            }
        }
    }

    /// The address of the server, or of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.exchange.address()
    }

    /// Returns whether no byte of a reply has arrived since the last request was sent.
    pub fn is_silent(&self) -> bool {
        self.exchange.is_untouched()
    }

    /// The next part of the body of its reply; `None` at the end.
    pub async fn next_data(&self, body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
        loop {
            match body.frame().await?.map(Frame::into_data) {
                Ok(Ok(data)) => {
                    self.exchange.take_body(data.len());
                    return Some(Ok(data));
                }
                // Headers after the body.
                Ok(Err(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns whether the server has not closed it.
    pub fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Takes a permit for connections that are kept. False if the connection is closed, or no such
    /// permit is free.
    pub fn stay(&mut self, permits: &ConnectionPermits) -> bool {
        if !self.is_open() {
            return false;
        }
        if !self.permit.is_kept {
            let Some(permit) = permits.keep() else { return false };
            self.permit = permit;
        }
        true
    }
}
