//! What libpcp shows of a result under -Dpdu: its own decoder reads the PDU for that, and its own function prints.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::bindings as pcp;
use super::log::{self, Debug};

/// Lets libpcp's decoder read a RESULT, for what it says of it.
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
    let Ok(length) = c_int::try_from(pdu.len()) else { return };
    // SAFETY: the function takes a number, and gives a buffer of at least that size, which is ours until it is unpinned.
    let buffer = unsafe { pcp::__pmFindPDUBuf(length) };
    if buffer.is_null() {
        return;
    }
    // SAFETY: the buffer has room for the PDU, and is nobody else's.
    unsafe { ptr::copy_nonoverlapping(pdu.as_ptr(), buffer.cast(), pdu.len()) };
    for word in 0..3.min(pdu.len() / 4) {
        // SAFETY: the buffer has that many words, aligned as all that comes from malloc. libpcp has the header in its own order.
        unsafe { buffer.add(word).write(c_int::from_be(buffer.add(word).read())) };
    }
    let mut result = ptr::null_mut();
    // SAFETY: the buffer holds a PDU with a header in host order, as libpcp's own decoder expects it; it checks the rest.
    unsafe {
        if pcp::__pmDecodeResult(buffer, &raw mut result) >= 0 {
            work(result);
            pcp::__pmFreeResult(result);
        }
        pcp::__pmUnpinPDUBuf(buffer.cast());
    }
}
