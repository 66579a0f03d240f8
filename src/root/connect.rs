//! The connection to pmdaroot.

use std::ffi::c_int;
use std::fmt::Display;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use crate::drive::{Machine, NoDropCell, Step};
use crate::root::interrupted;
use crate::root::room;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::config;
use crate::sys::libpcp::ipc;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::root_socket::{self as socket, Address, Call, SocketAnswer};
use crate::view::arg::CText;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::path::joined;
use pmda_core::root::{self, Info};

/// Connects to pmdaroot and waits for its introduction (ROOT-30 to ROOT-33). The outcome is a
/// descriptor, or -1 when nobody answers.
pub(crate) struct Connecting {
    path: NoDropCell<Vec<u8>>,
    socket: NoDropCell<OwnedFd>,
    /// Not before the connection stands: the place for the introduction.
    message: NoDropCell<Vec<u8>>,
}

impl Connecting {
    /// A connection to the socket at a path, or at the usual place.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when PCP does not say where the usual place is; `-ENOMEM`.
    pub(crate) fn new(path: Option<CText<'_>>) -> Result<Connecting> {
        let path = match path {
            Some(path) => joined(&[path.bytes()]),
            None => {
                let directory = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
                joined(&[&directory, b"/pmcd/root.socket"])
            }
        };
        Ok(Connecting {
            path: NoDropCell::new(path?),
            socket: NoDropCell::none(),
            message: NoDropCell::none(),
        })
    }

    /// Writes a line with the path in it.
    fn say(&mut self, level: Level, before: &str, after: &dyn Display) {
        let path = self.path.get().map_or(&[][..], |path| path);
        log::notify!(level, "pmdaRootConnect: {before}{}{after}", pmda_core::log::Bytes(path));
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
        match Address::new(path) {
            Ok(address) => Ok(Call::Connect(fd, address)),
            Err(error) => self.connected(Err(error)),
        }
    }

    /// The connection stands, or not: without a log line, since agents try this at start-up.
    fn connected(&mut self, outcome: Result<usize>) -> Result<Call> {
        outcome.map_err(|error| {
            if log::debug(Debug::Libpmda) {
                let reason = log::os_text(-error.code());
                self.say(Level::Info, "cannot connect to ", &format_args!(": {reason}"));
            }
            Error::EPERM
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
            let reason = log::errstr(*error);
            self.say(Level::Err, "cannot verify ", &format_args!(" server: {reason}"));
        })?;
        let fd = self.socket.take().ok_or(Error::GENERIC)?.into_raw_fd();
        if log::debug(Debug::Libpmda) {
            let (version, features) = (info.version, info.features);
            self.say(
                Level::Info,
                "",
                &format_args!(" server fd={fd} version={version} features=0x{features:x}"),
            );
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
        cancel::disabled(|| drop((self.path.take(), self.socket.take(), self.message.take())));
        Step::Done(outcome)
    }
}

impl Machine for Connecting {
    type Call = Call;
    type Answer = SocketAnswer;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call, Result<c_int>> {
        let call = self.open();
        self.step(call)
    }

    fn resume(&mut self, answer: SocketAnswer) -> Step<Call, Result<c_int>> {
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
