//! A RESULT that is written value by value: the number of values is known only at its end.

use super::{Reply, put_block};
use crate::constants::{PM_VAL_DPTR, PM_VAL_INSITU, PM_VAL_SPTR};
use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::wire::builder::KEPT;
use crate::wire::{HEADER, Kind, PADDING, block, number, padded};

/// Bytes in front of the first entry: header, time stamp, number of metrics.
const FIRST: usize = HEADER + 12;

/// Bytes of an entry in front of its values.
const HEAD: usize = 12;

/// A RESULT under construction. Entries go to the reply, blocks to a buffer that is put behind the
/// entries in the end; until then a value holds the block's offset in that buffer. Nothing is
/// allocated once the buffers have the size of the agent's largest reply.
#[derive(Default, Debug)]
pub struct ResultBuilder {
    reply: Reply,
    blocks: Vec<u8>,
    /// The start of the entry that is being written.
    entry: usize,
    /// Bytes of blocks at the entry's start.
    before: usize,
    /// Its `valfmt`: `PM_VAL_DPTR` for blocks, unless [`ResultBuilder::set_format`] says otherwise.
    format: i32,
}

impl ResultBuilder {
    /// An empty builder.
    #[must_use]
    pub const fn new() -> ResultBuilder {
        ResultBuilder {
            reply: Reply::new(),
            blocks: Vec::new(),
            entry: 0,
            before: 0,
            format: PM_VAL_INSITU,
        }
    }

    /// Gives large buffers back when the reply is sent, as [`Reply::trim`].
    pub fn trim(&mut self) {
        if self.blocks.capacity() > KEPT {
            self.blocks = Vec::new();
        }
        self.reply.trim();
    }

