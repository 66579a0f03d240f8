//! PDUs from and to pmcd.
//!
//! `exports.rs` makes the reads and writes outside of any guard, where a cancelled thread may
//! leave.

use std::ffi::c_int;
use std::{fmt, io};

use crate::agent::LoopState;
use crate::boundary::NoDropCell;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::sys::libpcp::{config, ipc};
use crate::sys::lock::{Mutex, Token};
use crate::sys::{descriptor, pdu_trace};
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver};
use pmda_core::wire::{Kind, RecentPdus, Way, number};

/// The result of a read or a write: a number of bytes, or -1 and the error number.
#[derive(Clone, Copy)]
pub(crate) struct IoResult(pub(crate) isize, pub(crate) c_int);

impl IoResult {
    pub(crate) fn result(self) -> io::Result<usize> {
        usize::try_from(self.0).map_err(|_| io::Error::from_raw_os_error(self.1))
    }
}

/// The last PDUs of this process, for a failed handshake (WIRE-77).
static RECENT: Mutex<RecentPdus> = Mutex::new(RecentPdus::new());

fn note(token: &mut Token, way: Way, fd: c_int, pdu: &[u8]) {
    let kind = Kind(number(pdu, 4).unwrap_or(0));
    RECENT.lock(token).note(way, kind, fd, pdu.len());
}

pub(crate) fn show_recent(token: &mut Token) {
    let text = RECENT.lock(token).lines();
    log::trace(text.bytes());
}

/// Returns whether PDUs are shown under any debug option.
pub(crate) fn is_any_shown() -> bool {
    const OF_PDUS: [Debug; 4] = [Debug::Pdu, Debug::Libpmda, Debug::Indom, Debug::Attr];
    OF_PDUS.into_iter().any(log::debug)
}

pub(crate) struct Incoming {
    loop_state: &'static LoopState,
    fd: c_int,
    /// True for a socket or a pipe without a name; `None` until that matters.
    nameless: Option<bool>,
    mode: ReadMode,
    receiver: NoDropCell<Receiver>,
    outcome: NoDropCell<std::result::Result<Pdu, Failure>>,
}

impl Incoming {
    pub(crate) const fn nothing(loop_state: &'static LoopState) -> Incoming {
        Incoming {
            loop_state,
            fd: -1,
            nameless: None,
            mode: ReadMode::Exact,
            receiver: NoDropCell::none(),
            outcome: NoDropCell::none(),
        }
    }

    /// Starts to receive from a descriptor. Only sockets and pipes without a name are read ahead: a
    /// FIFO or a file may be closed and opened again. The kernel is asked once for each descriptor.
    pub(crate) fn begin(&mut self, token: &mut Token, fd: c_int, mode: ReadMode) {
        if self.fd != fd {
            (self.fd, self.nameless) = (fd, None);
        }
        let mut nameless = || *self.nameless.get_or_insert_with(|| descriptor::is_nameless(fd));
        self.mode = match mode {
            ReadMode::Ahead if nameless() => ReadMode::Ahead,
            _ => ReadMode::Exact,
        };
        self.receiver.set(self.loop_state.take_ahead(token, fd));
    }

    /// The next read, after the outcome of the last one: a descriptor, and a stable place with its
    /// size. `None` at the end: see [`Incoming::take`].
    pub(crate) fn next(&mut self, token: &mut Token, read: Option<IoResult>) -> Option<(c_int, *mut u8, usize)> {
        match self.go_on(token, read) {
            Ok(Some((place, size))) => return Some((self.fd, place, size)),
            Ok(None) => {}
            Err(failure) => {
                self.give_up(token, failure);
                self.outcome.set(Err(failure));
            }
        }
        None
    }

    fn go_on(
        &mut self,
        token: &mut Token,
        read: Option<IoResult>,
    ) -> std::result::Result<Option<(*mut u8, usize)>, Failure> {
        let receiver = self.receiver.get().ok_or(Failure::NoMemory)?;
        if let Some(read) = read {
            receiver.filled(read.result())?;
        }
        if let Some(room) = receiver.room(self.mode)? {
            return Ok(Some((room.as_mut_ptr(), room.len())));
        }
        let pdu = receiver.take()?;
        if let Some(receiver) = self.receiver.take() {
            self.loop_state.keep(token, self.fd, receiver)?;
        }
        if is_any_shown() {
            pdu_trace::show(Way::In, self.fd, pdu.bytes());
        }
        note(token, Way::In, self.fd, pdu.bytes());
        if pdu.is_end() {
            return Err(Failure::End);
        }
        self.outcome.set(Ok(pdu));
        Ok(None)
    }

    /// The PDU, or the failure, which is logged (MAIN-32).
    pub(crate) fn take(&mut self) -> std::result::Result<Pdu, Failure> {
        let outcome = self.outcome.take().unwrap_or(Err(Failure::NoMemory));
        outcome.inspect_err(|failure| log_failure(self.fd, *failure))
    }

    pub(crate) fn give_up(&mut self, token: &mut Token, failure: Failure) {
        if let Some(receiver) = self.receiver.take() {
            self.loop_state.give_up(token, self.fd, receiver, failure);
        }
    }
}

/// Logs the details of a failed read; later releases than 6.0.3 only under -Dpdu (WIRE-60).
fn log_failure(fd: c_int, failure: Failure) {
    if SINCE_6_0_5 && !log::debug(Debug::Pdu) {
        return;
    }
    failure.lines(fd, log::errstr, |line| log::notify!(Level::Err, "{line}"));
}

