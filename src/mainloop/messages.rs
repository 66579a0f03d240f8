//! What the main loop says of PDUs, and of streams that fail.

use crate::mainloop::Agent;
use crate::sys::channel::Channel;
use crate::sys::diagnostics;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use pmda_core::log::{Bytes, Level};
use pmda_core::wire::receive::{Failure, Pdu};
use pmda_core::wire::{Kind, show};

/// Shows what has come; 0 stands for the end of the stream.
pub(super) fn log_kind(kind: Kind) {
    if log::debug(Debug::Pdu) && log::debug(Debug::Desperate) {
        log::trace!("__pmdaMainPDU: got PDU type {kind} from pmcd\n");
    }
}

/// Logs the details of a failed read; later releases than 6.0.3 do so only under -Dpdu (WIRE-60).
pub(crate) fn log_failure(channel: Channel, failure: Failure) {
    if SINCE_6_0_5 && !log::debug(Debug::Pdu) {
        return;
    }
    failure.lines(channel.0, log::errstr, |line| log::notify!(Level::Err, "{line}"));
}

/// Shows a request under -Dlibpmda, and says what its decoder says of it: behind the line before
/// PCP 6.0.5, inside of it, in front of the details, since then.
pub(super) fn show_request(agent: Agent<'_>, pdu: &Pdu) {
    let kind = pdu.header.kind;
    let decode = || diagnostics::decoding(agent.ext.infd(), kind, pdu.bytes());
    let line = if log::debug(Debug::Libpmda) {
        let context = agent.interface().has_attributes().then_some(pdu.header.from);
        show::request(kind, pdu.bytes(), context, SINCE_6_0_5)
    } else {
        None
    };
    let Some(line) = line else { return decode() };
    if SINCE_6_0_5 && [Debug::Pmns, Debug::Attr, Debug::Pdu].into_iter().any(log::debug) {
        let (head, details) = show::split(kind, line.bytes());
        log::debug_start(head);
        decode();
        log::trace!("{}\n", Bytes(details));
    } else {
        log::debug_line!("{}", Bytes(line.bytes()));
        decode();
    }
}
