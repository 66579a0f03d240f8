//! The protocol between pmcd and an agent: every PDU that an agent receives or sends, as pure
//! functions over bytes.
//!
//! Nothing here trusts its input: lengths and counts are checked against the bytes that are there,
//! sizes are added with care, and no input makes a function panic. Numbers are big-endian on the
//! wire (WIRE-2).

pub mod block;
pub mod codec;
pub mod decode;
pub mod encode;
pub mod kind;
pub mod receive;
pub mod show;
pub mod store;
pub mod trace;

pub use kind::Kind;

/// Length of the header that starts every PDU, in bytes.
pub const HEADER: usize = 12;

/// The byte that fills texts and blocks up to a whole word.
pub const PADDING: u8 = b'~';

/// The header of a PDU (WIRE-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Length of the PDU in bytes, header included.
    pub len: usize,
    /// What it is.
    pub kind: Kind,
    /// To an agent: the client context; from an agent: 0, in CREDS the process id.
    pub from: i32,
}

/// `length` rounded up to a whole word; `None` when that does not fit.
#[must_use]
pub const fn padded(length: usize) -> Option<usize> {
    match length.checked_add(3) {
        Some(sum) => Some(sum & !3),
        None => None,
    }
}

/// The word at byte `offset`; `None` when it is not there.
#[must_use]
pub fn word(pdu: &[u8], offset: usize) -> Option<u32> {
    let bytes = pdu.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The word at byte `offset` as a signed number; `None` when it is not there.
#[must_use]
pub fn number(pdu: &[u8], offset: usize) -> Option<i32> {
    word(pdu, offset).map(|word| word as i32)
}

/// The word at byte `offset` as a count or a length; `None` when it is not there or negative.
#[must_use]
pub fn count(pdu: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(number(pdu, offset)?).ok()
}
