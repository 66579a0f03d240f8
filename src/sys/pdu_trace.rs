//! Debug output that libpcp writes where the C library calls it: PDUs under `-Dpdu`, instances
//! under `-Dindom`, attributes under `-Dattr`, label sets under `-Dlabels`; and requests under
//! `-Dlibpmda`.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::sys::libpcp;
use crate::sys::libpcp::labels::PcpLabelSets;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::sys::lock::Token;
use pmda_core::log::{Bytes, Whole};
use pmda_core::wire::debug_libpmda as shown;
use pmda_core::wire::receive::Pdu;
use pmda_core::wire::{Kind, Way, debug_libpcp, decode, number};

/// Shows a PDU that is sent or was received.
pub(crate) fn show(token: &mut Token, way: Way, fd: RawFd, pdu: &[u8]) {
    // libpcp shows instances while it encodes them, before the PDU.
    let kind = Kind(number(pdu, 4).unwrap_or(0));
    if way == Way::Out && kind == Kind::PDU_INSTANCE && log::debug(Debug::Indom) {
        log::trace!(token, "{}", debug_libpcp::Instances(pdu));
    }
    if log::debug(Debug::Pdu) {
        log::trace(token, debug_libpcp::dump(std::process::id(), way, fd, pdu).bytes());
    }
}

/// Shows a request under `-Dlibpmda`, and its attribute under `-Dattr`: since PCP 6.0.5 between the
/// start of the line and its details, before that behind the line. `context` is the client of the
/// request, for agents that get attributes of clients.
pub(crate) fn request(token: &mut Token, pdu: &Pdu, context: Option<i32>) {
    let (kind, bytes) = (pdu.header.kind, pdu.bytes());
    let line = if log::debug(Debug::Libpmda) {
        shown::request(kind, bytes, context, SINCE_6_0_5)
    } else {
        None
    };
    let Some(line) = line else {
        return attribute(token, kind, bytes);
    };
    if SINCE_6_0_5 && log::debug(Debug::Attr) {
        let (head, details) = shown::split(kind, line.bytes());
        log::debug_start(token, head);
        attribute(token, kind, bytes);
        log::trace!(token, "{}\n", Whole(details));
    } else {
        log::debug_line!(token, "{}", Whole(line.bytes()));
        attribute(token, kind, bytes);
    }
}

/// Shows the attribute of an ATTR under -Dattr.
fn attribute(token: &mut Token, kind: Kind, pdu: &[u8]) {
    if kind == Kind::PDU_ATTR && log::debug(Debug::Attr) && decode::attribute(pdu).is_ok() {
        log::trace!(token, "{}", debug_libpcp::AttributeDump(pdu));
    }
}

/// Shows `count` label sets that are sent, as libpcp does under `-Dlabels`.
pub(crate) fn labels(token: &mut Token, ident: u32, kind: c_int, sets: &PcpLabelSets, count: c_int) {
    let name = Bytes(libpcp::labels::type_name(kind));
    log::trace!(
        token,
        "__pmSendLabel(ident={},type={kind:#x}[{name}], {count} sets @",
        ident as i32
    );
    if sets.is_none() {
        log::trace!(token, "(nil))\n");
    } else {
        log::trace!(token, "{:p})\n", sets.as_ptr());
    }
    sets.dump(token, count);
}
