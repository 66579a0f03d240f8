//! Requests to pmdaroot with their answers, and where the answers go.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::drive::{Machine, NoDropCell, Step};
use crate::root::Expected;
use crate::root::Sending;
use crate::root::container;
use crate::root::interrupted;
use crate::root::number;
use crate::root::room;
use crate::sys::root_socket::{self as socket, Call, SocketAnswer};
use crate::view::arg::Out;
use crate::view::buffer::{CBuffer, CField};
use pmda_core::error::{Error, Result};
use pmda_core::root::{self, Container, Start, Stop, kind};

/// What an answer is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'call> {
    /// The text about a container, of a type (ROOT-35). The outcome is its length.
    Text(c_int, CBuffer<'call>),
    /// The first process of a container, which is the outcome.
    Process,
    /// The process that was started and its descriptors (ROOT-37). One that nobody wants is closed
    ///
    Started(Out<'call, c_int>, [Out<'call, c_int>; 2]),
    /// How a process has ended; it is the outcome (ROOT-38).
    Ended(Out<'call, c_int>),
    /// Nothing more than that it has come (ROOT-39).
    Terminated,
}

impl Purpose<'_> {
    fn expected(self) -> Expected {
        match self {
            Purpose::Text(kind, _) => Expected::Container(kind),
            Purpose::Process => Expected::Container(kind::PROCESSID),
            Purpose::Started(..) => Expected::Start,
            Purpose::Ended(_) | Purpose::Terminated => Expected::Stop(kind::STOP),
        }
    }

    /// The size of the longest answer.
    fn size(self) -> usize {
        match self {
            Purpose::Text(..) | Purpose::Process => root::CONTAINER_SIZE + root::TEXT_ROOM,
            Purpose::Started(..) => root::START_SIZE + root::TEXT_ROOM,
            Purpose::Ended(_) | Purpose::Terminated => root::STOP_SIZE,
        }
    }

    /// Takes an answer of the right kind apart.
    fn take(self, message: &[u8], descriptors: [RawFd; 2]) -> Result<c_int> {
        match self {
            Purpose::Text(_, buffer) => store_name(Container::decode(message)?.name, buffer),
            Purpose::Process => Ok(Container::decode(message)?.pid),
            Purpose::Started(pid, places) => {
                pid.set(Start::decode(message)?.pid);
                for (place, descriptor) in places.into_iter().zip(descriptors) {
                    if place.is_null() {
                        socket::close(descriptor);
                    }
                    place.set(descriptor);
                }
                Ok(0)
            }
            Purpose::Ended(status) => {
                let end = Stop::decode(message)?;
                status.set(end.code);
                Ok(end.pid)
            }
            Purpose::Terminated => Stop::decode(message).map(|_| 0),
        }
    }
}

/// Stores a name and a NUL where C wants it, and gives its length. An empty name is no error for a
/// buffer of no size; else it becomes an empty string.
///
/// # Errors
/// `-E2BIG` when the buffer is too small.
pub(crate) fn store_name(name: &[u8], buffer: CBuffer<'_>) -> Result<c_int> {
    if !buffer.is_null() && (!name.is_empty() || buffer.size() > 0) {
        buffer.write_text(name)?;
    }
    Ok(number(name.len()))
}

/// A request and its answer.
pub(crate) struct RootRequest<'call> {
    request: Sending,
    purpose: Purpose<'call>,
    /// Not before the request was sent: the place for the answer.
    reply: NoDropCell<Vec<u8>>,
}

impl<'call> RootRequest<'call> {
    /// A request to be sent, and what its answer is for.
    pub(crate) fn new(fd: RawFd, request: Vec<u8>, purpose: Purpose<'call>) -> RootRequest<'call> {
        RootRequest {
            request: Sending::new(fd, request),
            purpose,
            reply: NoDropCell::none(),
        }
    }

    /// A request about a container (ROOT-35). Without a name the length is a process id, and no
    /// name is sent (ROOT-36, R-3).
    ///
    /// # Errors
    /// `-ENOTCONN` without a connection; as [`container`].
    pub(crate) fn about(
        fd: RawFd,
        kind: c_int,
        name: CField<'_>,
        purpose: Purpose<'call>,
    ) -> Result<RootRequest<'call>> {
        if fd < 0 {
            return Err(Error::os(libc::ENOTCONN));
        }
        let request = if name.is_null() {
            root::container(kind, name.length(), &[], 0, 0)?
        } else {
            container(kind, 0, name, 0)?
        };
        Ok(RootRequest::new(fd, request, purpose))
    }

    /// A request about the end of an agent.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn end(fd: RawFd, pid: c_int, force: bool, purpose: Purpose<'call>) -> Result<RootRequest<'call>> {
        let request = root::stop(kind::STOP_REQ, pid, 0, c_int::from(force), 0)?;
        Ok(RootRequest::new(fd, request, purpose))
    }

    fn sent(&mut self, sent: Result<c_int>) -> Result<Call> {
        sent?;
        self.reply.set(room(self.purpose.size())?);
        self.receive()
    }

    fn receive(&mut self) -> Result<Call> {
        let reply = self.reply.get().ok_or(Error::GENERIC)?;
        let expected = self.purpose.expected();
        Ok(expected.call(self.request.fd, reply.as_mut_ptr(), reply.len()))
    }

    fn finish(&mut self, answer: SocketAnswer) -> Result<c_int> {
        let reply = self.reply.take().unwrap_or_default();
        let expected = self.purpose.expected();
        let message = &reply[..expected.received(answer)?];
        expected
            .check(message)
            .and_then(|()| self.purpose.take(message, answer.1))
            .inspect_err(|_| answer.1.into_iter().for_each(socket::close))
    }
}

impl Machine for RootRequest<'_> {
    type Call = Call;
    type Answer = SocketAnswer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        self.request.start()
    }

    fn resume(&mut self, answer: SocketAnswer) -> Step<Call, Result<c_int>> {
        let next = match self.reply.get() {
            None => match self.request.resume(answer) {
                Step::Call(call) => Ok(call),
                Step::Done(sent) => self.sent(sent),
            },
            Some(_) if interrupted(&answer) => self.receive(),
            Some(_) => return Step::Done(self.finish(answer)),
        };
        match next {
            Ok(call) => Step::Call(call),
            Err(error) => Step::Done(Err(error)),
        }
    }
}
