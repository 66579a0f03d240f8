//! The bytes of a connection: those of a request have the names of headers as its source writes
//! them, and those of a reply are counted as they come from the network, below TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits;

/// A stream of bytes: TCP, or TLS on top of it.
pub(in crate::fetch) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The request of a connection and its reply, of which hyper has its own opinion.
#[derive(Clone)]
pub(in crate::fetch) struct Exchange(Arc<Shared>);

struct Shared {
    /// The address of the server, or of the proxy.
    address: SocketAddr,
    /// The bytes that may still come from the network. A server may send bytes without end that are
    /// no part of a document, and that hyper and OpenSSL do not report: interim replies (100
    /// Continue), zeros in front of the length of a chunk, tickets and keys of TLS.
    left: AtomicUsize,
    /// True if bytes of a reply have arrived.
    has_reply: AtomicBool,
    /// True if the head of the reply is complete.
    is_body: AtomicBool,
    request: Mutex<Request>,
}

/// The head of a request. hyper writes the names of headers in lower or title case; some servers
/// want them as they are documented.
#[derive(Default)]
struct Request {
    names: Vec<String>,
    /// The whole head, with these names; empty before hyper has written it.
    head: Vec<u8>,
    /// The number of bytes of the head that were sent.
    sent: usize,
}

impl Exchange {
    /// The exchange of a connection that is being opened.
    fn new(address: SocketAddr) -> Exchange {
        Exchange(Arc::new(Shared {
            address,
            left: AtomicUsize::new(limits::HEAD),
            has_reply: AtomicBool::new(false),
            is_body: AtomicBool::new(false),
            request: Mutex::default(),
        }))
    }

    /// The address of the server, or of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Begins a request, whose head has these names of headers as they are.
    pub fn start(&self, names: Vec<String>) {
        *self.0.request.lock() = Request {
            names,
            ..Request::default()
        };
        self.0.has_reply.store(false, Relaxed);
        self.0.is_body.store(false, Relaxed);
        self.0.left.store(limits::HEAD, Relaxed);
    }

    /// Takes note that the head of the reply is complete.
    pub fn begin_body(&self) {
        self.0.is_body.store(true, Relaxed);
        self.0.left.store(limits::BESIDE_BODY, Relaxed);
    }

    /// Takes note of so many bytes of the body.
    pub fn take_body(&self, bytes: usize) {
        let more = bytes.saturating_mul(limits::WIRE_BYTES);
        let _ = self
            .0
            .left
            .fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_add(more)));
    }

    /// Returns whether no byte of a reply has arrived since the start.
    pub fn is_untouched(&self) -> bool {
        !self.0.has_reply.load(Relaxed)
    }

    /// Takes note of so many bytes from the network.
    fn spend(&self, bytes: usize) -> io::Result<()> {
        let spent = self
            .0
            .left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        if spent.is_ok() {
            return Ok(());
        }
        let what = if self.0.is_body.load(Relaxed) {
            "the server sends bytes without end that are no data of a document".to_owned()
        } else {
            format!(
                "more than {} bytes have arrived before the head of a reply was complete",
                limits::HEAD
            )
        };
        Err(io::Error::other(what))
    }
}

/// Writes the names of headers into a head in the case that they are given in.
fn respell(head: &mut [u8], names: &[String]) {
    for line in head.split_mut(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let written = &mut line[..colon];
        if let Some(name) = names.iter().find(|name| written.eq_ignore_ascii_case(name.as_bytes())) {
            written.copy_from_slice(name.as_bytes());
        }
    }
}

/// A connection of the network, whose bytes are counted.
pub(in crate::fetch) struct Counted<I> {
    io: I,
    exchange: Exchange,
}

impl<I> Counted<I> {
    /// Counts the bytes of a new connection with this address.
    pub fn new(io: I, address: SocketAddr) -> Counted<I> {
        Counted {
            io,
            exchange: Exchange::new(address),
        }
    }

    /// The exchange whose bytes are counted.
    pub fn exchange(&self) -> Exchange {
        self.exchange.clone()
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Counted<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            self.exchange.spend(buffer.filled().len() - before)?;
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Counted<I> {
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

/// The stream that hyper reads and writes.
struct Wire {
    io: Box<dyn Io>,
    exchange: Exchange,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.exchange.0.has_reply.store(true, Relaxed);
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Wire { io, exchange } = &mut *self;
        let mut request = exchange.0.request.lock();
        if request.names.is_empty() {
            return Pin::new(io).poll_write(context, bytes);
        }
        // A request has no body, and hyper writes its head at once, or on from where it was.
        let Request { names, head, sent } = &mut *request;
        if head.is_empty() {
            head.extend_from_slice(bytes);
            respell(head, names);
        }
        let rest = head.get(*sent..).filter(|rest| rest.len() == bytes.len());
        let written = Pin::new(io).poll_write(context, rest.unwrap_or(bytes));
        if let Poll::Ready(Ok(length)) = written {
            *sent += length;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// A stream of bytes, as hyper takes it.
pub(in crate::fetch) struct Stream {
    io: TokioIo<Wire>,
    /// True if it leads to a proxy, which is asked for whole addresses.
    pub is_proxied: bool,
}

impl Stream {
    /// A stream on top of a connection that leads to the server itself, with what is counted of it.
    pub fn new(io: impl Io + 'static, exchange: Exchange) -> Stream {
        Stream {
            io: TokioIo::new(Wire {
                io: Box::new(io),
                exchange,
            }),
            is_proxied: false,
        }
    }

    /// Its request and reply.
    pub fn exchange(&self) -> Exchange {
        self.io.inner().exchange.clone()
    }

    /// The stream inside.
    pub fn into_io(self) -> Box<dyn Io> {
        self.io.into_inner().io
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Names are sent as they are written, also where a head goes out in pieces; nothing else
    /// changes.
    #[tokio::test]
    async fn names_of_headers() {
        let head = "GET /x:Soapaction:y HTTP/1.1\r\nHost: h\r\nX-Api-Key: Soapaction: x\r\nSoapaction: \r\n\r\n";
        let expected = "GET /x:Soapaction:y HTTP/1.1\r\nHost: h\r\nX-API-KEY: Soapaction: x\r\nSOAPAction: \r\n\r\n";
        for (names, expected) in [(&["X-API-KEY", "SOAPAction", "Other"][..], expected), (&[], head)] {
            // The number of bytes that the stream takes at once.
            for size in [1, 7, 1000] {
                let (near, mut far) = tokio::io::duplex(size);
                let exchange = Exchange::new(([127, 0, 0, 1], 80).into());
                exchange.start(names.iter().map(|name| (*name).to_owned()).collect());
                let mut wire = Wire {
                    io: Box::new(near),
                    exchange,
                };
                let write = async move { wire.write_all(head.as_bytes()).await };
                let mut sent = String::new();
                let (written, read) = tokio::join!(write, far.read_to_string(&mut sent));
                assert!(written.is_ok() && read.is_ok());
                assert_eq!(sent, expected, "{size}");
            }
        }
    }
}
