//! The client of pmdaroot: sending, receiving, connecting, and requests with their answers.

mod connect;
pub(crate) mod exports;

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::drive::{Machine, NoDropCell, Step};
pub(crate) use crate::root::connect::Connecting;
use crate::sys::libpcp::log;
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::sys::root_socket::{self as socket, Call, NONE, SocketAnswer};
use crate::view::arg::Out;
use crate::view::buffer::{CBuffer, CField};
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::root::{self, Container, Info, START_DESCRIPTORS, Start, Stop, kind};

/// Whether a system call was interrupted by a signal. It is made again: else the next request would
/// read the answer.
fn interrupted(answer: &SocketAnswer) -> bool {
    answer.0.is_err_and(|error| error == Error::os(libc::EINTR))
}

/// Says why no message with descriptors was received.
fn tell(error: Error) {
    let errno = -error.code();
    let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
    let reason = log::os_text(errno);
    log::notify!(level, "recvmsg: {errno} {reason}");
}

/// A number of bytes as C gets it; messages are far shorter.
fn number(bytes: usize) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

/// Room for an answer.
fn room(size: usize) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(size).map_err(|_| Error::NOMEM)?;
    room.resize(size, 0);
    Ok(room)
}

/// Sends one message.
pub(crate) struct Sending {
    fd: RawFd,
    message: NoDropCell<Vec<u8>>,
    descriptors: [RawFd; 2],
}

impl Sending {
    /// A message to be sent.
    pub(crate) fn new(fd: RawFd, message: Vec<u8>) -> Sending {
        Sending::with_descriptors(fd, message, NONE)
    }

    /// A message to be sent with two descriptors, or with none if one of them is negative
    /// (ROOT-24).
    pub(crate) fn with_descriptors(fd: RawFd, message: Vec<u8>, descriptors: [RawFd; 2]) -> Sending {
        Sending {
            fd,
            message: NoDropCell::new(message),
            descriptors,
        }
    }
}

impl Machine for Sending {
    type Call = Call;
    type Answer = SocketAnswer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        socket::prepare();
        match self.message.get() {
            Some(message) => Step::Call(Call::Send(self.fd, message.as_ptr(), message.len(), self.descriptors)),
            None => Step::Done(Err(Error::GENERIC)),
        }
    }

    fn resume(&mut self, answer: SocketAnswer) -> Step<Call, Result<c_int>> {
        drop(self.message.take());
        Step::Done(answer.0.map(number))
    }
}

/// A message about a container, with the texts that C gives: exactly as many bytes of name as C
/// says (ROOT-21). The length is judged before the name is looked at.
///
/// # Errors
/// As [`root::container`], and `-EINVAL` without a name.
pub(crate) fn container(kind: c_int, pid: c_int, name: CField<'_>, status: c_int) -> Result<Vec<u8>> {
    root::container(kind, pid, &[], name.length(), status)?;
    root::container(kind, pid, name.bytes()?, name.length(), status)
}

/// A request to start an agent (ROOT-23).
///
/// # Errors
/// As [`root::start_request`], and `-EINVAL` without a text.
pub(crate) fn start_request(ipc: c_int, name: CField<'_>, arguments: CField<'_>) -> Result<Vec<u8>> {
    root::start_request(ipc, (&[], name.length()), (&[], arguments.length()))?;
    let (name_length, arguments_length) = (name.length(), arguments.length());
    root::start_request(
        ipc,
        (name.bytes()?, name_length),
        (arguments.bytes()?, arguments_length),
    )
}

/// The answer to a request to start an agent (ROOT-24).
///
/// # Errors
/// As [`root::start_reply`], and `-EINVAL` without a name.
pub(crate) fn start_reply(pid: c_int, name: CField<'_>, status: c_int) -> Result<Vec<u8>> {
    root::start_reply(pid, &[], name.length(), status)?;
    root::start_reply(pid, name.bytes()?, name.length(), status)
}

/// What is expected to arrive.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// A message about a container, of a type.
    Container(c_int),
    /// A request to start an agent.
    StartRequest,
    /// The answer to that, with descriptors.
    Start,
    /// A message about the end of an agent, of a type.
    Stop(c_int),
    /// The introduction of a server.
    Info,
}

