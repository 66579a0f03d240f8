//! The client of pmdaroot: connecting, sending, receiving, and questions with their answers.

use std::ffi::c_int;
use std::fmt::Display;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

use super::{Kept, Machine, Step};
use crate::abi::arg::{CText, Out};
use crate::abi::buffer::{CBuffer, CField};
use crate::error::{Error, Result};
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::libpcp::{config, ipc};
use crate::log::Level;
use crate::log::Part::Raw;
use crate::os::root_socket::{self as socket, Address, Answer, Call, NONE};
use crate::root::{self, Container, Info, START_DESCRIPTORS, Start, Stop, kind};

/// Whether a system call was interrupted by a signal. It is made again: else the next request would
/// read the answer.
fn interrupted(answer: &Answer) -> bool {
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
    message: Kept<Vec<u8>>,
    descriptors: [RawFd; 2],
}

impl Sending {
    /// A message to be sent.
    pub(crate) fn new(fd: RawFd, message: Vec<u8>) -> Sending {
        Sending::with_descriptors(fd, message, NONE)
    }

    /// A message to be sent with two descriptors, or with none if one of them is negative (ROOT-24).
    pub(crate) fn with_descriptors(fd: RawFd, message: Vec<u8>, descriptors: [RawFd; 2]) -> Sending {
        Sending {
            fd,
            message: Kept::new(message),
            descriptors,
        }
    }
}

impl Machine for Sending {
    type Call = Call;
    type Answer = Answer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        socket::prepare();
        match self.message.get() {
            Some(message) => Step::Call(Call::Send(self.fd, message.as_ptr(), message.len(), self.descriptors)),
            None => Step::Done(Err(Error::GENERIC)),
        }
    }

    fn answer(&mut self, answer: Answer) -> Step<Call, Result<c_int>> {
        drop(self.message.take());
        Step::Done(answer.0.map(number))
    }
}

/// A message about a container, with the texts that C gives: exactly as many bytes of name as C says
/// (ROOT-21). The length is judged before the name is looked at.
///
/// # Errors
/// As [`root::container`], and `-EINVAL` without a name.
pub(crate) fn container(kind: c_int, pid: c_int, name: CField, status: c_int) -> Result<Vec<u8>> {
    root::container(kind, pid, &[], name.length(), status)?;
    root::container(kind, pid, name.bytes()?, name.length(), status)
}

