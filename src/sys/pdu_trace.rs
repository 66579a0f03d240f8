//! What libpcp says under debug options while the C library sends and receives by it; our own codec
//! says the same.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::sys::libpcp;
use crate::sys::libpcp::ipc;
use crate::sys::libpcp::labels::PcpLabelSets;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use pmda_core::error::Error;
use pmda_core::log::Bytes;
use pmda_core::wire::debug_libpmda as shown;
use pmda_core::wire::receive::Pdu;
use pmda_core::wire::{HEADER, Kind, Way, debug_libpcp, decode, number, word};

/// A PDU is about to be sent; gives whether to a socket, if that is of interest.
pub(crate) fn sending(fd: RawFd, pdu: &[u8]) -> Option<bool> {
    encoded(fd, pdu);
    // libpcp asks itself before each write, and says what it finds.
    let shown = log::debug(Debug::Context) || log::debug(Debug::Pdu);
    let socket = shown.then(|| ipc::is_socket(fd));
    show(Way::Out, fd, pdu);
    socket
}

/// Shows a PDU as it is sent or was received.
pub(crate) fn show(way: Way, fd: RawFd, pdu: &[u8]) {
    if log::debug(Debug::Pdu) {
        log::trace(debug_libpcp::dump(std::process::id(), way, fd, pdu).bytes());
    }
}

/// A PDU was encoded.
fn encoded(fd: RawFd, pdu: &[u8]) {
    match Kind(number(pdu, 4).unwrap_or(0)) {
        Kind::PDU_ERROR if log::debug(Debug::Context) => {
            let (code, version) = (number(pdu, HEADER).unwrap_or(0), ipc::version(fd));
            log::trace!("__pmSendError: sending error PDU (code={code}, toversion={version})\n");
        }
        Kind::PDU_CREDS if log::debug(Debug::Context) => {
            log::trace!("__pmSendCreds: #0 = {:x}\n", word(pdu, 16).unwrap_or(0));
        }
        Kind::PDU_RESULT if log::debug(Debug::Pdu) => libpcp::decoders::show_sent(pdu),
        Kind::PDU_INSTANCE if log::debug(Debug::Indom) => log::trace!("{}", debug_libpcp::Instances(pdu)),
        Kind::PDU_PMNS_NAMES if log::debug(Debug::Pmns) => {
            log::trace!(
                "__pmSendNameList\n{}{}",
                debug_libpcp::Names(pdu),
                debug_libpcp::States(pdu)
            );
        }
        Kind::PDU_PMNS_IDS if log::debug(Debug::Pmns) => log::trace!("__pmSendIDList\n{}", debug_libpcp::Ids(pdu)),
        _ => {}
    }
}

/// Shows a request under -Dlibpmda, and says what its decoder says of it: behind the line before
/// PCP 6.0.5, inside of it, in front of the details, since then. `context` is its client, for
/// agents that are told of clients with attributes.
pub(crate) fn request(fd: RawFd, pdu: &Pdu, context: Option<i32>) {
    let (kind, bytes) = (pdu.header.kind, pdu.bytes());
    let line = if log::debug(Debug::Libpmda) {
        shown::request(kind, bytes, context, SINCE_6_0_5)
    } else {
        None
    };
    let Some(line) = line else {
        return decoding(fd, kind, bytes);
    };
    if SINCE_6_0_5 && [Debug::Pmns, Debug::Attr, Debug::Pdu].into_iter().any(log::debug) {
        let (head, details) = shown::split(kind, line.bytes());
        log::debug_start(head);
        decoding(fd, kind, bytes);
        log::trace!("{}\n", Bytes(details));
    } else {
        log::debug_line!("{}", Bytes(line.bytes()));
        decoding(fd, kind, bytes);
    }
}

/// A PDU was received and is decoded now.
fn decoding(fd: RawFd, kind: Kind, pdu: &[u8]) {
    if is_refused(kind, pdu) {
        // What it says of an error under -Dcontext depends on the descriptor that libpcp has read
        // from last.
        log::without(Debug::Context, || libpcp::decoders::show_refusal(kind, pdu));
        if kind != Kind::PDU_ERROR {
            return;
        }
    }
    match kind {
        Kind::PDU_ERROR if log::debug(Debug::Context) => {
            let (code, version) = (decode::error(pdu).unwrap_or_else(Error::code), ipc::version(fd));
            log::trace!("__pmDecodeError: got error PDU (code={code}, fromversion={version})\n");
        }
        Kind::PDU_RESULT if log::debug(Debug::Pdu) => libpcp::decoders::show_received(pdu),
        Kind::PDU_ATTR if log::debug(Debug::Attr) && decode::attribute(pdu).is_ok() => {
            log::trace!("{}", debug_libpcp::Attribute(pdu));
        }
        Kind::PDU_PMNS_NAMES if log::debug(Debug::Pmns) && decode::name_list(pdu).is_ok_and(|list| list.len() > 0) => {
            log::trace!("__pmDecodeNameList\n{}", debug_libpcp::Names(pdu));
        }
        Kind::PDU_PMNS_IDS if log::debug(Debug::Pmns) && decode::listed_id(pdu).is_some() => {
            log::trace!("__pmDecodeIDList\n{}", debug_libpcp::Ids(pdu));
        }
        Kind::PDU_PMNS_CHILD | Kind::PDU_PMNS_TRAVERSE if log::debug(Debug::Pmns) => {
            if let Ok(request) = decode::names_below(pdu) {
                log::trace!("DecodeNameReq: name=\"{}\"\n", Bytes(request.name));
            }
        }
        _ => {}
    }
}