impl Expected {
    /// Asks for the message.
    fn call(self, fd: RawFd, start: *mut u8, size: usize) -> Call {
        match self {
            Expected::Start => Call::ReceiveWith(fd, start, size),
            _ => Call::Receive(fd, start, size),
        }
    }

    /// Checks the message (ROOT-12).
    fn check(self, message: &[u8]) -> Result<()> {
        match self {
            Expected::Container(kind) => Container::receive(message, kind),
            Expected::StartRequest => Start::receive_request(message),
            Expected::Start => Start::receive_reply(message),
            Expected::Stop(kind) => Stop::receive(message, kind),
            Expected::Info => Info::receive(message).map(drop),
        }
    }

    /// Takes the outcome of the call: the number of bytes that have arrived.
    fn received(self, answer: SocketAnswer) -> Result<usize> {
        answer.0.inspect_err(|error| {
            if let Expected::Start = self {
                tell(*error);
            }
        })
    }
}

/// Receives a message into a buffer of C. Descriptors that came along, or -1, are put into their
/// fields (ROOT-25, R-6, R-7).
pub(crate) struct Receiving<'call> {
    fd: RawFd,
    expected: Expected,
    buffer: CBuffer<'call>,
}

impl<'call> Receiving<'call> {
    /// A message to be received.
    pub(crate) fn new(fd: RawFd, expected: Expected, buffer: CBuffer<'call>) -> Receiving<'call> {
        Receiving { fd, expected, buffer }
    }

    fn finish(&self, answer: SocketAnswer) -> Result<c_int> {
        let length = self.expected.received(answer)?;
        self.expected
            .check(self.buffer.filled(length))
            .inspect_err(|_| answer.1.into_iter().for_each(socket::close))?;
        if let Expected::Start = self.expected {
            for (offset, descriptor) in START_DESCRIPTORS.into_iter().zip(answer.1) {
                self.buffer.write(offset, &descriptor.to_ne_bytes());
            }
        }
        Ok(number(length))
    }
}

impl Machine for Receiving<'_> {
    type Call = Call;
    type Answer = SocketAnswer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        match self.buffer.room() {
            Ok((start, size)) => Step::Call(self.expected.call(self.fd, start, size)),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn resume(&mut self, answer: SocketAnswer) -> Step<Call, Result<c_int>> {
        if interrupted(&answer) {
            return self.start();
        }
        Step::Done(self.finish(answer))
    }
}

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
    /// Version and features of a server, which introduces itself unasked.
    Introduced(Out<'call, c_int>, Out<'call, c_int>),
}

impl Purpose<'_> {
    fn expected(self) -> Expected {
        match self {
            Purpose::Text(kind, _) => Expected::Container(kind),
            Purpose::Process => Expected::Container(kind::PROCESSID),
            Purpose::Started(..) => Expected::Start,
            Purpose::Ended(_) | Purpose::Terminated => Expected::Stop(kind::STOP),
            Purpose::Introduced(..) => Expected::Info,
        }
    }

    /// The size of the longest answer.
    fn size(self) -> usize {
        match self {
            Purpose::Text(..) | Purpose::Process => root::CONTAINER_SIZE + root::TEXT_ROOM,
            Purpose::Started(..) => root::START_SIZE + root::TEXT_ROOM,
            Purpose::Ended(_) | Purpose::Terminated => root::STOP_SIZE,
            Purpose::Introduced(..) => root::INFO_SIZE,
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
            Purpose::Introduced(version, features) => {
                let info = Info::receive(message)?;
                version.set(info.version);
                features.set(info.features);
                Ok(number(message.len()))
            }
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

    /// The introduction of a server, which nobody has to ask for.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn introduction(
        fd: RawFd,
        version: Out<'call, c_int>,
        features: Out<'call, c_int>,
    ) -> Result<RootRequest<'call>> {
        let mut request = RootRequest::new(fd, Vec::new(), Purpose::Introduced(version, features));
        request.reply.set(room(root::INFO_SIZE)?);
        Ok(request)
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
        match self.reply.get() {
            None => self.request.start(),
            Some(_) => self.receive().map_or_else(|error| Step::Done(Err(error)), Step::Call),
        }
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