/// A request to start an agent (ROOT-23).
///
/// # Errors
/// As [`root::start_request`], and `-EINVAL` without a text.
pub(crate) fn start_request(ipc: c_int, name: CField, arguments: CField) -> Result<Vec<u8>> {
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
pub(crate) fn start_reply(pid: c_int, name: CField, status: c_int) -> Result<Vec<u8>> {
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
    fn received(self, answer: Answer) -> Result<usize> {
        answer.0.inspect_err(|error| {
            if let Expected::Start = self {
                tell(*error);
            }
        })
    }
}

/// Receives a message into a buffer of C. Descriptors that came along, or -1, are put into their fields
/// (ROOT-25, R-6, R-7).
pub(crate) struct Receiving {
    fd: RawFd,
    expected: Expected,
    buffer: CBuffer,
}

impl Receiving {
    /// A message to be received.
    pub(crate) fn new(fd: RawFd, expected: Expected, buffer: CBuffer) -> Receiving {
        Receiving { fd, expected, buffer }
    }

    fn finish(&self, answer: Answer) -> Result<c_int> {
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

impl Machine for Receiving {
    type Call = Call;
    type Answer = Answer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        match self.buffer.room() {
            Ok((start, size)) => Step::Call(self.expected.call(self.fd, start, size)),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn answer(&mut self, answer: Answer) -> Step<Call, Result<c_int>> {
        if interrupted(&answer) {
            return self.start();
        }
        Step::Done(self.finish(answer))
    }
}

/// Receives the introduction of a server, and stores version and features.
pub(crate) struct Introduction {
    fd: RawFd,
    version: Out<c_int>,
    features: Out<c_int>,
    message: Kept<Vec<u8>>,
}

impl Introduction {
    /// An introduction to be received.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(fd: RawFd, version: Out<c_int>, features: Out<c_int>) -> Result<Introduction> {
        Ok(Introduction {
            fd,
            version,
            features,
            message: Kept::new(room(root::INFO_SIZE)?),
        })
    }

    fn finish(&mut self, answer: Answer) -> Result<c_int> {
        let message = self.message.take().unwrap_or_default();
        let info = Info::receive(&message[..answer.0?])?;
        self.version.set(info.version);
        self.features.set(info.features);
        Ok(root::INFO_SIZE as c_int)
    }
}

impl Machine for Introduction {
    type Call = Call;
    type Answer = Answer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        match self.message.get() {
            Some(room) => Step::Call(Call::Receive(self.fd, room.as_mut_ptr(), room.len())),
            None => Step::Done(Err(Error::GENERIC)),
        }
    }

    fn answer(&mut self, answer: Answer) -> Step<Call, Result<c_int>> {
        if interrupted(&answer) {
            return self.start();
        }
        Step::Done(self.finish(answer))
    }
}

/// Connects to pmdaroot and waits for its introduction (ROOT-30 to ROOT-33). The outcome is a
/// descriptor, or -1 when nobody answers.
pub(crate) struct Connecting {
    path: Kept<Vec<u8>>,
    socket: Kept<OwnedFd>,
    /// Not before the connection stands: the place for the introduction.
    message: Kept<Vec<u8>>,
}

impl Connecting {
    /// A connection to the socket at a path, or at the usual place.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when PCP does not say where the usual place is; `-ENOMEM`.
    pub(crate) fn new(path: Option<CText>) -> Result<Connecting> {
        let path = match path {
            Some(path) => crate::log::line(&[Raw(path.bytes())]),
            None => {
                let directory = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
                crate::log::line(&[Raw(&directory), Raw(b"/pmcd/root.socket")])
            }
        };
        Ok(Connecting {
            path: Kept::new(path.ok_or(Error::NOMEM)?),
            socket: Kept::none(),
            message: Kept::none(),
        })
    }

    /// Writes a line with the path in it.
    fn say(&mut self, level: Level, before: &str, after: &dyn Display) {
        let path = self.path.get().map_or(&[][..], |path| path);
        log::notify!(level, "pmdaRootConnect: {before}{}{after}", crate::log::Bytes(path));
    }

    fn open(&mut self) -> Result<Call> {
        let opened = socket::open();
        let socket = opened.inspect_err(|error| {
            let reason = log::os_text(-error.code());
            self.say(Level::Err, "cannot create socket ", &format_args!(": {reason}"));
        })?;
        let fd = socket.as_raw_fd();
        self.socket.set(socket);
        let path = self.path.get().map_or(&[][..], |path| path);
        Ok(Call::Connect(fd, Address::new(path)))
    }

    /// The connection stands, or not: without a log line, since agents try this at start-up.
    fn connected(&mut self, outcome: Result<usize>) -> Result<Call> {
        outcome.map_err(|error| {
            if log::debug(Debug::Libpmda) {
                let reason = log::os_text(-error.code());
                self.say(Level::Info, "cannot connect to ", &format_args!(": {reason}"));
            }
            Error::os(1)
        })?;
        self.message.set(room(root::INFO_SIZE)?);
        self.receive()
    }

    fn receive(&mut self) -> Result<Call> {
        let (socket, message) = (self.socket.get(), self.message.get());
        let (socket, message) = socket.zip(message).ok_or(Error::GENERIC)?;
        Ok(Call::Receive(socket.as_raw_fd(), message.as_mut_ptr(), message.len()))
    }

    fn introduced(&mut self, received: Result<usize>) -> Result<c_int> {
        let message = self.message.take().unwrap_or_default();
        let info = received.and_then(|length| Info::receive(&message[..length]));
        let info = info.inspect_err(|error| {
            let reason = log::os_text(-error.code());
            self.say(Level::Err, "cannot verify ", &format_args!(" server: {reason}"));
        })?;
        let fd = self.socket.take().ok_or(Error::GENERIC)?.into_raw_fd();
        if log::debug(Debug::Libpmda) {
            let (version, features) = (info.version, info.features);
            let found = format_args!(" server fd={fd} version={version} features=0x{features:x}");
            self.say(Level::Info, "", &found);
        }
        Ok(fd)
    }

    /// The next call, or the end: what is owned is dropped.
    fn step(&mut self, next: Result<Call>) -> Step<Call, Result<c_int>> {
        match next {
            Ok(call) => Step::Call(call),
            Err(error) => self.end(Err(error)),
        }
    }

    fn end(&mut self, outcome: Result<c_int>) -> Step<Call, Result<c_int>> {
        if let Some(socket) = self.socket.get() {
            // It is closed now.
            ipc::forget(socket.as_raw_fd());
        }
        drop((self.path.take(), self.socket.take(), self.message.take()));
        Step::Done(outcome)
    }
}

impl Machine for Connecting {
    type Call = Call;
    type Answer = Answer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        let call = self.open();
        self.step(call)
    }

    fn answer(&mut self, answer: Answer) -> Step<Call, Result<c_int>> {
        let next = match self.message.get() {
            None => self.connected(answer.0),
            Some(_) if interrupted(&answer) => self.receive(),
            Some(_) => {
                let outcome = self.introduced(answer.0);
                return self.end(outcome);
            }
        };
        self.step(next)
    }
}

/// What an answer is for.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The text about a container, of a type (ROOT-35). The outcome is its length.
    Text(c_int, CBuffer),
    /// The first process of a container, which is the outcome.
    Process,
    /// The process that was started and its descriptors (ROOT-37). One that nobody wants is closed.
    Started(Out<c_int>, [Out<c_int>; 2]),
    /// How a process has ended; it is the outcome (ROOT-38).
    Ended(Out<c_int>),
    /// Nothing more than that it has come (ROOT-39).
    Terminated,
}

