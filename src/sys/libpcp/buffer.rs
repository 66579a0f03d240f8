//! PDUs in libpcp's own buffers, for its decoders.

use std::ffi::c_int;
use std::ptr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::safe_externs::__pmFindPDUBuf;

/// Bytes behind a PDU, all zero: libpcp's decoder of results looks at the head of a value set
/// before it checks whether it is there.
const SPARE: usize = 64;

/// A PDU in a buffer of libpcp's, pinned while this lives.
pub(super) struct Buffer(*mut c_int);

impl Buffer {
    /// A copy of a PDU; `None` without memory.
    pub(super) fn of(pdu: &[u8]) -> Option<Buffer> {
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
    pub(super) fn as_ptr(&self) -> *mut c_int {
        self.0
    }

    /// Takes back one more pin of the buffer: decoders that give an address in it pin it for that.
    pub(super) fn unpin(&self) {
        // SAFETY: libpcp looks the buffer up by its address, and it is there as long as this lives.
        unsafe { pcp::__pmUnpinPDUBuf(self.0.cast()) };
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.unpin();
    }
}
