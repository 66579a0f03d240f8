//! Reading as libpcp does it, and saying what each read gave.

use std::io::{self, ErrorKind, Read};

use crate::sys::channel::Channel;
use crate::sys::libpcp::ipc;
use crate::sys::libpcp::log::{self, Debug};
use pmda_core::wire::receive::Source;

/// Whether something is said of each single read.
#[inline]
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
