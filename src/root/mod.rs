//! The client of pmdaroot: requests, answers, and the connection. The system calls that may wait
//! are made by `exports.rs`, between the steps here.

pub(crate) mod exports;

use std::ffi::c_int;
use std::fmt::Display;
use std::os::fd::{AsRawFd, RawFd};

use crate::boundary::NoDropCell;
use crate::sys::libpcp;
use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::sys::root_socket::{self as socket, Address, Received};
use crate::sys::socket::Socket;
use crate::view::arg::{CText, Out};
use crate::view::buffer::{CBuffer, CField};
use pmda_core::error::{Error, Result};
use pmda_core::log::{Level, PathBytes};
use pmda_core::path::joined;
use pmda_core::root::{self, ContainerPdu, InfoPdu, START_DESCRIPTORS, StartPdu, StopPdu, kind};

/// Logs why no message with descriptors was received.
fn tell(token: &mut Token, error: Error) {
    let errno = -error.code();
    let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
    let reason = log::os_text(errno);
    log::notify!(token, level, "recvmsg: {errno} {reason}");
}

/// A number of bytes as C's functions return it. Messages are far shorter than the largest `int`.
fn number(bytes: usize) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

/// A buffer of `size` bytes for an answer.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn answer_buffer(size: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(size).map_err(|_| Error::ENOMEM)?;
    buffer.resize(size, 0);
    Ok(buffer)
}

/// A request about a container (ROOT-35). If the name is NULL, its length is a process id, which is
/// sent in place of a name (ROOT-36, R-3).
///
/// # Errors
/// `-ENOTCONN` without a connection; those of [`root::container`].
pub(crate) fn about(fd: RawFd, kind: c_int, name: CField<'_>) -> Result<Vec<u8>> {
    if fd < 0 {
        return Err(Error::os(libc::ENOTCONN));
    }
    if name.is_null() {
        root::container(kind, name.length(), 0, || Ok(&[]), 0)
    } else {
        root::container(kind, 0, name.length(), || name.bytes(), 0)
    }
}

/// A request to start an agent (ROOT-23).
///
/// # Errors
/// Those of [`root::start_request`]; `-EINVAL` for a NULL text.
pub(crate) fn start_request(ipc: c_int, name: CField<'_>, arguments: CField<'_>) -> Result<Vec<u8>> {
    let lengths = (name.length(), arguments.length());
    root::start_request(ipc, lengths, || Ok((name.bytes()?, arguments.bytes()?)))
}

/// The message that is expected.
#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// About a container, of this type.
    Container(c_int),
    /// A request to start an agent.
    StartRequest,
    /// The answer to that, with descriptors.
    Start,
    /// About the end of an agent, of this type.
    Stop(c_int),
    /// The introduction of a server.
    Info,
}

impl Expected {
    /// Returns whether the message has descriptors beside it.
    pub(crate) fn with_descriptors(self) -> bool {
        matches!(self, Expected::Start)
    }

    /// Checks a message: size, type, version, status (ROOT-12).
    ///
    /// # Errors
    /// The first check that fails; the status of the message, if it is an error.
    fn check(self, message: &[u8]) -> Result<()> {
        match self {
            Expected::Container(kind) => ContainerPdu::receive(message, kind),
            Expected::StartRequest => StartPdu::receive_request(message),
            Expected::Start => StartPdu::receive_reply(message),
            Expected::Stop(kind) => StopPdu::receive(message, kind),
            Expected::Info => InfoPdu::receive(message).map(drop),
        }
    }

    /// The number of bytes that have arrived.
    ///
    /// # Errors
    /// That of the receive; one with descriptors is logged.
    fn arrived(self, token: &mut Token, received: &Received) -> Result<usize> {
        received.0.inspect_err(|error| {
            if self.with_descriptors() {
                tell(token, *error);
            }
        })
    }

    /// Takes a message that has arrived in a buffer of C, and returns its length. The descriptors
    /// beside it, or -1, are stored in their fields (ROOT-25, R-6, R-7).
    ///
    /// # Errors
    /// Those of the receive and of the check. The descriptors are closed.
    pub(crate) fn finish(self, token: &mut Token, buffer: CBuffer<'_>, received: Received) -> Result<c_int> {
        let length = self.arrived(token, &received)?;
        self.check(buffer.filled(length))
            .inspect_err(|_| close(token, received.1))?;
        if self.with_descriptors() {
            for (offset, descriptor) in START_DESCRIPTORS.into_iter().zip(received.1) {
                buffer.write(offset, &descriptor.to_ne_bytes());
            }
        }
        Ok(number(length))
    }
}

