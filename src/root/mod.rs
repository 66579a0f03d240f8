//! The client of pmdaroot: sending, receiving, connecting, and requests with their answers.

mod connect;
pub(crate) mod exports;
mod request;

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::drive::{Machine, NoDropCell, Step};
pub(crate) use crate::root::connect::Connecting;
pub(crate) use crate::root::request::{Purpose, RootRequest, store_name};
use crate::sys::libpcp::log;
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::sys::root_socket::{self as socket, Call, NONE, SocketAnswer};
use crate::view::arg::Out;
use crate::view::buffer::{CBuffer, CField};
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::root::{self, Container, Info, START_DESCRIPTORS, Start, Stop};

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

/// Receives the introduction of a server, and stores version and features.
pub(crate) struct Introduction<'call> {
    fd: RawFd,
    version: Out<'call, c_int>,
    features: Out<'call, c_int>,
    message: NoDropCell<Vec<u8>>,
}

impl<'call> Introduction<'call> {
    /// An introduction to be received.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(
        fd: RawFd,
        version: Out<'call, c_int>,
        features: Out<'call, c_int>,
    ) -> Result<Introduction<'call>> {
        Ok(Introduction {
            fd,
            version,
            features,
            message: NoDropCell::new(room(root::INFO_SIZE)?),
        })
    }

    fn finish(&mut self, answer: SocketAnswer) -> Result<c_int> {
        let message = self.message.take().unwrap_or_default();
        let info = Info::receive(&message[..answer.0?])?;
        self.version.set(info.version);
        self.features.set(info.features);
        Ok(root::INFO_SIZE as c_int)
    }
}

impl Machine for Introduction<'_> {
    type Call = Call;
    type Answer = SocketAnswer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        match self.message.get() {
            Some(room) => Step::Call(Call::Receive(self.fd, room.as_mut_ptr(), room.len())),
            None => Step::Done(Err(Error::GENERIC)),
        }
    }

    fn resume(&mut self, answer: SocketAnswer) -> Step<Call, Result<c_int>> {
        if interrupted(&answer) {
            return self.start();
        }
        Step::Done(self.finish(answer))
    }
}
