//! What libpcp's decoders say under -Dpdu of a request that cannot be read, since PCP 6.0.5: they
//! read it for that, and nothing else comes of it.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::buffer::Buffer;
use crate::sys::libpcp::cancel;
use pmda_core::wire::Kind;

/// Lets libpcp's decoder say why a PDU cannot be read. A decoder that can read it all the same says
/// nothing here, and what it gives is freed.
#[cold]
pub(crate) fn say(kind: Kind, pdu: &[u8]) {
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
