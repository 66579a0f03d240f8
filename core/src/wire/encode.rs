//! Encodes the replies, in one buffer that is used again and again. A RESULT is written value by
//! value ([`ResultBuilder`]): the number of values is known only at its end.

use super::block::{self, Direction};
use super::{HEADER, KEPT, Kind, PADDING, PduBuilder, number, padded};
use crate::constants::{PM_VAL_DPTR, PM_VAL_INSITU, PM_VAL_SPTR};
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::labels::Span;

/// The length of an ERROR in bytes.
const ERROR_SIZE: usize = 16;

/// A reply under construction. Sizes and memory are checked once, at its end.
#[derive(Default, Debug)]
pub struct Reply {
    pdu: PduBuilder,
    /// An ERROR that found no memory: it is sent from here.
    fallback_error: Option<[u8; ERROR_SIZE]>,
}

impl Reply {
    /// A reply with an empty buffer.
    #[must_use]
    pub const fn new() -> Reply {
        Reply {
            pdu: PduBuilder::new(),
            fallback_error: None,
        }
    }

    /// Gives a large buffer back when its PDU is sent, since the next large reply may be a long
    /// time off.
    pub fn trim(&mut self) {
        self.pdu.trim();
    }

    /// Begins a PDU; the one before is forgotten.
    fn begin(&mut self, kind: Kind, from: i32) {
        self.fallback_error = None;
        self.pdu.begin(kind, from);
    }

    /// The finished PDU.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.fallback_error
            .as_ref()
            .map_or(&self.pdu.bytes[..], |words| &words[..])
    }

    /// ERROR. The code is sent as it is (WIRE-43). This cannot fail.
    pub fn error(&mut self, code: i32) {
        self.fallback_error = None;
        if self.pdu.error(0, code).is_err() {
            let mut words = [0; ERROR_SIZE];
            let numbers = [ERROR_SIZE as i32, Kind::PDU_ERROR.0, 0, code];
            for (word, number) in words.chunks_exact_mut(4).zip(numbers) {
                word.copy_from_slice(&number.to_be_bytes());
            }
            self.fallback_error = Some(words);
        }
    }

    /// CREDS: protocol version 2 and the flags of the agent.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn credentials(&mut self, process: i32, flags: u16) -> Result<()> {
        self.fallback_error = None;
        self.pdu.credentials(process, flags)
    }

    /// DESC: metric, type, instance domain, semantics and units, one word each (WIRE-41, WIRE-42).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn desc(&mut self, words: [u32; 5]) -> Result<()> {
        self.begin(Kind::PDU_DESC, 0);
        for word in words {
            self.pdu.word(word);
        }
        self.pdu.finish()
    }

    /// INSTANCE. A part of an entry, id or name, that was not asked for is `None`.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn instances<'a>(
        &mut self,
        indom: InDom,
        entries: impl Iterator<Item = (Option<i32>, Option<&'a [u8]>)>,
    ) -> Result<()> {
        self.begin_instances(indom);
        let mut count = 0;
        for (inst, name) in entries {
            self.instance(inst, name)?;
            count += 1;
        }
        self.end_instances(count)
    }

    /// Begins an INSTANCE whose entries follow one by one, with [`Reply::instance`].
    pub fn begin_instances(&mut self, indom: InDom) {
        self.begin(Kind::PDU_INSTANCE, 0);
        self.pdu.word(indom.0);
        self.pdu.word(0);
    }

    /// Adds an entry; the id or the name that was not asked for is `None`.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn instance(&mut self, inst: Option<i32>, name: Option<&[u8]>) -> Result<()> {
        let name = name.unwrap_or_default();
        self.pdu
            .bytes
            .try_reserve(name.len().saturating_add(12))
            .map_err(|_| Error::ENOMEM)?;
        self.pdu.number(inst.unwrap_or(-1));
        self.pdu.text(name)?;
        Ok(())
    }

    /// Ends an INSTANCE to which `entries` entries were added.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn end_instances(&mut self, entries: usize) -> Result<()> {
        let entries = i32::try_from(entries).map_err(|_| Error::TOOBIG)?;
        let count = self
            .pdu
            .bytes
            .get_mut(16..)
            .and_then(|rest| rest.first_chunk_mut::<4>());
        *count.ok_or(Error::GENERIC)? = entries.to_be_bytes();
        self.pdu.finish()
    }

    /// TEXT. The identifier is sent in the byte order of the host (WIRE-55).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn text(&mut self, ident: u32, text: &[u8]) -> Result<()> {
        self.begin(Kind::PDU_TEXT, 0);
        self.pdu.put(&ident.to_ne_bytes());
        self.pdu.text(text)?;
        self.pdu.finish()
    }

    /// PMNS_IDS: one metric, with the status of the method that has found it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn ids(&mut self, status: i32, metric: MetricId) -> Result<()> {
        self.begin(Kind::PDU_PMNS_IDS, 0);
        self.pdu.number(status);
        self.pdu.number(1);
        self.pdu.word(metric.0);
        self.pdu.finish()
    }

    /// PMNS_NAMES, with the status of each name if `states` is given.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn names<'a>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
        states: Option<&[i32]>,
    ) -> Result<()> {
        self.begin(Kind::PDU_PMNS_NAMES, 0);
        self.pdu.names(names, states)
    }

    /// LABEL: the label sets of `ident`.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn labels<'a, L: ExactSizeIterator<Item = Span>>(
        &mut self,
        ident: u32,
        kind: i32,
        sets: impl ExactSizeIterator<Item = LabelSetData<'a, L>> + Clone,
    ) -> Result<()> {
        self.begin(Kind::PDU_LABEL, 0);
        self.pdu.word(super::decode::label_ident(ident, kind));
        self.pdu.number(kind);
        self.pdu.number(0);
        self.pdu.length(sets.len())?;
        let records: usize = sets.clone().map(|set| 16 + 8 * set.labels.len()).sum();
        let mut offset = self.pdu.bytes.len().checked_add(records).ok_or(Error::TOOBIG)?;
        for set in sets.clone() {
            self.pdu.word(set.inst);
            self.pdu.number(set.count);
            self.pdu.length(offset)?;
            self.pdu.length(set.json.len())?;
            for label in set.labels {
                self.pdu.put(&label.name.to_be_bytes());
                self.pdu.put(&[label.name_len, label.flags]);
                self.pdu.put(&label.value.to_be_bytes());
                self.pdu.put(&label.value_len.to_be_bytes());
            }
            offset = offset.checked_add(set.json.len()).ok_or(Error::TOOBIG)?;
        }
        sets.for_each(|set| self.pdu.put(set.json));
        self.pdu.finish()
    }
}

