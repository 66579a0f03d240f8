//! Debug output about PDUs: the bytes of each under `-Dpdu`, and requests under `-Dlibpmda`.

use std::os::fd::RawFd;

use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use pmda_core::log::Whole;
use pmda_core::wire::receive::Pdu;
use pmda_core::wire::{Way, debug_libpcp, debug_libpmda};

/// Shows a PDU that is sent or was received.
pub(crate) fn show(token: &mut Token, way: Way, fd: RawFd, pdu: &[u8]) {
    if log::debug(Debug::Pdu) {
        log::trace(token, debug_libpcp::dump(std::process::id(), way, fd, pdu).bytes());
    }
}

/// Shows a request. `context` is its client, for agents that get attributes of clients.
pub(crate) fn request(token: &mut Token, pdu: &Pdu, context: Option<i32>) {
    if !log::debug(Debug::Libpmda) {
        return;
    }
    if let Some(line) = debug_libpmda::request(pdu.header.kind, pdu.bytes(), context, SINCE_6_0_5) {
        log::debug_line!(token, "{}", Whole(line.bytes()));
    }
}