impl Wanted {
    fn expected(self) -> Expected {
        match self {
            Wanted::Text(kind, _) => Expected::Container(kind),
            Wanted::Process => Expected::Container(kind::PROCESSID),
            Wanted::Started(..) => Expected::Start,
            Wanted::Ended(_) | Wanted::Terminated => Expected::Stop(kind::STOP),
        }
    }

    /// The size of the longest answer.
    fn size(self) -> usize {
        match self {
            Wanted::Text(..) | Wanted::Process => root::CONTAINER_SIZE + root::TEXT_ROOM,
            Wanted::Started(..) => root::START_SIZE + root::TEXT_ROOM,
            Wanted::Ended(_) | Wanted::Terminated => root::STOP_SIZE,
        }
    }

    /// Takes an answer of the right kind apart.
    fn take(self, message: &[u8], descriptors: [RawFd; 2]) -> Result<c_int> {
        match self {
            Wanted::Text(_, buffer) => store_name(Container::decode(message)?.name, buffer),
            Wanted::Process => Ok(Container::decode(message)?.pid),
            Wanted::Started(pid, places) => {
                pid.set(Start::decode(message)?.pid);
                for (place, descriptor) in places.into_iter().zip(descriptors) {
                    if place.is_null() {
                        socket::close(descriptor);
                    }
                    place.set(descriptor);
                }
                Ok(0)
            }
            Wanted::Ended(status) => {
                let end = Stop::decode(message)?;
                status.set(end.code);
                Ok(end.pid)
            }
            Wanted::Terminated => Stop::decode(message).map(|_| 0),
        }
    }
}

/// Stores a name and a NUL where C wants it, and gives its length. An empty name is no error for a
/// buffer of no size; else it becomes an empty string.
///
/// # Errors
/// `-E2BIG` when the buffer is too small.
pub(crate) fn store_name(name: &[u8], buffer: CBuffer) -> Result<c_int> {
    if !buffer.is_null() && (!name.is_empty() || buffer.size() > 0) {
        buffer.write_text(name)?;
    }
    Ok(number(name.len()))
}

/// A question and its answer.
pub(crate) struct Question {
    request: Sending,
    wanted: Wanted,
    /// Not before the request was sent: the place for the answer.
    reply: Kept<Vec<u8>>,
}

impl Question {
    /// A request to be sent, and what its answer is for.
    pub(crate) fn new(fd: RawFd, request: Vec<u8>, wanted: Wanted) -> Question {
        Question {
            request: Sending::new(fd, request),
            wanted,
            reply: Kept::none(),
        }
    }

    /// A question about a container (ROOT-35). Without a name the length is a process id, and no name is
    /// sent (ROOT-36, R-3).
    ///
    /// # Errors
    /// `-ENOTCONN` without a connection; as [`container`].
    pub(crate) fn about(fd: RawFd, kind: c_int, name: CField, wanted: Wanted) -> Result<Question> {
        if fd < 0 {
            return Err(Error::os(libc::ENOTCONN));
        }
        let request = if name.is_null() {
            root::container(kind, name.length(), &[], 0, 0)?
        } else {
            container(kind, 0, name, 0)?
        };
        Ok(Question::new(fd, request, wanted))
    }

    /// A question about the end of an agent.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn end(fd: RawFd, pid: c_int, force: bool, wanted: Wanted) -> Result<Question> {
        let request = root::stop(kind::STOP_REQ, pid, 0, c_int::from(force), 0)?;
        Ok(Question::new(fd, request, wanted))
    }

    fn sent(&mut self, sent: Result<c_int>) -> Result<Call> {
        sent?;
        self.reply.set(room(self.wanted.size())?);
        self.receive()
    }

    fn receive(&mut self) -> Result<Call> {
        let reply = self.reply.get().ok_or(Error::GENERIC)?;
        let expected = self.wanted.expected();
        Ok(expected.call(self.request.fd, reply.as_mut_ptr(), reply.len()))
    }

    fn finish(&mut self, answer: Answer) -> Result<c_int> {
        let reply = self.reply.take().unwrap_or_default();
        let expected = self.wanted.expected();
        let message = &reply[..expected.received(answer)?];
        expected
            .check(message)
            .and_then(|()| self.wanted.take(message, answer.1))
            .inspect_err(|_| answer.1.into_iter().for_each(socket::close))
    }
}

impl Machine for Question {
    type Call = Call;
    type Answer = Answer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        self.request.start()
    }

    fn answer(&mut self, answer: Answer) -> Step<Call, Result<c_int>> {
        let next = match self.reply.get() {
            None => match self.request.answer(answer) {
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