/// One label set of a LABEL reply.
#[derive(Clone, Debug)]
pub struct LabelSetData<'a, L> {
    /// The instance.
    pub inst: u32,
    /// The number of labels as the agent has it; a negative one is an error code.
    pub count: i32,
    /// The text.
    pub json: &'a [u8],
    /// The places of names and values in the text.
    pub labels: L,
}

/// Adds a block in the order of the host, header included, to `out`.
///
/// # Errors
/// `PM_ERR_GENERIC` for a block that is shorter than its type or than the numbers in it say;
/// `PM_ERR_TOOBIG`; `-ENOMEM`.
fn put_block(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let (header, _) = bytes.split_first_chunk::<4>().ok_or(Error::GENERIC)?;
    let header = u32::from_ne_bytes(*header);
    let start = out.len();
    let size = padded(bytes.len()).ok_or(Error::TOOBIG)?;
    if start.checked_add(size).is_none_or(|end| i32::try_from(end).is_err()) {
        return Err(Error::TOOBIG);
    }
    out.try_reserve(size).map_err(|_| Error::ENOMEM)?;
    out.extend_from_slice(bytes);
    out.resize(start + size, PADDING);
    let copy = out.get_mut(start..start + bytes.len()).ok_or(Error::GENERIC)?;
    let (head, payload) = copy.split_at_mut(block::HEADER);
    head.copy_from_slice(&header.to_be_bytes());
    block::exchange(block::kind(header), payload, Direction::Encode).map_err(|_| Error::GENERIC)
}

/// Returns whether `bytes` are a PDU with a header whose length is right. It checks PDUs of others
/// that are about to be sent.
#[must_use]
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && super::count(bytes, 0) == Some(bytes.len())
}

/// Bytes in front of the first entry: header, time stamp, number of metrics.
const FIRST: usize = HEADER + 12;

/// Bytes of an entry in front of its values.
const HEAD: usize = 12;

/// A RESULT under construction. Entries go to the reply, blocks to a buffer that follows the
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
        self.begin_at([flags, 0], metrics)
    }

    /// Starts a RESULT of `metrics` value sets with a time stamp in seconds and microseconds: the
    /// reply of an agent whose method has set the time.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn begin_at(&mut self, time: [u32; 2], metrics: usize) -> Result<()> {
        self.begin_from(0, time, metrics)
    }

    /// Starts a RESULT of `metrics` value sets: a store of a client.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub fn begin_store(&mut self, client: i32, metrics: usize) -> Result<()> {
        self.begin_from(client, [0; 2], metrics)
    }

    fn begin_from(&mut self, from: i32, words: [u32; 2], metrics: usize) -> Result<()> {
        self.blocks.clear();
        self.trim();
        self.reply.begin(Kind::PDU_RESULT, from);
        for word in words {
            self.reply.pdu.word(word);
        }
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
    /// As [`ResultBuilder::word`]; `PM_ERR_GENERIC` for a block that is shorter than its type, or
    /// than the length in its header (WIRE-75, WIRE-76).
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

    /// Puts the blocks after the entries, and adds the bytes of the entries to the blocks' offsets.
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
    // `bytes` has room, as was just seen.
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
pub(super) mod tests;
