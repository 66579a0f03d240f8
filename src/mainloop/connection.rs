//! PDUs from pmcd, read by read, and PDUs to pmcd, write by write.
//!
//! `exports.rs` makes the reads and writes themselves, between the steps of this module: a thread
//! that is cancelled while it waits ends in `exports.rs`, where nothing is locked and nothing has
//! to be dropped.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::{fmt, io};

use crate::agent::LoopState;
use crate::boundary::NoDropCell;
use crate::sys;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{self, SINCE_6_0_5, SINCE_6_3_1};
use crate::sys::lock::Token;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver};
use pmda_core::wire::{Kind, Way, debug};

/// The result of a read or a write: a number of bytes, or -1 and the error number.
#[derive(Clone, Copy)]
pub(crate) struct IoResult(pub(crate) isize, pub(crate) c_int);

impl IoResult {
    /// The number of bytes.
    ///
    /// # Errors
    /// That of the system call.
    pub(crate) fn result(self) -> io::Result<usize> {
        usize::try_from(self.0).map_err(|_| io::Error::from_raw_os_error(self.1))
    }
}

/// Returns whether PDUs are shown under any debug option.
pub(crate) fn is_any_shown() -> bool {
    const OF_PDUS: [Debug; 2] = [Debug::Pdu, Debug::Libpmda];
    OF_PDUS.into_iter().any(log::debug)
}

/// The receipt of the next PDU from pmcd.
pub(crate) struct Incoming {
    loop_state: &'static LoopState,
    fd: c_int,
    /// True if the descriptor is a socket or a pipe without a name; `None` until that matters.
    nameless: Option<bool>,
    mode: ReadMode,
    /// The bytes so far.
    receiver: NoDropCell<Receiver>,
    /// The PDU or the failure, at the end.
    outcome: NoDropCell<std::result::Result<Pdu, Failure>>,
}

impl Incoming {
    /// Nothing is being received.
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

    /// Begins to receive a PDU from a descriptor. Only sockets and pipes without a name are read
    /// ahead: an agent may close a FIFO or a file and open it again, and has to find in it the
    /// bytes that it was not given. The kind of file is asked for once for each descriptor, as that
    /// takes as long as a read.
    pub(crate) fn begin(&mut self, token: &mut Token, fd: c_int, mode: ReadMode) {
        if self.fd != fd {
            (self.fd, self.nameless) = (fd, None);
        }
        let mut nameless = || *self.nameless.get_or_insert_with(|| sys::is_nameless(fd));
        self.mode = match mode {
            ReadMode::Ahead if nameless() => ReadMode::Ahead,
            _ => ReadMode::Exact,
        };
        self.receiver.set(self.loop_state.take_ahead(token, fd));
    }

    /// The next read, after the result of the last one: a descriptor, and a buffer with its size in
    /// bytes, which stays until the next step. `None` at the end: [`Incoming::take`] has the
    /// outcome.
    pub(crate) fn next(&mut self, token: &mut Token, read: Option<IoResult>) -> Option<(c_int, *mut u8, usize)> {
        match self.go_on(token, read) {
            Ok(Some((buffer, size))) => return Some((self.fd, buffer, size)),
            Ok(None) => {}
            Err(failure) => {
                self.give_up(token, failure);
                self.outcome.set(Err(failure));
            }
        }
        None
    }

    /// The place and size of the next read; `None` when the PDU is complete.
    ///
    /// # Errors
    /// The reason why no PDU was received.
    fn go_on(
        &mut self,
        token: &mut Token,
        read: Option<IoResult>,
    ) -> std::result::Result<Option<(*mut u8, usize)>, Failure> {
        let receiver = self.receiver.get().ok_or(Failure::NoMemory)?;
        if let Some(read) = read {
            receiver.filled(read.result())?;
        }
        if let Some(buffer) = receiver.read_buffer(self.mode)? {
            return Ok(Some((buffer.as_mut_ptr(), buffer.len())));
        }
        let pdu = receiver.take()?;
        if let Some(receiver) = self.receiver.take() {
            self.loop_state.keep(token, self.fd, receiver)?;
        }
        if is_any_shown() {
            show_pdu(token, Way::In, self.fd, pdu.bytes());
        }
        if pdu.is_end() {
            return Err(Failure::End);
        }
        self.outcome.set(Ok(pdu));
        Ok(None)
    }