    /// Starts a RESULT of `metrics` value sets: the reply to a fetch.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn begin(&mut self, flags: u32, metrics: usize) -> Result<()> {
        self.begin_from(0, flags, metrics)
    }

    /// Starts a RESULT of `metrics` value sets: a store of a client.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn begin_store(&mut self, client: i32, metrics: usize) -> Result<()> {
        self.begin_from(client, 0, metrics)
    }

    fn begin_from(&mut self, from: i32, first: u32, metrics: usize) -> Result<()> {
        self.blocks.clear();
        self.trim();
        self.reply.begin(Kind::PDU_RESULT, from);
        self.reply.pdu.word(first);
        self.reply.pdu.word(0);
        self.reply.pdu.length(metrics)?;
        if self.reply.pdu.cut {
            return Err(Error::ENOMEM);
        }
        Ok(())
    }

    /// Starts the set of a metric, with about `values` values.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn open(&mut self, metric: MetricId, values: usize) -> Result<()> {
        let size = values.checked_mul(8).and_then(|size| size.checked_add(HEAD));
        reserve(&mut self.reply.pdu.bytes, size.ok_or(Error::ENOMEM)?)?;
        self.entry = self.reply.pdu.bytes.len();
        self.before = self.blocks.len();
        self.format = PM_VAL_INSITU;
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&metric.0.to_be_bytes());
        append(&mut self.reply.pdu.bytes, &head)
    }

    /// Adds an instance with the second word of its value.
    fn pair(&mut self, inst: i32, word: u32) -> Result<()> {
        let pair = u64::from(inst as u32) << 32 | u64::from(word);
        append(&mut self.reply.pdu.bytes, &pair.to_be_bytes())
    }

    /// Adds a value in place.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing is added then, here as in the functions that follow.
    pub fn word(&mut self, inst: i32, word: u32) -> Result<()> {
        self.format = PM_VAL_INSITU;
        self.pair(inst, word)
    }

    /// Adds a block with a number of 64 bits, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn wide(&mut self, inst: i32, header: u32, value: u64) -> Result<()> {
        let mut block = [0; 12];
        block[..4].copy_from_slice(&header.to_be_bytes());
        block[4..].copy_from_slice(&value.to_be_bytes());
        self.copied(inst, |blocks| append(blocks, &block))
    }

    /// Adds a block with data in the order of the wire, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn block(&mut self, inst: i32, header: u32, data: &[u8]) -> Result<()> {
        self.filled(inst, header, data, b"")
    }

    /// Adds a block with a text and the NUL that ends it, as its `header` tells.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`].
    pub fn text(&mut self, inst: i32, header: u32, text: &[u8]) -> Result<()> {
        self.filled(inst, header, text, b"\0")
    }

    /// Adds a block with data and what ends it, filled up to a whole word.
    fn filled(&mut self, inst: i32, header: u32, data: &[u8], end: &[u8]) -> Result<()> {
        self.copied(inst, |blocks| {
            let size = data.len().checked_add(end.len()).and_then(padded);
            reserve(blocks, size.and_then(|size| size.checked_add(4)).ok_or(Error::ENOMEM)?)?;
            blocks.extend_from_slice(&header.to_be_bytes());
            blocks.extend_from_slice(data);
            blocks.extend_from_slice(end);
            blocks.resize(blocks.len().next_multiple_of(4), PADDING);
            Ok(())
        })
    }

    /// Adds a block in the order of the host, header included.
    ///
    /// # Errors
    /// As [`ResultBuilder::word`]; `PM_ERR_GENERIC` for a block that is shorter than its type or
    /// than what it says (WIRE-75, WIRE-76).
    pub fn host_block(&mut self, inst: i32, block: &[u8]) -> Result<()> {
        // Most blocks are numbers of 64 bits.
        if let Some((header, value)) = block::wide(block) {
            return self.wide(inst, header, value);
        }
        self.copied(inst, |blocks| {
            let end = blocks.len();
            put_block(blocks, block).inspect_err(|_| blocks.truncate(end))
        })
    }

    /// Adds a value whose block `add` appends.
    fn copied(&mut self, inst: i32, add: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let offset = u32::try_from(self.blocks.len() / 4).map_err(|_| Error::TOOBIG)?;
        reserve(&mut self.reply.pdu.bytes, 8)?;
        add(&mut self.blocks)?;
        self.format = PM_VAL_DPTR;
        self.pair(inst, offset)
    }

    /// Gives the set another `valfmt` than its values have.
    pub fn set_format(&mut self, format: i32) {
        self.format = format;
    }

    /// Ends the set with its `numval`: the number of values that were added or, without any, 0 or
    /// an error.
    pub fn close(&mut self, numval: i32) {
        let bytes = &mut self.reply.pdu.bytes;
        let words = u64::from(numval as u32) << 32 | u64::from(self.format as u32);
        let rest = bytes.get_mut(self.entry + 4..);
        if let Some(out) = rest.and_then(|rest| rest.first_chunk_mut::<8>()) {
            *out = words.to_be_bytes();
        }
        // The format is that of values.
        if numval <= 0 {
            bytes.truncate(self.entry + 8);
        }
    }

    /// Ends the set without values, whatever was added: `code` is the error, or 0.
    pub fn fail(&mut self, code: i32) {
        self.blocks.truncate(self.before);
        self.close(code.min(0));
    }

    /// Puts the blocks behind the entries, and adds the bytes of these to the blocks' offsets.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn finish(&mut self) -> Result<()> {
        let bytes = &mut self.reply.pdu.bytes;
        let end = bytes.len();
        let total = end.checked_add(self.blocks.len());
        if total.is_none_or(|total| i32::try_from(total).is_err()) {
            return Err(Error::TOOBIG);
        }
        let mut entry = if self.blocks.is_empty() { end } else { FIRST };
        while entry < end {
            let values = usize::try_from(number(bytes, entry + 4).unwrap_or(0)).unwrap_or(0);
            if values == 0 {
                entry += 8;
                continue;
            }
            let format = number(bytes, entry + 8).unwrap_or(PM_VAL_INSITU);
            let pairs = entry + HEAD..entry + HEAD + values * 8;
            entry = pairs.end;
            if format == PM_VAL_DPTR || format == PM_VAL_SPTR {
                add_to_offsets(bytes.get_mut(pairs).ok_or(Error::GENERIC)?, end)?;
            }
        }
        append(bytes, &self.blocks)?;
        self.reply.pdu.finish()
    }

    /// The finished reply.
    pub fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
}

/// Adds `bytes` to the offsets of the blocks of one set, which are in words.
fn add_to_offsets(pairs: &mut [u8], bytes: usize) -> Result<()> {
    let words = u32::try_from(bytes / 4).map_err(|_| Error::TOOBIG)?;
    for pair in pairs.chunks_exact_mut(8) {
        if let Some(out) = pair.last_chunk_mut::<4>() {
            *out = u32::from_be_bytes(*out).wrapping_add(words).to_be_bytes();
        }
    }
    Ok(())
}

/// Makes room for more bytes.
///
/// # Errors
/// `-ENOMEM`.
fn reserve(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    if bytes.capacity() - bytes.len() < more {
        return bytes.try_reserve(more).map_err(|_| Error::ENOMEM);
    }
    Ok(())
}

/// Adds a few bytes.
///
/// # Errors
/// `-ENOMEM`.
fn append(bytes: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    if bytes.capacity() - bytes.len() < more.len() {
        return append_to_full(bytes, more);
    }
    // Room: there is, as was just seen.
    bytes.extend_from_slice(more);
    Ok(())
}

#[cold]
fn append_to_full(bytes: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    reserve(bytes, more.len())?;
    bytes.extend_from_slice(more);
    Ok(())
}

#[cfg(test)]
mod tests;