#[derive(Clone, Copy)]
pub(crate) enum SendPurpose {
    /// The answer to a request of a kind; the code, if it is an error.
    Answer(Kind, Option<i32>),
    /// The verdict of the check callback.
    Refusal(i32),
    /// The status of a store, whose failure the C library does not report either (MAIN-6), or what
    /// the caller reports.
    Status,
}

pub(crate) enum WriteStep {
    /// Writes bytes to a descriptor; they stay there until the next step.
    Write(c_int, *const u8, usize),
    /// Waits for a descriptor.
    Wait(c_int),
}

pub(crate) struct Outgoing {
    loop_state: &'static LoopState,
    fd: c_int,
    purpose: SendPurpose,
    reply: NoDropCell<ResultBuilder>,
    written: usize,
    /// The outcome of the last PDU.
    pub(crate) outcome: Result<()>,
}

impl Outgoing {
    pub(crate) const fn nothing(loop_state: &'static LoopState) -> Outgoing {
        Outgoing {
            loop_state,
            fd: -1,
            purpose: SendPurpose::Status,
            reply: NoDropCell::none(),
            written: 0,
            outcome: Ok(()),
        }
    }

    /// Starts to send what is in a buffer.
    pub(crate) fn begin(&mut self, fd: c_int, purpose: SendPurpose, reply: ResultBuilder) {
        self.reply.set(reply);
        (self.fd, self.purpose, self.written) = (fd, purpose, 0);
        config::__pmIgnoreSignalPIPE();
        if is_any_shown() {
            pdu_trace::show(Way::Out, fd, self.bytes());
        }
    }

    pub(crate) fn begin_status(&mut self, token: &mut Token, fd: c_int, purpose: SendPurpose, code: c_int) {
        let mut reply = self.loop_state.take_reply(token);
        reply.reply().error(code);
        self.begin(fd, purpose, reply);
    }

    fn bytes(&mut self) -> &[u8] {
        self.reply.get().map_or(&[], |reply| reply.reply().bytes())
    }

    /// The next step, after the result of the last write; `None` at the end. Interruptions do not
    /// cut a PDU short, and a nonblocking descriptor is waited for (WIRE-23).
    pub(crate) fn next(&mut self, token: &mut Token, write: Option<IoResult>) -> Option<WriteStep> {
        match write {
            None | Some(IoResult(_, libc::EINTR)) => {}
            Some(IoResult(count @ 0.., _)) => self.written += count.unsigned_abs(),
            Some(IoResult(_, libc::EAGAIN)) => return Some(WriteStep::Wait(self.fd)),
            Some(IoResult(_, code)) => {
                let error = self.broken(code);
                self.end(token, Err(error));
                return None;
            }
        }
        let (fd, written) = (self.fd, self.written);
        let rest = self.bytes().get(written..).unwrap_or_default();
        if !rest.is_empty() {
            return Some(WriteStep::Write(fd, rest.as_ptr(), rest.len()));
        }
        if written > 0 {
            self.end(token, Ok(()));
        }
        None
    }

    /// The error when nothing more can be written.
    fn broken(&self, code: c_int) -> Error {
        match code {
            // Of an inet socket only the end is told (WIRE-24).
            libc::EPIPE | libc::ECONNRESET if ipc::is_socket(self.fd) => Error::IPC,
            _ => Error::os(code),
        }
    }

    /// Gives the buffer back; a failure is logged (MAIN-6, WIRE-22).
    fn end(&mut self, token: &mut Token, outcome: Result<()>) {
        let fd = self.fd;
        match outcome {
            Ok(()) => note(token, Way::Out, fd, self.bytes()),
            Err(error) => {
                let reason = log::errstr(error);
                match self.purpose {
                    SendPurpose::Answer(request, code) => warn_of_answer(fd, request, code, &reason),
                    SendPurpose::Refusal(code) => {
                        warn(format_args!("__pmSendError({fd},...,{code}) ACK failed:{reason}"));
                    }
                    SendPurpose::Status => {}
                }
            }
        }
        (self.outcome, self.written) = (outcome, 0);
        if let Some(reply) = self.reply.take() {
            self.loop_state.give_reply(token, reply);
        }
    }
}

/// Logs that the answer to a request could not be sent (MAIN-31).
fn warn_of_answer(fd: i32, request: Kind, code: Option<i32>, reason: &dyn fmt::Display) {
    if let Some(code) = code {
        return warn(format_args!(
            "__pmSendError({fd},...,{code}) {request} failed: {reason}"
        ));
    }
    let reply = match request {
        Kind::PDU_FETCH => "__pmSendResult",
        Kind::PDU_DESC_REQ => "__pmSendDesc",
        Kind::PDU_INSTANCE_REQ => "__pmSendInstance",
        Kind::PDU_TEXT_REQ => "__pmSendText",
        Kind::PDU_PMNS_NAMES => "__pmSendIDList",
        Kind::PDU_LABEL_REQ => "__pmSendLabel",
        // Those with a list of names as the reply.
        _ => return warn(format_args!("__pmSendNameList({fd},...) {request} failed: {reason}")),
    };
    warn(format_args!("{reply}({fd},...) failed: {reason}"));
}

/// Logs a failed reply: a debug line before PCP 6.0.5, a warning with its own time stamp since
/// (MAIN-31).
fn warn(text: fmt::Arguments<'_>) {
    if SINCE_6_0_5 {
        log::warning!("{text}");
    } else {
        log::notify!(Level::Debug, "{text}");
    }
}
