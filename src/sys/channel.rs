//! Descriptors as streams of PDUs: one system call for a PDU wherever the kernel allows it.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read};
use std::mem::MaybeUninit;

use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{cancel, config, ipc};
use crate::sys::lock::Mutex;
use crate::sys::reentrancy::outside;
use crate::sys::{diagnostics, waits};
use pmda_core::error::{Error, Result};
use pmda_core::wire::receive::Source;
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

/// How far a write has come.
#[derive(Clone, Copy)]
pub(crate) enum Written {
    /// This many bytes were written; the rest is to follow.
    Bytes(usize),
    /// The descriptor does not block, and takes nothing at this moment.
    Wait,
}

impl Read for Channel {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is valid for writes of its length. A descriptor that is not open is an
        // error.
        let read = || unsafe { libc::read(self.0, out.as_mut_ptr().cast(), out.len()) };
        let count = outside(|| cancel::disabled(read));
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

impl Source for Channel {
    fn nameless(&mut self, pdu: &[u8]) {
        self.note_received(pdu);
    }
}

impl Channel {
    /// Sends one PDU: one write, and more only when the kernel takes less (WIRE-20). Interruptions
    /// do not cut it short, and a descriptor that does not block is waited for (WIRE-23).
    pub(crate) fn send(self, pdu: &[u8]) -> Result<()> {
        let socket = self.announce(pdu);
        let mut rest = pdu;
        while !rest.is_empty() {
            // SAFETY: the buffer is valid for reads of its length. A descriptor that is not open is
            // an error.
            let count = unsafe { libc::write(self.0, rest.as_ptr().cast(), rest.len()) };
            let outcome = usize::try_from(count).map_err(|_| io::Error::last_os_error());
            match self.written(outcome, socket, pdu.len())? {
                Written::Bytes(count) => rest = rest.get(count..).unwrap_or_default(),
                Written::Wait => self.wait(libc::POLLOUT),
            }
        }
        self.note_sent(pdu);
        Ok(())
    }

    /// A PDU is about to be written; also gives whether to a socket, if that was of interest.
    pub(crate) fn announce(self, pdu: &[u8]) -> Option<bool> {
        config::ignore_sigpipe();
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        diagnostics::sending(self.0, kind, pdu);
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
    pub(crate) fn written(self, outcome: io::Result<usize>, socket: Option<bool>, length: usize) -> Result<Written> {
        let error = match outcome {
            Ok(count) => return Ok(Written::Bytes(count)),
            Err(error) => error,
        };
        let next = self.recover(&error, socket);
        if next.is_err() {
            diagnostics::failed_write(socket == Some(true), &error, length);
        }
        next
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

    /// What to do after a failed write: go on at once, wait, or give up.
    fn recover(self, error: &io::Error, socket: Option<bool>) -> Result<Written> {
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(Written::Bytes(0)),
            Some(libc::EAGAIN) => Ok(Written::Wait),
            // Of an inet socket it is only told that the peer has gone (WIRE-24).
            Some(libc::EPIPE | libc::ECONNRESET) if socket.unwrap_or_else(|| ipc::is_socket(self.0)) => Err(Error::IPC),
            code => Err(code.map_or(Error::GENERIC, Error::os)),
        }
    }

    /// Waits until the descriptor is ready; an interruption ends the wait early, and the caller
    /// tries again.
    pub(crate) fn wait(self, events: libc::c_short) {
        outside(|| waits::ready(self.0, events));
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

/// A channel that says what each read gave; to be read to the byte, first a header, then what
/// belongs to it.
pub(crate) struct TracedChannel {
    channel: Channel,
    /// How much is wanted.
    asked: usize,
    /// How much of that is there.
    have: usize,
    socket: bool,
}

impl TracedChannel {
    pub(crate) fn new(channel: Channel) -> TracedChannel {
        TracedChannel {
            channel,
            asked: 0,
            have: 0,
            socket: false,
        }
    }
}

impl Source for TracedChannel {
    fn announce(&mut self, bytes: usize) {
        (self.asked, self.have) = (bytes, 0);
        // libpcp asks itself each time, and says what it finds under -Dcontext.
        self.socket = ipc::is_socket(self.channel.0);
    }

    fn nameless(&mut self, pdu: &[u8]) {
        self.channel.note_received(pdu);
    }
}

impl Read for TracedChannel {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let fd = self.channel.0;
        let result = self.channel.read(out);
        if !is_desperate() {
            return result;
        }
        if self.socket {
            let (asked, count) = (out.len(), result.as_ref().map_or(-1, |count| *count as isize));
            log::trace!("secureconnect.c:__pmRecv({fd}, ..., {asked}, 0x0) -> {count}\n");
        }
        let call = if self.socket { "__pmRecv" } else { "read" };
        match &result {
            Ok(0) => {
                // Nothing went wrong: the reason is what some earlier call has left.
                let reason = log::errstr_of(-io::Error::last_os_error().raw_os_error().unwrap_or(0));
                log::trace!("pduread({fd}, ...): eof/error 0 from {call}: {reason}\n");
                log::trace!("pduread({fd}, ...): return {}\n", self.have);
            }
            Ok(count) => {
                self.have += count;
                let need = self.asked.saturating_sub(self.have);
                let have = self.have;
                log::trace!("pduread({fd}, ...): have {have}, last read {count}, still need {need}\n");
                if need == 0 {
                    log::trace!("pduread({fd}, ...): return {have}\n");
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let reason = log::errstr_of(-error.raw_os_error().unwrap_or(0));
                log::trace!("pduread({fd}, ...): eof/error -1 from {call}: {reason}\n");
            }
        }
        result
    }
}
