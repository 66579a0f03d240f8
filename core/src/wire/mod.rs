//! The protocol between pmcd and an agent: every PDU that an agent receives or sends, as pure
//! functions over bytes. [`Kind`] has their types, under PCP's names.
//!
//! No input is trusted: lengths and counts are checked against the bytes of the PDU, sums do not
//! overflow, and no input makes a function panic. Numbers are big-endian on the wire (WIRE-2).
//!
//! To add a PDU:
//!
//! 1. Its bytes with their offsets go into `docs/spec/wire.md`; `-Dpdu` of dbpmda or pmcd shows
//!    real ones.
//! 2. [`Kind`] gets its number and name, [`decode`] the decoder, [`encode`] the reply, [`client`]
//!    the client's half: the request's encoder and the reply's parser. Unit tests use captured
//!    bytes, and every shorter length.
//! 3. `src/mainloop/mod.rs` says what the agent's method gets; a function in
//!    `src/mainloop/exports.rs` calls the method; [`debug`] writes the line of `-Dlibpmda`.
//! 4. `tests/c/loop_*.c` compare it over a pipe. `tests/hostile/requests.h` gets a good request,
//!    the fuzz targets `bodies` and `live_agent` a sample.

pub mod block;
pub mod client;
pub mod debug;
pub mod decode;
pub mod encode;
pub mod receive;
pub mod result;

use std::fmt;

use crate::constants::{CVERSION, PDU_VERSION2};
use crate::error::{Error, Result};

/// Length of the header that starts every PDU, in bytes.
pub const HEADER: usize = 12;

/// The byte that fills texts and blocks up to a whole word.
pub const PADDING: u8 = b'~';

/// The header of a PDU (WIRE-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PduHeader {
    /// Length of the PDU in bytes, header included.
    pub len: usize,
    /// The type of the PDU.
    pub kind: Kind,
    /// To an agent: the client context; from an agent: 0, in CREDS the process id.
    pub from: i32,
}

/// `length` in bytes, rounded up to a whole word; `None` when that overflows.
#[must_use]
pub const fn padded(length: usize) -> Option<usize> {
    match length.checked_add(3) {
        Some(sum) => Some(sum & !3),
        None => None,
    }
}

/// The word at byte `offset`; `None` beyond the end.
#[must_use]
pub fn word(pdu: &[u8], offset: usize) -> Option<u32> {
    let bytes = pdu.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The word at byte `offset` as a signed number; `None` beyond the end.
#[must_use]
pub fn number(pdu: &[u8], offset: usize) -> Option<i32> {
    word(pdu, offset).map(|word| word as i32)
}

/// The word at byte `offset` as a count or a length; `None` beyond the end, or if it is negative.
#[must_use]
pub fn count(pdu: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(number(pdu, offset)?).ok()
}

/// The type of a PDU, under PCP's names. Any number can arrive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind(pub i32);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Kind {
            $($(#[$doc])* pub const $name: Kind = Kind($code);)*

            /// The name without `PDU_`; `None` for an unknown type.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Kind::$name => stringify!($name).strip_prefix("PDU_"),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A status, either way.
    PDU_ERROR = 0x7000;
    /// Values: a store to an agent, the reply to a fetch from it.
    PDU_RESULT = 0x7001;
    /// Selects instances for later fetches.
    PDU_PROFILE = 0x7002;
    /// Asks for values.
    PDU_FETCH = 0x7003;
    /// Asks for a description.
    PDU_DESC_REQ = 0x7004;
    /// A description.
    PDU_DESC = 0x7005;
    /// Asks for instances.
    PDU_INSTANCE_REQ = 0x7006;
    /// Instances.
    PDU_INSTANCE = 0x7007;
    /// Asks for help.
    PDU_TEXT_REQ = 0x7008;
    /// A help text.
    PDU_TEXT = 0x7009;
    /// Never sent by pmcd, and ignored.
    PDU_CONTROL_REQ = 0x700a;
    /// The handshake.
    PDU_CREDS = 0x700c;
    /// Metric identifiers.
    PDU_PMNS_IDS = 0x700d;
    /// Metric names.
    PDU_PMNS_NAMES = 0x700e;
    /// Asks for the names directly below a name.
    PDU_PMNS_CHILD = 0x700f;
    /// Asks for all the names of metrics below a name.
    PDU_PMNS_TRAVERSE = 0x7010;
    /// An attribute of a client.
    PDU_ATTR = 0x7011;
    /// Asks for labels.
    PDU_LABEL_REQ = 0x7012;
    /// Labels.
    PDU_LABEL = 0x7013;
    /// Between clients and pmcd only, as are those that follow.
    PDU_HIGHRES_FETCH = 0x7014;
    /// Never sent to an agent.
    PDU_HIGHRES_RESULT = 0x7015;
    /// Never sent to an agent.
    PDU_DESC_IDS = 0x7016;
    /// Never sent to an agent.
    PDU_DESCS = 0x7017;
    /// Between pmlc and pmlogger only, as are those that follow.
    PDU_LOG_CONTROL = 0x8000;
    /// Never sent to an agent.
    PDU_LOG_STATUS_V2 = 0x8001;
    /// Never sent to an agent.
    PDU_LOG_REQUEST = 0x8002;
    /// Never sent to an agent.
    PDU_LOG_STATUS = 0x8003;
}

/// The name, or `TYPE-n?` with the number in decimal.
impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.write_str(name),
            None => write!(out, "TYPE-{}?", self.0),
        }
    }
}

