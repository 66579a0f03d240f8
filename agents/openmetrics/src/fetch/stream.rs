//! The bytes of a connection: those of a request have the names of headers as its source writes
//! them, and those of a reply are counted until its head is complete.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits;

/// What bytes go through: TCP, or TLS on top of it.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The heads of a request and its reply, of which hyper has its own opinion.
#[derive(Clone)]
pub(super) struct Heads(Arc<Shared>);

struct Shared {
    /// The bytes that may still come before the head of the reply is complete. A server may send
    /// interim replies (100 Continue) without end, of which hyper tells nobody.
    left: AtomicUsize,
    request: Mutex<Request>,
}

/// The head of a request. hyper writes the names of headers in lower or title case; some servers
/// want them as they are documented.
#[derive(Default)]
struct Request {
    names: Vec<String>,
    /// The whole head, with these names; empty before hyper has written it.
    head: Vec<u8>,
    /// How much of the head was sent, in bytes.
    sent: usize,
}

impl Heads {
    /// The number of bytes while none are counted.
    const OFF: usize = usize::MAX;

    fn new() -> Heads {
        Heads(Arc::new(Shared {
            left: AtomicUsize::new(Heads::OFF),
            request: Mutex::default(),
        }))
    }

    /// Begins a request, whose head has these names of headers as they are.
    pub fn start(&self, names: Vec<String>) {
        *self.0.request.lock() = Request {
            names,
            ..Request::default()
        };
        self.0.left.store(limits::HEAD, Relaxed);
    }

    /// Takes note that the head of the reply is complete.
    pub fn stop(&self) {
        self.0.left.store(Heads::OFF, Relaxed);
    }

    /// Whether no byte has come since the start.
    pub fn is_untouched(&self) -> bool {
        self.0.left.load(Relaxed) == limits::HEAD
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.left.load(Relaxed);
        if left == Heads::OFF {
            return Ok(());
        }
        let left = left.checked_sub(bytes).ok_or_else(|| {
            io::Error::other(format!(
                "more than {} bytes have come before the head of a reply was complete",
                limits::HEAD
            ))
        })?;
        self.0.left.store(left, Relaxed);
        Ok(())
    }
}

/// Writes the names of headers into a head as they are, whatever their case is there.
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

/// What hyper reads and writes.
struct Wire {
    io: Box<dyn Io>,
    heads: Heads,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            self.heads.spend(buffer.filled().len() - before)?;
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Wire { io, heads } = &mut *self;
        let mut request = heads.0.request.lock();
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
pub(super) struct Stream {
    io: TokioIo<Wire>,
    /// Whether it leads to a proxy, which is asked for whole addresses.
    pub is_proxied: bool,
}

impl Stream {
    /// A stream that leads to the server itself.
    pub fn new(io: impl Io + 'static) -> Stream {
        Stream {
            io: TokioIo::new(Wire {
                io: Box::new(io),
                heads: Heads::new(),
            }),
            is_proxied: false,
        }
    }

    /// The heads of its requests and replies.
    pub fn heads(&self) -> Heads {
        self.io.inner().heads.clone()
    }

    /// What it was made of.
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
            // So many bytes are taken at once.
            for size in [1, 7, 1000] {
                let (near, mut far) = tokio::io::duplex(size);
                let heads = Heads::new();
                heads.start(names.iter().map(|name| (*name).to_owned()).collect());
                let mut wire = Wire {
                    io: Box::new(near),
                    heads: heads.clone(),
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