    /// The PDU that was received.
    ///
    /// # Errors
    /// The reason why no PDU was received; the details are logged (MAIN-32).
    pub(crate) fn take(&mut self, token: &mut Token) -> std::result::Result<Pdu, Failure> {
        let outcome = self.outcome.take().unwrap_or(Err(Failure::NoMemory));
        outcome.inspect_err(|failure| log_failure(token, self.fd, *failure))
    }

    /// Ends the receipt after a failure. What was read ahead is kept.
    pub(crate) fn give_up(&mut self, token: &mut Token, failure: Failure) {
        if let Some(receiver) = self.receiver.take() {
            self.loop_state.give_up(token, self.fd, receiver, failure);
        }
    }
}

/// Logs the details of a failed read. Since PCP 6.3.1 that happens under `-Dpdu` only (MAIN-32).
fn log_failure(token: &mut Token, fd: c_int, failure: Failure) {
    if SINCE_6_3_1 && !log::debug(Debug::Pdu) {
        return;
    }
    failure.lines(fd, log::errstr, |line| log::notify!(token, Level::Err, "{line}"));
}

/// The purpose of a PDU that is sent, for the message if that fails.
#[derive(Clone, Copy)]
pub(crate) enum SendPurpose {
    /// The answer to a request of a kind; and the code, if the answer is an error.
    Answer(Kind, Option<i32>),
    /// The verdict of the check callback.
    Refusal(i32),
    /// A PDU whose failure is not logged here: the status of a store, as in the C library (MAIN-6),
    /// or one whose failure the caller logs.
    Status,
}

/// A call that a send has to make next.
pub(crate) enum WriteStep {
    /// Write these bytes to a descriptor. They stay at this address until the next step.
    Write(c_int, *const u8, usize),
    /// Wait until a descriptor can be written to.
    Wait(c_int),
}

/// The sending of a PDU to pmcd.
pub(crate) struct Outgoing {
    loop_state: &'static LoopState,
    fd: c_int,
    purpose: SendPurpose,
    /// The PDU.
    reply: NoDropCell<ResultBuilder>,
    /// The number of bytes that were written.
    written: usize,
    /// The outcome of the PDU that was sent last.
    pub(crate) outcome: Result<()>,
}

impl Outgoing {
    /// Nothing is being sent.
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

    /// Begins to send the PDU in a buffer.
    pub(crate) fn begin(&mut self, token: &mut Token, fd: c_int, purpose: SendPurpose, reply: ResultBuilder) {
        self.reply.set(reply);
        (self.fd, self.purpose, self.written) = (fd, purpose, 0);
        libpcp::__pmIgnoreSignalPIPE();
        if is_any_shown() {
            show_pdu(token, Way::Out, fd, self.bytes());
        }
    }

    /// Begins to send an ERROR with a code.
    pub(crate) fn begin_status(&mut self, token: &mut Token, fd: c_int, purpose: SendPurpose, code: c_int) {
        let mut reply = self.loop_state.take_reply(token);
        reply.reply().error(code);
        self.begin(token, fd, purpose, reply);
    }

    /// The bytes of the PDU; none if nothing is being sent.
    fn bytes(&mut self) -> &[u8] {
        self.reply.get().map_or(&[], |reply| reply.reply().bytes())
    }

