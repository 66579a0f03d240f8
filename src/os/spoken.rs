//! What libpcp says under debug options while the C library sends and receives by it; our own codec says the same.

use std::ffi::c_int;
use std::io::{self, Read};

use super::channel::Channel;
use crate::libpcp::bindings::pmLabelSet;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::{self, ipc};
use crate::log::Bytes;
use crate::wire::{HEADER, Kind, codec, decode, number, word};

/// A PDU is about to be sent.
pub(crate) fn sending(channel: Channel, kind: Kind, pdu: &[u8]) {
    match kind {
        Kind::ERROR if log::debug(Debug::Context) => {
            let (code, version) = (number(pdu, HEADER).unwrap_or(0), ipc::version(channel.0));
            log::trace!("__pmSendError: sending error PDU (code={code}, toversion={version})\n");
        }
        Kind::CREDS if log::debug(Debug::Context) => {
            log::trace!("__pmSendCreds: #0 = {:x}\n", word(pdu, 16).unwrap_or(0));
        }
        Kind::INSTANCE if log::debug(Debug::Indom) => log::trace!("{}", codec::Instances(pdu)),
        Kind::PMNS_NAMES if log::debug(Debug::Pmns) => {
            log::trace!("__pmSendNameList\n{}{}", codec::Names(pdu), codec::States(pdu));
        }
        Kind::PMNS_IDS if log::debug(Debug::Pmns) => log::trace!("__pmSendIDList\n{}", codec::Ids(pdu)),
        _ => {}
    }
}

/// A PDU was received and is decoded now.
pub(crate) fn decoding(channel: Channel, kind: Kind, pdu: &[u8]) {
    match kind {
        Kind::ERROR if log::debug(Debug::Context) => {
            if let Ok(code) = decode::error(pdu) {
                let version = ipc::version(channel.0);
                log::trace!("__pmDecodeError: got error PDU (code={code}, fromversion={version})\n");
            }
        }
        Kind::ATTR if log::debug(Debug::Attr) && decode::attribute(pdu).is_ok() => {
            log::trace!("{}", codec::Attribute(pdu));
        }
        Kind::PMNS_NAMES if log::debug(Debug::Pmns) && decode::names_request(pdu).is_ok() => {
            log::trace!("__pmDecodeNameList\n{}", codec::Names(pdu));
        }
        Kind::PMNS_IDS if log::debug(Debug::Pmns) && decode::listed_id(pdu).is_some() => {
            log::trace!("__pmDecodeIDList\n{}", codec::Ids(pdu));
        }
        Kind::PMNS_CHILD | Kind::PMNS_TRAVERSE if log::debug(Debug::Pmns) => {
            if let Ok(request) = decode::names_below(pdu) {
                log::trace!("DecodeNameReq: name=\"{}\"\n", Bytes(request.name));
            }
        }
        _ => {}
    }
}

/// The peer's credentials are decoded now.
pub(crate) fn credentials(pdu: &[u8]) {
    if log::debug(Debug::Context) && decode::credentials(pdu).is_ok() {
        log::trace!("{}", codec::Credentials(pdu));
    }
}

/// Label sets are about to be sent.
///
/// # Safety
/// `sets` has `count` valid elements.
pub(crate) unsafe fn labels(ident: u32, kind: c_int, sets: *const pmLabelSet, count: c_int) {
    const KINDS: [&str; 6] = ["context", "domain", "indom", "cluster", "item", "instances"];
    log::trace!("__pmSendLabel(ident={},type={kind:#x}[", ident as i32);
    let named = KINDS.iter().enumerate().filter(|(bit, _)| kind & 1 << bit != 0);
    for (place, (_, name)) in named.enumerate() {
        log::trace!("{}{name}", if place == 0 { "" } else { "," });
    }
    log::trace!("], {count} sets @{sets:p})\n");
    // SAFETY: the contract is passed on.
    unsafe { libpcp::labels::dump(sets, count) };
}

/// Whether something is said of each single read.
#[inline]
pub(crate) fn of_reads() -> bool {
    log::debug(Debug::Context) || is_desperate()
}

fn is_desperate() -> bool {
    log::debug(Debug::Pdu) && log::debug(Debug::Desperate)
}

/// A channel that says what each read gave; to be read to the byte, first a header, then what belongs to it.
pub(crate) struct Loud {
    channel: Channel,
    /// What was asked for at first, until it is there.
    asked: Option<usize>,
}

impl Loud {
    pub(crate) fn new(channel: Channel) -> Loud {
        Loud { channel, asked: None }
    }
}

impl Read for Loud {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let fd = self.channel.0;
        let asked = self.asked.unwrap_or_else(|| {
            if log::debug(Debug::Context) {
                // libpcp asks itself each time, and says what it finds.
                ipc::is_socket(fd);
            }
            out.len()
        });
        let result = self.channel.read(out);
        let error = result.as_ref().err().map(|error| error.raw_os_error().unwrap_or(0));
        if error == Some(libc::EINTR) {
            self.asked = Some(asked);
            return result;
        }
        let count = result.as_ref().copied().unwrap_or(0);
        let need = out.len().saturating_sub(count);
        let have = asked.saturating_sub(need);
        let over = need == 0 || count == 0;
        self.asked = (!over).then_some(asked);
        if is_desperate() {
            if count > 0 {
                log::trace!("pduread({fd}, ...): have {have}, last read {count}, still need {need}\n");
            } else {
                let (status, reason) = (error.map_or(0, |_| -1), log::errstr_of(-error.unwrap_or(0)));
                log::trace!("pduread({fd}, ...): eof/error {status} from read: {reason}\n");
            }
            if over {
                let status = if error.is_some() { -1 } else { have as i64 };
                log::trace!("pduread({fd}, ...): return {status}\n");
            }
        }
        result
    }
}