/// The answer that is expected, and where its content goes.
#[derive(Clone, Copy)]
pub(crate) enum RootAnswer<'call> {
    /// A text about a container, in a message of this type (ROOT-35). The outcome is its length.
    Text(c_int, CBuffer<'call>),
    /// The first process of a container, which is the outcome.
    Process,
    /// The process that was started, and its descriptors (ROOT-37). A descriptor whose place is
    /// NULL is closed.
    Started(Out<'call, c_int>, [Out<'call, c_int>; 2]),
    /// The exit status of a process. The process is the outcome (ROOT-38).
    Ended(Out<'call, c_int>),
    /// The answer says nothing but that it has arrived (ROOT-39).
    Terminated,
    /// Version and features of a server, which introduces itself without a request.
    Introduced(Out<'call, c_int>, Out<'call, c_int>),
}

impl RootAnswer<'_> {
    /// The message that the answer is in.
    pub(crate) fn expected(self) -> Expected {
        match self {
            RootAnswer::Text(kind, _) => Expected::Container(kind),
            RootAnswer::Process => Expected::Container(kind::PROCESSID),
            RootAnswer::Started(..) => Expected::Start,
            RootAnswer::Ended(_) | RootAnswer::Terminated => Expected::Stop(kind::STOP),
            RootAnswer::Introduced(..) => Expected::Info,
        }
    }

    /// The size of the longest such answer, in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            RootAnswer::Text(..) | RootAnswer::Process => root::CONTAINER_SIZE + root::TEXT_SIZE,
            RootAnswer::Started(..) => root::START_SIZE + root::TEXT_SIZE,
            RootAnswer::Ended(_) | RootAnswer::Terminated => root::STOP_SIZE,
            RootAnswer::Introduced(..) => root::INFO_SIZE,
        }
    }

    /// Takes an answer that has arrived in `reply`. Returns the outcome.
    ///
    /// # Errors
    /// Those of the receive and of the check. The descriptors are closed.
    pub(crate) fn finish(self, token: &mut Token, reply: &[u8], received: Received) -> Result<c_int> {
        let expected = self.expected();
        let message = &reply[..expected.arrived(token, &received)?];
        expected
            .check(message)
            .and_then(|()| self.take(token, message, received.1))
            .inspect_err(|_| close(token, received.1))
    }

    /// Decodes an answer that was checked, and stores its content.
    ///
    /// # Errors
    /// `-EINVAL` for a message that is too short; those of [`store_name`].
    fn take(self, token: &mut Token, message: &[u8], descriptors: [RawFd; 2]) -> Result<c_int> {
        match self {
            RootAnswer::Text(_, buffer) => store_name(ContainerPdu::decode(message)?.name, buffer),
            RootAnswer::Process => Ok(ContainerPdu::decode(message)?.pid),
            RootAnswer::Started(pid, outs) => {
                pid.set(StartPdu::decode(message)?.pid);
                for (out, descriptor) in outs.into_iter().zip(descriptors) {
                    if out.is_null() {
                        close(token, [descriptor, -1]);
                    }
                    out.set(descriptor);
                }
                Ok(0)
            }
            RootAnswer::Ended(status) => {
                let end = StopPdu::decode(message)?;
                status.set(end.code);
                Ok(end.pid)
            }
            RootAnswer::Terminated => StopPdu::decode(message).map(|_| 0),
            RootAnswer::Introduced(version, features) => {
                let info = InfoPdu::receive(message)?;
                version.set(info.version);
                features.set(info.features);
                Ok(number(message.len()))
            }
        }
    }
}

/// Closes descriptors that nobody gets: apart from the lock, as they may be of any file, and the
/// close of some waits.
fn close(token: &mut Token, descriptors: [RawFd; 2]) {
    token.apart(|| descriptors.into_iter().for_each(socket::close));
}

