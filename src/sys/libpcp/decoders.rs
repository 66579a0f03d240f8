//! What libpcp's own decoders say under -Dpdu: of a result, which its own function prints, and,
//! since PCP 6.0.5, of a request that cannot be read. They read a PDU for that, and nothing else
//! comes of it.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::safe_externs::__pmFindPDUBuf;
use crate::sys::libpcp::{bindings as pcp, cancel};
use pmda_core::wire::{Kind, result};

/// Bytes behind a PDU, all zero: libpcp's decoder of results looks at the head of a value set
/// before it checks whether it is there.
const SPARE: usize = 64;

/// A PDU in a buffer of libpcp's, pinned while this lives.
struct Buffer(*mut c_int);

impl Buffer {
    /// A copy of a PDU; `None` without memory.
    fn of(pdu: &[u8]) -> Option<Buffer> {
        let length = c_int::try_from(pdu.len().checked_add(SPARE)?).ok()?;
        let buffer = __pmFindPDUBuf(length);
        if buffer.is_null() {
            return None;
        }
        // SAFETY: the buffer has room for the PDU, is aligned for words, and is ours until it is
        // unpinned. libpcp has the header in the order of the host.
        unsafe {
            ptr::copy_nonoverlapping(pdu.as_ptr(), buffer.cast(), pdu.len());
            for word in 0..3.min(pdu.len() / 4) {
                buffer.add(word).write(c_int::from_be(buffer.add(word).read()));
            }
        }
        Some(Buffer(buffer))
    }

    /// The PDU as libpcp's decoders take it: with a header in the order of this machine.
    fn as_ptr(&self) -> *mut c_int {
        self.0
    }

    /// Takes back one more pin of the buffer: decoders that give an address in it pin it for that.
    fn unpin(&self) {
        // SAFETY: libpcp looks the buffer up by its address, and it is there as long as this lives.
        unsafe { pcp::__pmUnpinPDUBuf(self.0.cast()) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.unpin();
    }
}

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
    if !result::is_sound(pdu) {
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

/// Lets libpcp's decoder say why a PDU cannot be read. A decoder that can read it all the same says
/// nothing here, and what it gives is freed.
#[cold]
pub(crate) fn show_refusal(kind: Kind, pdu: &[u8]) {
    cancel::disabled(|| decode(kind, pdu));
}

fn decode(kind: Kind, pdu: &[u8]) {
    let Some(buffer) = Buffer::of(pdu) else { return };
    let pdu = buffer.as_ptr();
    let (mut word, mut one, mut two) = (0, 0, 0);
    let (word, one, two) = (&raw mut word, &raw mut one, &raw mut two);
    let (mut text, mut names, mut states) = (ptr::null_mut::<c_char>(), ptr::null_mut(), ptr::null_mut());
    let (mut credentials, mut profile) = (ptr::null_mut::<c_void>(), ptr::null_mut());
    let (mut unused, mut metrics) = (ptr::null_mut::<c_void>(), ptr::null_mut());
    // SAFETY: for all calls: the buffer holds a PDU of this kind as the decoder expects it, which
    // checks what is in it; the rest are places for what it finds.
    let status = unsafe {
        match kind {
            Kind::PDU_ERROR => pcp::__pmDecodeError(pdu, one),
            Kind::PDU_PROFILE => pcp::__pmDecodeProfile(pdu, one, &raw mut profile),
            Kind::PDU_FETCH => pcp::__pmDecodeFetch(pdu, one, &raw mut unused, two, &raw mut metrics),
            Kind::PDU_DESC_REQ => pcp::__pmDecodeDescReq(pdu, word),
            Kind::PDU_INSTANCE_REQ => pcp::__pmDecodeInstanceReq(pdu, word, one, &raw mut text),
            Kind::PDU_TEXT_REQ => pcp::__pmDecodeTextReq(pdu, one, two),
            Kind::PDU_LABEL_REQ => pcp::__pmDecodeLabelReq(pdu, one, two),
            Kind::PDU_CREDS => pcp::__pmDecodeCreds(pdu, one, two, &raw mut credentials),
            Kind::PDU_PMNS_NAMES => pcp::__pmDecodeNameList(pdu, one, &raw mut names, &raw mut states),
            // The C library asks for one, too.
            Kind::PDU_PMNS_IDS => pcp::__pmDecodeIDList(pdu, 1, word, one),
            Kind::PDU_PMNS_CHILD => pcp::__pmDecodeChildReq(pdu, &raw mut text, one),
            Kind::PDU_PMNS_TRAVERSE => pcp::__pmDecodeTraversePMNSReq(pdu, &raw mut text),
            Kind::PDU_ATTR => pcp::__pmDecodeAttr(pdu, one, &raw mut text, two),
            _ => return,
        }
    };
    if status < 0 {
        return;
    }
    // The value lies in the buffer, without a pin of its own, and the metrics do, with one.
    match kind {
        Kind::PDU_ATTR => return,
        Kind::PDU_FETCH => return buffer.unpin(),
        _ => {}
    }
    // SAFETY: the decoder has succeeded: what it gives is ours, a profile of libpcp's or blocks
    // from malloc; what it does not give is still NULL.
    unsafe {
        if kind == Kind::PDU_PROFILE {
            pcp::__pmFreeProfile(profile);
        }
        libc::free(text.cast());
        libc::free(names.cast());
        libc::free(states.cast());
        libc::free(credentials);
    }
}
