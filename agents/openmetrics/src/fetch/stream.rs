//! The bytes of a connection, which are counted until the head of a reply is complete.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits;

/// What bytes go through: TCP, or TLS on top of it.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The bytes that may still come before the head of a reply is complete. A server may send interim
/// replies (100 Continue) without end, of which hyper tells nobody.
#[derive(Clone, Debug)]
pub(super) struct HeadLimit(Arc<AtomicUsize>);

impl HeadLimit {
    /// The number of bytes while none are counted.
    const OFF: usize = usize::MAX;

    /// Counts from here on: a request is sent.
    pub fn start(&self) {
        self.0.store(limits::HEAD, Relaxed);
    }

    /// Counts no more: the head of the reply is there, or no request is under way.
    pub fn stop(&self) {
        self.0.store(HeadLimit::OFF, Relaxed);
    }

    /// Whether no byte has come since the start.
    pub fn is_untouched(&self) -> bool {
        self.0.load(Relaxed) == limits::HEAD
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.load(Relaxed);
        if left == HeadLimit::OFF {
            return Ok(());
        }
        let left = left.checked_sub(bytes).ok_or_else(|| {
            io::Error::other(format!(
                "more than {} bytes have come before the head of a reply was complete",
                limits::HEAD
            ))
        })?;
        self.0.store(left, Relaxed);
        Ok(())
    }
}

/// Bytes that are counted as they are read.
struct Counted {
    io: Box<dyn Io>,
    limit: HeadLimit,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            self.limit.spend(buffer.filled().len() - before)?;
        }
        read
    }
}

impl AsyncWrite for Counted {
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

/// A stream of bytes, as hyper takes it.
pub(super) struct Stream {
    io: TokioIo<Counted>,
    /// Whether it leads to a proxy, which is asked for whole addresses.
    pub is_proxied: bool,
}

impl Stream {
    /// A stream that leads to the server itself.
    pub fn new(io: impl Io + 'static) -> Stream {
        Stream {
            io: TokioIo::new(Counted {
                io: Box::new(io),
                limit: HeadLimit(Arc::new(AtomicUsize::new(HeadLimit::OFF))),
            }),
            is_proxied: false,
        }
    }

    /// What bounds the heads of replies.
    pub fn head_limit(&self) -> HeadLimit {
        self.io.inner().limit.clone()
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
