//! What libpcp shows of a result under -Dpdu: its own decoder reads the PDU for that, and its own
//! function prints.

use std::ffi::c_void;
use std::ptr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::buffer::Buffer;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::log::{self, Debug};
use pmda_core::wire::store;

/// Lets libpcp's decoder read a RESULT, for what it says of it. One that our own decoder refuses is
/// not shown: that of PCP 6.0.3 writes beyond its block for some of those.
pub(crate) fn show_received(pdu: &[u8]) {
    with_decoded(pdu, |_| ());
}

/// Shows a RESULT that is to be sent.
pub(crate) fn show_sent(pdu: &[u8]) {
    log::without(Debug::Pdu, || {
        with_decoded(pdu, |result| {
            // SAFETY: the stream is the process's own, and the result was decoded just now.
            unsafe { pcp::__pmPrintResult(log::stream(), result) };
        });
    });
}

/// Works on a PDU as libpcp decodes it, if it does.
fn with_decoded(pdu: &[u8], work: impl FnOnce(*mut c_void)) {
    if !store::is_sound(pdu) {
        return;
    }
    let Some(buffer) = Buffer::of(pdu) else { return };
    let mut result = ptr::null_mut();
    // SAFETY: the buffer holds a PDU as the decoder expects it, all of whose places were checked;
    // what it gives is ours, and freed here.
    cancel::disabled(|| unsafe {
        if pcp::__pmDecodeResult(buffer.as_ptr(), &raw mut result) >= 0 {
            work(result);
            pcp::__pmFreeResult(result);
        }
    });
}
