//! A PDU under construction, of either side of the connection.

use super::{Kind, PADDING};
use crate::constants::{CVERSION, PDU_VERSION2};
use crate::error::{Error, Result};

/// The size in bytes beyond which a buffer is given back after its PDU, instead of being kept for
/// the next one.
pub(super) const KEPT: usize = 1024 * 1024;

/// A PDU under construction. Sizes and memory are checked once, in [`PduBuilder::finish`].
#[derive(Default, Debug)]
pub(super) struct PduBuilder {
    pub(super) bytes: Vec<u8>,
    /// True if there was no memory for a part of the PDU.
    pub(super) cut: bool,
}

impl PduBuilder {
    /// A builder with an empty buffer.
    pub(super) const fn new() -> PduBuilder {
        PduBuilder {
            bytes: Vec::new(),
            cut: false,
        }
    }

    /// Gives the buffer back if it is large ([`KEPT`]).
    pub(super) fn trim(&mut self) {
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
    }

    /// Begins a PDU; the one before is forgotten.
    pub(super) fn begin(&mut self, kind: Kind, from: i32) {
        self.bytes.clear();
        self.trim();
        self.cut = false;
        self.word(0);
        self.number(kind.0);
        self.number(from);
    }

    /// Adds bytes, or notes that there is no memory for them.
    pub(super) fn put(&mut self, bytes: &[u8]) {
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
    pub(super) fn try_reserve(&mut self, more: usize) -> Result<()> {
        self.bytes.try_reserve(more).map_err(|_| Error::ENOMEM)
    }

    /// Adds a number without a sign.
    pub(super) fn word(&mut self, word: u32) {
        self.put(&word.to_be_bytes());
    }

    /// Adds a number with a sign.
    pub(super) fn number(&mut self, number: i32) {
        self.put(&number.to_be_bytes());
    }

    /// Adds a length or a count.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` for a number beyond `int`.
    pub(super) fn length(&mut self, length: usize) -> Result<()> {
        self.number(i32::try_from(length).map_err(|_| Error::TOOBIG)?);
        Ok(())
    }

    /// Adds bytes, and padding up to a whole word.
    pub(super) fn padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        let filling = self.bytes.len().next_multiple_of(4) - self.bytes.len();
        self.put(&[PADDING; 4][..filling]);
    }

    /// Adds the length of a text, the text, and padding up to a whole word.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub(super) fn text(&mut self, text: &[u8]) -> Result<()> {
        self.length(text.len())?;
        self.padded(text);
        Ok(())
    }

    /// ERROR: a status.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn error(&mut self, from: i32, code: i32) -> Result<()> {
        self.begin(Kind::PDU_ERROR, from);
        self.number(code);
        self.finish()
    }

    /// CREDS: protocol version 2, and flags.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn credentials(&mut self, process: i32, flags: u16) -> Result<()> {
        self.begin(Kind::PDU_CREDS, process);
        self.number(1);
        self.word(u32::from(CVERSION) << 24 | u32::from(PDU_VERSION2) << 16 | u32::from(flags));
        self.finish()
    }

    /// Adds names, each with its status if `states` is given, and ends the PDU.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`, `-ENOMEM`.
    pub(super) fn names<'a>(
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
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.cut {
            return Err(Error::ENOMEM);
        }
        let length = i32::try_from(self.bytes.len()).map_err(|_| Error::TOOBIG)?;
        if let Some(place) = self.bytes.first_chunk_mut::<4>() {
            *place = length.to_be_bytes();
        }
        Ok(())
    }
}