    /// The next call, after the result of the last write. `None` when everything is sent, cannot be
    /// sent, or nothing was to be sent: `outcome` tells which. Interruptions do not cut a PDU
    /// short, a nonblocking descriptor is waited for, and a write of no bytes is a failure
    /// (WIRE-23).
    pub(crate) fn next(&mut self, token: &mut Token, write: Option<IoResult>) -> Option<WriteStep> {
        let broken = match write {
            None => None,
            Some(IoResult(count @ 1.., _)) => {
                self.written += count.unsigned_abs();
                None
            }
            // The next write would take nothing either. The error number is that of some earlier call.
            Some(IoResult(0, _)) => Some(libc::EIO),
            Some(IoResult(_, libc::EINTR)) => None,
            Some(IoResult(_, libc::EAGAIN)) => return Some(WriteStep::Wait(self.fd)),
            Some(IoResult(_, code)) => Some(code),
        };
        if let Some(code) = broken {
            let error = self.broken(code);
            self.end(token, Err(error));
            return None;
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

    /// The error for an error number of a write.
    fn broken(&self, code: c_int) -> Error {
        match code {
            // For an inet socket the error says only that the peer has closed the connection
            // (WIRE-24).
            libc::EPIPE | libc::ECONNRESET if libpcp::is_ipc_socket(self.fd) => Error::IPC,
            _ => Error::os(code),
        }
    }

    /// Ends the sending, and gives the buffer back. A failure is logged, and has no other effect
    /// (MAIN-6, WIRE-22).
    fn end(&mut self, token: &mut Token, outcome: Result<()>) {
        let fd = self.fd;
        if let Err(error) = outcome {
            let reason = log::errstr(error);
            match self.purpose {
                SendPurpose::Answer(request, code) => warn_of_answer(token, fd, request, code, &reason),
                SendPurpose::Refusal(code) => {
                    warn(
                        token,
                        format_args!("__pmSendError({fd},...,{code}) ACK failed:{reason}"),
                    );
                }
                SendPurpose::Status => {}
            }
        }
        (self.outcome, self.written) = (outcome, 0);
        if let Some(reply) = self.reply.take() {
            self.loop_state.give_reply(token, reply);
        }
    }
}

/// Logs that the answer to a request could not be sent (MAIN-31).
fn warn_of_answer(token: &mut Token, fd: i32, request: Kind, code: Option<i32>, reason: &dyn fmt::Display) {
    if let Some(code) = code {
        return warn(
            token,
            format_args!("__pmSendError({fd},...,{code}) {request} failed: {reason}"),
        );
    }
    let reply = match request {
        Kind::PDU_FETCH => "__pmSendResult",
        Kind::PDU_DESC_REQ => "__pmSendDesc",
        Kind::PDU_INSTANCE_REQ => "__pmSendInstance",
        Kind::PDU_TEXT_REQ => "__pmSendText",
        Kind::PDU_PMNS_NAMES => "__pmSendIDList",
        Kind::PDU_LABEL_REQ => "__pmSendLabel",
        // Requests that are answered by a list of names.
        _ => {
            return warn(
                token,
                format_args!("__pmSendNameList({fd},...) {request} failed: {reason}"),
            );
        }
    };
    warn(token, format_args!("{reply}({fd},...) failed: {reason}"));
}

/// Logs that a reply has failed: since PCP 6.0.5 as a warning with its own time stamp, before that
/// with severity `Debug` (MAIN-31).
fn warn(token: &mut Token, text: fmt::Arguments<'_>) {
    if SINCE_6_0_5 {
        log::warning!(token, "{text}");
    } else {
        log::notify!(token, Level::Debug, "{text}");
    }
}

/// Shows a PDU that is sent or was received, under `-Dpdu`.
fn show_pdu(token: &mut Token, way: Way, fd: RawFd, pdu: &[u8]) {
    if log::debug(Debug::Pdu) {
        log::trace(token, debug::dump(std::process::id(), way, fd, pdu).bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::state::testing::{ahead, step};

    /// An ERROR with a code, as pmcd sends it.
    fn pdu(code: u8) -> [u8; 16] {
        let kind = Kind::PDU_ERROR.0.to_be_bytes();
        let mut pdu = [0; 16];
        (pdu[3], pdu[15]) = (16, code);
        pdu[4..8].copy_from_slice(&kind);
        pdu
    }

    /// The state of a loop that lives as long as that of an agent.
    fn loop_state() -> &'static LoopState {
        Box::leak(Box::new(LoopState::new()))
    }

    /// PDUs that were read ahead need no read, and are returned in their order; then the stream is
    /// read (MAIN-53).
    #[test]
    fn read_ahead_is_taken_first() {
        step(|token| {
            let loop_state = loop_state();
            let stream = ahead(token, loop_state, &[pdu(1), pdu(2)].concat());
            let mut incoming = Incoming::nothing(loop_state);
            for code in [1, 2] {
                incoming.begin(token, stream.as_raw_fd(), ReadMode::Ahead);
                assert!(incoming.next(token, None).is_none());
                assert_eq!(incoming.take(token).expect("a PDU").bytes(), pdu(code));
            }
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Ahead);
            let read = incoming.next(token, None).expect("a read");
            assert_eq!(read.0, stream.as_raw_fd());
            assert!(read.2 > 16);
        });
    }

    /// After a part of a PDU, the next read is for exactly the rest if nothing is to be read ahead,
    /// also after an interruption, and otherwise for as much as the buffer has room for (WIRE-20).
    #[test]
    fn part_of_a_pdu_asks_for_the_rest() {
        step(|token| {
            let loop_state = loop_state();
            let stream = ahead(token, loop_state, &pdu(1)[..13]);
            let mut incoming = Incoming::nothing(loop_state);
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Exact);
            let (fd, buffer, size) = incoming.next(token, None).expect("a read");
            assert_eq!((fd, size), (stream.as_raw_fd(), 3));
            let again = incoming.next(token, Some(IoResult(-1, libc::EINTR)));
            assert_eq!(again, Some((fd, buffer, size)));
            let (_, next, size) = incoming.next(token, Some(IoResult(1, 0))).expect("a read");
            assert_eq!((next.addr() - buffer.addr(), size), (1, 2));
            assert!(incoming.next(token, Some(IoResult(2, 0))).is_none());
            assert_eq!(incoming.take(token).expect("a PDU").bytes().len(), 16);
        });
    }

    /// The end of the stream and a failed read end the receipt. The agent may go on all the same:
    /// the part of a PDU that was read is skipped (MAIN-53, WIRE-12).
    #[test]
    fn failed_read_ends_the_receipt() {
        step(|token| {
            let loop_state = loop_state();
            let mut incoming = Incoming::nothing(loop_state);
            let (stream, _peer) = UnixStream::pair().expect("a socket");
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Exact);
            let header = incoming.next(token, None).expect("a read").2;
            assert!(incoming.next(token, Some(IoResult(0, 0))).is_none());
            assert!(matches!(incoming.take(token), Err(Failure::End)));

            let stream = ahead(token, loop_state, &[&pdu(1)[..], &pdu(2)[..5]].concat());
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Ahead);
            assert!(incoming.next(token, None).is_none() && incoming.take(token).is_ok());
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Exact);
            assert_eq!(incoming.next(token, None).map(|read| read.2), Some(header - 5));
            assert!(incoming.next(token, Some(IoResult(-1, libc::EIO))).is_none());
            let failure = incoming.take(token);
            assert!(matches!(failure, Err(Failure::Unreadable(error)) if error == Error::os(libc::EIO)));
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Exact);
            assert_eq!(incoming.next(token, None).map(|read| read.2), Some(header));
        });
    }

    /// The bytes that were read after a faulty PDU are kept for the next receipt (WIRE-12).
    #[test]
    fn failed_pdu_leaves_the_next_one() {
        step(|token| {
            let loop_state = loop_state();
            let mut header = pdu(1);
            header[3] = 3;
            let stream = ahead(token, loop_state, &[&header[..12], &pdu(2)[..]].concat());
            let mut incoming = Incoming::nothing(loop_state);
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Ahead);
            assert!(incoming.next(token, None).is_none());
            assert!(matches!(incoming.take(token), Err(Failure::Length(_))));
            incoming.begin(token, stream.as_raw_fd(), ReadMode::Ahead);
            assert!(incoming.next(token, None).is_none());
            assert_eq!(incoming.take(token).expect("a PDU").bytes(), pdu(2));
        });
    }

    /// The length of the next write in bytes, and its offset from the first write.
    fn write(step: Option<WriteStep>, start: *const u8) -> Option<(usize, usize)> {
        match step? {
            WriteStep::Write(7, first, size) => Some((first.addr() - start.addr(), size)),
            WriteStep::Write(..) | WriteStep::Wait(_) => None,
        }
    }

    /// Begins to send an ERROR to descriptor 7; the answer has the address of its bytes.
    fn sending(token: &mut Token, purpose: SendPurpose) -> (Outgoing, *const u8) {
        let mut outgoing = Outgoing::nothing(loop_state());
        outgoing.begin_status(token, 7, purpose, -1);
        let start = outgoing.bytes().as_ptr();
        assert_eq!(write(outgoing.next(token, None), start), Some((0, 16)));
        (outgoing, start)
    }

    /// Each write goes on where the one before has ended; an interruption repeats it, and a full
    /// stream is waited for (WIRE-23).
    #[test]
    fn partial_writes_add_up() {
        step(|token| {
            let (mut outgoing, start) = sending(token, SendPurpose::Status);
            assert_eq!(write(outgoing.next(token, Some(IoResult(5, 0))), start), Some((5, 11)));
            let again = outgoing.next(token, Some(IoResult(-1, libc::EINTR)));
            assert_eq!(write(again, start), Some((5, 11)));
            let full = outgoing.next(token, Some(IoResult(-1, libc::EAGAIN)));
            assert!(matches!(full, Some(WriteStep::Wait(7))));
            assert_eq!(write(outgoing.next(token, None), start), Some((5, 11)));
            assert_eq!(write(outgoing.next(token, Some(IoResult(3, 0))), start), Some((8, 8)));
            assert!(outgoing.next(token, Some(IoResult(8, 0))).is_none());
            assert_eq!(outgoing.outcome, Ok(()));
            assert!(outgoing.next(token, None).is_none(), "nothing is left to send");
        });
    }

    /// A write that fails ends the PDU with that error, and the next PDU begins anew (WIRE-22). So
    /// does a write of no bytes, whatever an earlier call has left in errno (WIRE-23).
    #[test]
    fn failed_write_ends_the_pdu() {
        step(|token| {
            let gone = (IoResult(-1, libc::EPIPE), Err(Error::os(libc::EPIPE)));
            let nothing = |errno| (IoResult(0, errno), Err(Error::os(libc::EIO)));
            for (purpose, (written, outcome)) in [
                (SendPurpose::Status, gone),
                (SendPurpose::Refusal(-1), gone),
                (SendPurpose::Answer(Kind::PDU_FETCH, None), nothing(libc::EINTR)),
                (SendPurpose::Answer(Kind::PDU_DESC_REQ, Some(-1)), nothing(libc::EAGAIN)),
            ] {
                let (mut outgoing, start) = sending(token, purpose);
                assert_eq!(write(outgoing.next(token, Some(IoResult(5, 0))), start), Some((5, 11)));
                assert!(outgoing.next(token, Some(written)).is_none());
                assert_eq!(outgoing.outcome, outcome);
                assert!(outgoing.next(token, None).is_none(), "nothing is left to send");
                outgoing.begin_status(token, 7, purpose, -1);
                let start = outgoing.bytes().as_ptr();
                assert_eq!(write(outgoing.next(token, None), start), Some((0, 16)));
                assert!(outgoing.next(token, Some(IoResult(16, 0))).is_none());
                assert_eq!(outgoing.outcome, Ok(()));
            }
        });
    }
}