/// Stores a name and a NUL in a buffer, unless the buffer is NULL, and returns the length of the
/// name. An empty name is no error for a buffer of size 0; otherwise it becomes an empty string
///
///
/// # Errors
/// `-E2BIG` when the buffer is too small.
pub(crate) fn store_name(name: &[u8], buffer: CBuffer<'_>) -> Result<c_int> {
    if !buffer.is_null() && (!name.is_empty() || buffer.size() > 0) {
        buffer.write_text(name)?;
    }
    Ok(number(name.len()))
}

/// A connection to pmdaroot that is being made (ROOT-30 to ROOT-33).
pub(crate) struct Connecting {
    path: NoDropCell<Vec<u8>>,
    socket: NoDropCell<Socket>,
}

impl Connecting {
    /// A connection to the socket at a path, or for NULL at the usual place.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when pcp.conf does not name the usual place; `-ENOMEM`.
    pub(crate) fn new(token: &mut Token, path: Option<CText<'_>>) -> Result<Connecting> {
        let path = match path {
            Some(path) => joined(&[path.bytes()]),
            None => {
                let directory = token
                    .apart(|| libpcp::optional_config(c"PCP_VAR_DIR"))
                    .ok_or(Error::GENERIC)?;
                joined(&[&directory, b"/pmcd/root.socket"])
            }
        };
        Ok(Connecting {
            path: NoDropCell::new(path?),
            socket: NoDropCell::none(),
        })
    }

    /// Logs a line with the path.
    fn say(&self, token: &mut Token, level: Level, before: &str, after: &dyn Display) {
        let path = self.path.peek().map_or(&[][..], |path| path);
        log::notify!(token, level, "pmdaRootConnect: {before}{}{after}", PathBytes(path));
    }

    /// Opens the socket. Returns it, and the address to connect it to.
    ///
    /// # Errors
    /// The negated errno, which is logged, if the socket cannot be opened; `-EPERM` for a path that
    /// is too long.
    pub(crate) fn open(&mut self, token: &mut Token) -> Result<(RawFd, Address)> {
        let opened = socket::open();
        let socket = opened.inspect_err(|error| {
            let reason = log::os_text(-error.code());
            self.say(token, Level::Err, "cannot create socket ", &format_args!(": {reason}"));
        })?;
        let fd = socket.as_raw_fd();
        self.socket.set(socket);
        match Address::new(self.path.peek().map_or(&[][..], |path| path)) {
            Ok(address) => Ok((fd, address)),
            Err(error) => Err(self.refused(token, error)),
        }
    }

    /// Takes the result of the connect.
    ///
    /// # Errors
    /// `-EPERM`, that is -1.
    pub(crate) fn connected(&self, token: &mut Token, outcome: Result<usize>) -> Result<()> {
        outcome.map(drop).map_err(|error| self.refused(token, error))
    }

    /// The error of a connection that was refused: `-EPERM`, that is -1. It is logged under
    /// `-Dlibpmda` only, since agents try this when they start.
    fn refused(&self, token: &mut Token, error: Error) -> Error {
        if log::debug(Debug::Libpmda) {
            let reason = log::os_text(-error.code());
            self.say(token, Level::Info, "cannot connect to ", &format_args!(": {reason}"));
        }
        Error::EPERM
    }

    /// Takes the introduction of the server, or an error code. Returns the descriptor, which
    /// belongs to the caller from now on.
    ///
    /// # Errors
    /// That of the introduction, which is logged.
    pub(crate) fn introduced(
        &mut self,
        token: &mut Token,
        received: std::result::Result<c_int, c_int>,
        version: c_int,
        features: c_int,
    ) -> Result<c_int> {
        Error::check(received.unwrap_or_else(|code| code)).inspect_err(|error| {
            let reason = log::errstr(*error);
            self.say(token, Level::Err, "cannot verify ", &format_args!(" server: {reason}"));
        })?;
        let fd = self.socket.take().ok_or(Error::GENERIC)?.into_raw_fd();
        if log::debug(Debug::Libpmda) {
            self.say(
                token,
                Level::Info,
                "",
                &format_args!(" server fd={fd} version={version} features=0x{features:x}"),
            );
        }
        Ok(fd)
    }

    /// Frees the path, and closes the socket if it was not handed over.
    pub(crate) fn end(&mut self, token: &mut Token) {
        token.apart(|| drop((self.path.take(), self.socket.take())));
    }
}
