//! Descriptors as streams of PDUs: one system call for a PDU wherever the kernel allows it.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;

use crate::sys::diagnostics;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{config, ipc};
use crate::sys::lock::Mutex;
use pmda_core::error::{Error, Result};
use pmda_core::wire::trace::{self, Ring, Way};
use pmda_core::wire::{Kind, number};

/// The PDUs of this process that went by last; shown when a handshake fails (WIRE-77).
static RECENT: Mutex<Ring> = Mutex::new(Ring::new());

/// A descriptor that belongs to the agent; it is never closed here (CONN-9).
#[derive(Clone, Copy)]
pub(crate) struct Channel(pub(crate) c_int);

/// What a descriptor stands for. Pipes and sockets are told apart by it even when one has got the
/// number of another that was closed, and one that was duplicated is known under both numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stream {
    device: libc::dev_t,
    inode: libc::ino64_t,
}

/// What a read or a write has given: a number of bytes, or -1; and the error number.
#[derive(Clone, Copy)]
pub(crate) struct Transferred(pub(crate) isize, pub(crate) c_int);

impl Transferred {
    /// The number of bytes, or the error.
    pub(crate) fn result(self) -> io::Result<usize> {
        usize::try_from(self.0).map_err(|_| io::Error::from_raw_os_error(self.1))
    }
}

/// How far a write has come.
#[derive(Clone, Copy)]
pub(crate) enum Written {
    /// This many bytes were written; the rest is to follow.
    Bytes(usize),
    /// The descriptor does not block, and takes nothing at this moment.
    Wait,
}

impl Channel {
    /// A PDU is about to be written; also gives whether to a socket, if that was of interest.
    pub(crate) fn announce(self, pdu: &[u8]) -> Option<bool> {
        config::ignore_sigpipe();
        if !diagnostics::is_any_shown() {
            return None;
        }
        diagnostics::sending(self.0, pdu);
        // libpcp asks itself before each write, and says what it finds.
        let shown = log::debug(Debug::Context) || log::debug(Debug::Pdu);
        let socket = shown.then(|| ipc::is_socket(self.0));
        self.show(Way::Out, pdu);
        socket
    }

    /// What to do after a part of a PDU of `length` bytes was written, or was not; `socket` is what
    /// [`Channel::announce`] has given.
    ///
    /// # Errors
    /// When nothing more can be written.
    pub(crate) fn written(self, write: Transferred, socket: Option<bool>, length: usize) -> Result<Written> {
        let Transferred(count, code) = write;
        if let Ok(count) = usize::try_from(count) {
            return Ok(Written::Bytes(count));
        }
        let error = match code {
            libc::EINTR => return Ok(Written::Bytes(0)),
            libc::EAGAIN => return Ok(Written::Wait),
            // Of an inet socket it is only told that the peer has gone (WIRE-24).
            libc::EPIPE | libc::ECONNRESET if socket.unwrap_or_else(|| ipc::is_socket(self.0)) => Error::IPC,
            _ => Error::os(code),
        };
        diagnostics::failed_write(socket == Some(true), code, length);
        Err(error)
    }

    /// Takes note of a PDU that was written as a whole.
    pub(crate) fn note_sent(self, pdu: &[u8]) {
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        RECENT.lock().note(Way::Out, kind, self.0, pdu.len());
    }

    /// What the descriptor stands for; `None` when it is not open.
    pub(crate) fn stream(self) -> Option<Stream> {
        let mut status = MaybeUninit::<libc::stat64>::uninit();
        // SAFETY: there is room for the structure, which is filled in when the call succeeds.
        let status = unsafe { (libc::fstat64(self.0, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }?;
        Some(Stream {
            device: status.st_dev,
            inode: status.st_ino,
        })
    }

    /// Whether it is a socket or a pipe without a name: what waits in one is gone when it is
    /// closed, and another one is another [`Stream`]. A FIFO or a file may be opened again.
    pub(crate) fn is_nameless(self) -> bool {
        // From linux/magic.h.
        const PIPEFS_MAGIC: i128 = 0x5049_5045;
        const SOCKFS_MAGIC: i128 = 0x534F_434B;
        let mut system = MaybeUninit::<libc::statfs64>::uninit();
        // SAFETY: there is room for the structure, which is filled in when the call succeeds.
        let system = unsafe { (libc::fstatfs64(self.0, system.as_mut_ptr()) == 0).then(|| system.assume_init()) };
        system.is_some_and(|system| matches!(system.f_type.into(), PIPEFS_MAGIC | SOCKFS_MAGIC))
    }

    /// Takes note of a PDU that was received.
    pub(crate) fn note_received(self, pdu: &[u8]) {
        self.show(Way::In, pdu);
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        RECENT.lock().note(Way::In, kind, self.0, pdu.len());
    }

    fn show(self, way: Way, pdu: &[u8]) {
        if log::debug(Debug::Pdu) {
            log::trace(trace::dump(std::process::id(), way, self.0, pdu).bytes());
        }
    }
}

/// Shows the PDUs that went by last.
pub(crate) fn show_recent() {
    let text = RECENT.lock().lines();
    log::trace(text.bytes());
}

/// Whether something is said of each single read.
pub(crate) fn traces_reads() -> bool {
    log::debug(Debug::Context) || is_desperate()
}

fn is_desperate() -> bool {
    log::debug(Debug::Pdu) && log::debug(Debug::Desperate)
}

/// What is said of each read of a PDU: first of its header, then of what belongs to it.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReadTrace {
    /// How much is wanted.
    asked: usize,
    /// How much of that is there.
    have: usize,
    socket: bool,
}

impl ReadTrace {
    /// A read is about to be made, for what is missing.
    pub(crate) fn announce(&mut self, channel: Channel, missing: usize) {
        if self.have == self.asked && missing > 0 {
            (self.asked, self.have) = (missing, 0);
            // libpcp asks itself each time, and says what it finds under -Dcontext.
            self.socket = ipc::is_socket(channel.0);
        }
    }

    /// Says what a read has given.
    pub(crate) fn read(&mut self, channel: Channel, read: Transferred) {
        let (fd, asked, call) = (
            channel.0,
            self.asked - self.have,
            if self.socket { "__pmRecv" } else { "read" },
        );
        let Transferred(count, code) = read;
        if let Ok(count) = usize::try_from(count) {
            self.have = self.asked.min(self.have + count);
        }
        if !is_desperate() {
            return;
        }
        if self.socket {
            log::trace!("secureconnect.c:__pmRecv({fd}, ..., {asked}, 0x0) -> {count}\n");
        }
        match count {
            0 => {
                // Nothing went wrong: the reason is what some earlier call has left.
                let reason = log::errstr_of(-code);
                log::trace!("pduread({fd}, ...): eof/error 0 from {call}: {reason}\n");
                log::trace!("pduread({fd}, ...): return {}\n", self.have);
            }
            1.. => {
                let (have, need) = (self.have, self.asked - self.have);
                log::trace!("pduread({fd}, ...): have {have}, last read {count}, still need {need}\n");
                if need == 0 {
                    log::trace!("pduread({fd}, ...): return {have}\n");
                }
            }
            _ if code == libc::EINTR => {}
            _ => {
                let reason = log::errstr_of(-code);
                log::trace!("pduread({fd}, ...): eof/error -1 from {call}: {reason}\n");
            }
        }
    }
}