/// Whether libpcp's decoder gives the reason why it cannot read a PDU: under -Dpdu, those of names
/// also under -Dpmns, since PCP 6.0.5.
fn is_refused(kind: Kind, pdu: &[u8]) -> bool {
    SINCE_6_0_5
        && (log::debug(Debug::Pdu) || log::debug(Debug::Pmns))
        && match kind {
            Kind::PDU_ERROR => decode::error(pdu).is_err(),
            Kind::PDU_PROFILE => decode::profile(pdu).is_err(),
            Kind::PDU_FETCH => decode::fetch_ids(pdu).is_err(),
            Kind::PDU_DESC_REQ => decode::desc_request(pdu).is_err(),
            Kind::PDU_INSTANCE_REQ => decode::instance_request(pdu).is_err(),
            Kind::PDU_TEXT_REQ => decode::text_request(pdu).is_err(),
            Kind::PDU_LABEL_REQ => decode::label_request(pdu).is_err(),
            Kind::PDU_CREDS => decode::credentials(pdu).map_or(true, |list| list.len() == 0),
            // Also one without names, of which it only says that there are none.
            Kind::PDU_PMNS_NAMES => decode::name_list(pdu).map_or(true, |list| list.len() == 0),
            Kind::PDU_PMNS_IDS => decode::listed_id(pdu).is_none(),
            Kind::PDU_PMNS_CHILD | Kind::PDU_PMNS_TRAVERSE => decode::names_below(pdu).is_err(),
            Kind::PDU_ATTR => decode::attribute(pdu).is_err(),
            _ => false,
        }
}

/// The peer's credentials are decoded now.
pub(crate) fn credentials(pdu: &[u8]) {
    if is_refused(Kind::PDU_CREDS, pdu) {
        return libpcp::decoders::show_refusal(Kind::PDU_CREDS, pdu);
    }
    if log::debug(Debug::Context) && decode::credentials(pdu).is_ok() {
        log::trace!("{}", debug_libpcp::Credentials(pdu));
    }
}

/// The first `count` label sets are about to be sent.
pub(crate) fn labels(ident: u32, kind: c_int, sets: &PcpLabelSets, count: c_int) {
    let name = Bytes(libpcp::labels::type_name(kind));
    log::trace!(
        "__pmSendLabel(ident={},type={kind:#x}[{name}], {count} sets @",
        ident as i32
    );
    if sets.is_none() {
        log::trace!("(nil))\n");
    } else {
        log::trace!("{:p})\n", sets.as_ptr());
    }
    sets.dump(count);
}

/// A PDU of `length` bytes could not be written.
#[cold]
pub(crate) fn failed_write(socket: bool, code: c_int, length: usize) {
    if !log::debug(Debug::Pdu) {
        return;
    }
    let call = if socket {
        "socket __pmSend()"
    } else {
        "non-socket write()"
    };
    log::trace!("__pmXmitPDU: {call} result -1 != {length}\n");
    if socket && matches!(code, libc::EPIPE | libc::ECONNRESET) {
        log::trace!("__pmXmitPDU: PM_ERR_IPC because __pmSocketClosed() (maybe error {code} from oserror())\n");
    } else {
        log::trace!("__pmXmitPDU: error -{code} from oserror()\n");
    }
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
    pub(crate) fn announce(&mut self, fd: RawFd, missing: usize) {
        if self.have == self.asked && missing > 0 {
            (self.asked, self.have) = (missing, 0);
            // libpcp asks itself each time, and says what it finds under -Dcontext.
            self.socket = ipc::is_socket(fd);
        }
    }

    /// Says what a read has given.
    pub(crate) fn read(&mut self, fd: RawFd, count: isize, code: c_int) {
        let asked = self.asked - self.have;
        let call = if self.socket { "__pmRecv" } else { "read" };
        match count {
            // Nothing more will come of this part.
            0 => self.asked = self.have,
            1.. => self.have = self.asked.min(self.have + count.unsigned_abs()),
            _ => {}
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
