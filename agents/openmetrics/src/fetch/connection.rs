//! A connection with a server: one request at a time, and kept for the next ones.

use std::future::Future;
use std::sync::Arc;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::http::Uri;
use hyper::{Request, Response};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::address::Origin;
use super::stream::{Heads, Stream};

/// The most that a connection reads ahead, in bytes; the head of a reply has to fit.
const BUFFER: usize = 128 << 10;

/// A task that ends when it is dropped.
pub(super) struct Task<T>(JoinHandle<T>);

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

/// The places of connections, since each is a descriptor: half of them for connections that are
/// kept between requests, the others for those of one request.
pub(super) struct Places {
    kept: Arc<Semaphore>,
    passing: Arc<Semaphore>,
}

impl Places {
    /// Places for so many connections at a time.
    pub fn new(connections: usize) -> Places {
        let half = || Arc::new(Semaphore::new((connections / 2).max(1)));
        Places {
            kept: half(),
            passing: half(),
        }
    }

    /// Waits for the place of a connection for one request. Nobody may wait here who has such a
    /// place: all could wait for each other.
    ///
    /// # Errors
    /// None, as places are never closed.
    pub async fn take(&self) -> Result<Place, AcquireError> {
        Ok(Place {
            _permit: Arc::clone(&self.passing).acquire_owned().await?,
            is_kept: false,
        })
    }

    /// The place of a connection that is kept, if one is free.
    fn keep(&self) -> Option<Place> {
        Some(Place {
            _permit: Arc::clone(&self.kept).try_acquire_owned().ok()?,
            is_kept: true,
        })
    }
}

/// The place of a connection.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    is_kept: bool,
}

/// A connection. Dropped, it is closed.
pub(super) struct Connection {
    /// The server.
    pub origin: Origin,
    sender: SendRequest<Empty<Bytes>>,
    is_proxied: bool,
    heads: Heads,
    /// Reads and writes.
    work: Task<hyper::Result<()>>,
    place: Place,
}

impl Connection {
    /// Begins HTTP on a stream.
    ///
    /// # Errors
    /// What hyper says.
    pub async fn start(origin: &Origin, stream: Stream, place: Place) -> hyper::Result<Connection> {
        let (is_proxied, heads) = (stream.is_proxied, stream.heads());
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
            heads,
            work: Task::spawn(connection),
            place,
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
        self.heads.start(names);
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
                self.heads.stop();
                Ok(response)
            }
        }
    }

    /// Whether nothing has come since the last request was sent.
    pub fn is_silent(&self) -> bool {
        self.heads.is_untouched()
    }

    /// Takes a place among the connections that are kept. False if it is closed, or none is free.
    pub fn stay(&mut self, places: &Places) -> bool {
        if self.sender.is_closed() {
            return false;
        }
        if !self.place.is_kept {
            let Some(place) = places.keep() else { return false };
            self.place = place;
        }
        true
    }
}