/// The direction of a PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The PDU was received.
    In,
    /// The PDU was sent.
    Out,
}

/// The size in bytes beyond which a buffer is given back after its PDU, instead of being kept for
/// the next one.
const KEPT: usize = 1024 * 1024;

/// A PDU under construction. Sizes and memory are checked once, in [`PduBuilder::finish`].
#[derive(Default, Debug)]
struct PduBuilder {
    bytes: Vec<u8>,
    /// True if a part of the PDU found no memory.
    cut: bool,
}

impl PduBuilder {
    /// A builder with an empty buffer.
    const fn new() -> PduBuilder {
        PduBuilder {
            bytes: Vec::new(),
            cut: false,
        }
    }

    /// Gives the buffer back if it is large ([`KEPT`]).
    fn trim(&mut self) {
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }

    /// Begins a PDU; the one before is forgotten.
    fn begin(&mut self, kind: Kind, from: i32) {
        self.bytes.clear();
        self.trim();
        self.cut = false;
        self.word(0);
        self.number(kind.0);
        self.number(from);
    }

    /// Adds bytes, or notes that they found no memory.
    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.bytes.capacity() - self.bytes.len() {
            self.cut |= self.try_reserve(bytes.len()).is_err();
        }
        if !self.cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Makes room for more bytes.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    fn try_reserve(&mut self, more: usize) -> Result<()> {
        self.bytes.try_reserve(more).map_err(|_| Error::ENOMEM)
    }

    /// Adds a number without a sign.
    fn word(&mut self, word: u32) {
        self.put(&word.to_be_bytes());
    }

    /// Adds a number with a sign.
    fn number(&mut self, number: i32) {
        self.put(&number.to_be_bytes());
    }

    /// Adds a length or a count.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for a number beyond `int`.
    fn length(&mut self, length: usize) -> Result<()> {
        self.number(i32::try_from(length).map_err(|_| Error::TOOBIG)?);
        Ok(())
    }

    /// Adds bytes, and padding up to a whole word.
    fn padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        let filling = self.bytes.len().next_multiple_of(4) - self.bytes.len();
        self.put(&[PADDING; 4][..filling]);
    }

    /// Adds the length of a text, the text, and padding up to a whole word.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    fn text(&mut self, text: &[u8]) -> Result<()> {
        self.length(text.len())?;
        self.padded(text);
        Ok(())
    }

    /// ERROR: a status.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn error(&mut self, from: i32, code: i32) -> Result<()> {
        self.begin(Kind::PDU_ERROR, from);
        self.number(code);
        self.finish()
    }

    /// CREDS: protocol version 2, and flags.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn credentials(&mut self, process: i32, flags: u16) -> Result<()> {
        self.begin(Kind::PDU_CREDS, process);
        self.number(1);
        self.word(u32::from(CVERSION) << 24 | u32::from(PDU_VERSION2) << 16 | u32::from(flags));
        self.finish()
    }

    /// Adds names, each with its status if `states` is given, and ends the PDU.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`, `-ENOMEM`.
    fn names<'a>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
        states: Option<&[i32]>,
    ) -> Result<()> {
        let total = names
            .clone()
            .try_fold(0_usize, |sum, name| sum.checked_add(name.len())?.checked_add(1));
        self.length(total.ok_or(Error::TOOBIG)?)?;
        self.length(states.map_or(0, |_| names.len()))?;
        self.length(names.len())?;
        for (index, name) in names.enumerate() {
            if let Some(states) = states {
                self.number(states.get(index).copied().unwrap_or(0));
            }
            self.text(name)?;
        }
        self.finish()
    }

    /// Ends the PDU: writes its length into the header (WIRE-75).
    ///
    /// # Errors
    /// `-ENOMEM` if the memory ran out on the way, `PM_ERR_TOOBIG` for a length beyond `int`.
    fn finish(&mut self) -> Result<()> {
        if self.cut {
            return Err(Error::ENOMEM);
        }
        let length = i32::try_from(self.bytes.len()).map_err(|_| Error::TOOBIG)?;
        if let Some(word) = self.bytes.first_chunk_mut::<4>() {
            *word = length.to_be_bytes();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unknown types show their number (MAIN-30).
    #[test]
    fn names() {
        assert_eq!(Kind::PDU_FETCH.to_string(), "FETCH");
        assert_eq!(Kind(0x8000).to_string(), "LOG_CONTROL");
        assert_eq!(Kind(0x8003).to_string(), "LOG_STATUS");
        assert_eq!(Kind(0x8004).to_string(), "TYPE-32772?");
        assert_eq!(Kind(0x700b).to_string(), "TYPE-28683?");
        assert_eq!(Kind(-5).to_string(), "TYPE--5?");
    }
}
