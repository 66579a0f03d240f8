//! The replies: values in, bytes out, into one buffer that is used again and again.

mod result_builder;

pub use result_builder::ResultBuilder;

use super::block::{self, Direction};
use super::builder::{KEPT, PduBuilder};
use super::{HEADER, Kind, PADDING, padded};
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::labels::Span;

/// The length of an ERROR.
const ERROR_SIZE: usize = 16;

/// A reply under construction. Sizes and memory are checked once, at its end.
#[derive(Default, Debug)]
pub struct Reply {
    pdu: PduBuilder,
    /// An ERROR for which there was no memory: it is sent from here.
    fallback_error: Option<[u8; ERROR_SIZE]>,
}

impl Reply {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Reply {
        Reply {
            pdu: PduBuilder::new(),
            fallback_error: None,
        }
    }

    /// Gives a large buffer back when its PDU is sent: who knows when the next one is asked for.
    pub fn trim(&mut self) {
        self.pdu.trim();
    }

    /// Starts a PDU; what was in the buffer is gone.
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

    /// ERROR (WIRE-43: the code is sent as it is).
    pub fn error(&mut self, code: i32) {
        self.fallback_error = None;
        if self.pdu.error(0, code).is_err() {
            let mut words = [0; ERROR_SIZE];
            let numbers = [ERROR_SIZE as i32, Kind::PDU_ERROR.0, 0, code];
            for (place, number) in words.chunks_exact_mut(4).zip(numbers) {
                place.copy_from_slice(&number.to_be_bytes());
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

    /// DESC: metric, type, domain, semantics and units, each as a word (WIRE-41, WIRE-42).
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

    /// INSTANCE: a missing list of instances or names is `None` in each entry.
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

    /// Starts an INSTANCE whose entries follow one by one, with [`Reply::instance`].
    pub fn begin_instances(&mut self, indom: InDom) {
        self.begin(Kind::PDU_INSTANCE, 0);
        self.pdu.word(indom.0);
        self.pdu.word(0);
    }

    /// Adds an entry; an id or a name that was not asked for is missing.
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

    /// Ends an INSTANCE that has got `entries` entries.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn end_instances(&mut self, entries: usize) -> Result<()> {
        let entries = i32::try_from(entries).map_err(|_| Error::TOOBIG)?;
        let place = self
            .pdu
            .bytes
            .get_mut(16..)
            .and_then(|rest| rest.first_chunk_mut::<4>());
        *place.ok_or(Error::GENERIC)? = entries.to_be_bytes();
        self.pdu.finish()
    }

    /// TEXT. The identifier goes out in the order of the host (WIRE-55).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn text(&mut self, ident: u32, text: &[u8]) -> Result<()> {
        self.begin(Kind::PDU_TEXT, 0);
        self.pdu.put(&ident.to_ne_bytes());
        self.pdu.text(text)?;
        self.pdu.finish()
    }

    /// PMNS_IDS: one metric, with the status of the method that found it.
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

    /// PMNS_NAMES, with the state of each name when `states` is there.
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

    /// LABEL.
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
        let mut place = self.pdu.bytes.len().checked_add(records).ok_or(Error::TOOBIG)?;
        for set in sets.clone() {
            self.pdu.word(set.inst);
            self.pdu.number(set.count);
            self.pdu.length(place)?;
            self.pdu.length(set.json.len())?;
            for label in set.labels {
                self.pdu.put(&label.name.to_be_bytes());
                self.pdu.put(&[label.name_len, label.flags]);
                self.pdu.put(&label.value.to_be_bytes());
                self.pdu.put(&label.value_len.to_be_bytes());
            }
            place = place.checked_add(set.json.len()).ok_or(Error::TOOBIG)?;
        }
        sets.for_each(|set| self.pdu.put(set.json));
        self.pdu.finish()
    }

    /// Starts a RESULT of `metrics` value sets whose entries take `entries` bytes together
    /// ([`entry_size`]). The room for them keeps what was in the buffer before: clearing it would
    /// cost as much as writing it, and [`Values::finish`] sees to it that all of it has been
    /// written.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`.
    pub fn result(&mut self, flags: u32, metrics: usize, entries: usize) -> Result<Values<'_>> {
        let metrics = i32::try_from(metrics).map_err(|_| Error::TOOBIG)?;
        let head = [0, Kind::PDU_RESULT.0 as u32, 0, flags, 0, metrics as u32];
        let next = size_of_val(&head);
        let end = next
            .checked_add(entries)
            .filter(|end| i32::try_from(*end).is_ok())
            .ok_or(Error::TOOBIG)?;
        if end <= KEPT {
            self.trim();
        }
        let more = end.saturating_sub(self.pdu.bytes.len());
        self.pdu.try_reserve(more)?;
        self.pdu.bytes.resize(end, 0);
        (self.pdu.cut, self.fallback_error) = (false, None);
        for (place, word) in self.pdu.bytes.chunks_exact_mut(4).zip(head) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(Values { reply: self, next, end })
    }
}

/// One label set of a LABEL reply.
#[derive(Clone, Debug)]
pub struct LabelSetData<'a, L> {
    /// The instance.
    pub inst: u32,
    /// The number of labels as the agent gave it; negative is an error code.
    pub count: i32,
    /// The text.
    pub json: &'a [u8],
    /// The places of names and values in the text.
    pub labels: L,
}

/// Puts a block in the order of the host, header included, behind what is there.
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

/// Returns whether `bytes` are a PDU with a header whose length is right; used to check what is
/// about to be sent.
#[must_use]
pub fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER && super::count(bytes, 0) == Some(bytes.len())
}

#[cfg(test)]
pub(super) mod tests;

/// The size of a value set's entry in a RESULT, in bytes; the blocks come on top.
#[must_use]
pub fn entry_size(numval: i32) -> usize {
    match usize::try_from(numval) {
        Ok(values) if values > 0 => values.saturating_mul(8).saturating_add(12),
        _ => 8,
    }
}

/// The value sets of a RESULT, one after the other: entries in front, blocks behind them (WIRE-50).
#[derive(Debug)]
pub struct Values<'a> {
    reply: &'a mut Reply,
    next: usize,
    end: usize,
}

impl Values<'_> {
    /// The place for the next `size` bytes of entries.
    fn entry(&mut self, size: usize) -> Result<&mut [u8]> {
        let start = self.next;
        let end = start
            .checked_add(size)
            .filter(|end| *end <= self.end)
            .ok_or(Error::GENERIC)?;
        self.next = end;
        self.reply.pdu.bytes.get_mut(start..end).ok_or(Error::GENERIC)
    }

    fn head(&mut self, metric: MetricId, values: usize, format: i32) -> Result<&mut [u8]> {
        let count = i32::try_from(values).map_err(|_| Error::TOOBIG)?;
        let entry = self.entry(entry_size(count))?;
        let (head, pairs) = entry.split_at_mut_checked(12).ok_or(Error::GENERIC)?;
        for (place, word) in head.chunks_exact_mut(4).zip([metric.0, count as u32, format as u32]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(pairs)
    }

    /// A metric without values: `numval` is 0 or an error code.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when there is no room left for it.
    pub fn none(&mut self, metric: MetricId, numval: i32) -> Result<()> {
        let entry = self.entry(8)?;
        for (place, word) in entry.chunks_exact_mut(4).zip([metric.0, numval as u32]) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        Ok(())
    }

    /// Values in place, each with its instance; at least one.
    ///
    /// # Errors
    /// As [`Values::none`].
    pub fn words(
        &mut self,
        metric: MetricId,
        format: i32,
        values: impl ExactSizeIterator<Item = (i32, u32)>,
    ) -> Result<()> {
        let pairs = self.head(metric, values.len(), format)?;
        for (place, (inst, value)) in pairs.chunks_exact_mut(8).zip(values) {
            let pair = u64::from(inst as u32) << 32 | u64::from(value);
            place.copy_from_slice(&pair.to_be_bytes());
        }
        Ok(())
    }

    /// Values as blocks in the order of the host, header included; at least one.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a block that is missing, or shorter than its type or than what it says
    /// (WIRE-74, WIRE-75, WIRE-76); `PM_ERR_TOOBIG`.
    pub fn blocks<'b>(
        &mut self,
        metric: MetricId,
        format: i32,
        values: impl ExactSizeIterator<Item = (i32, Option<&'b [u8]>)>,
    ) -> Result<()> {
        let mut place = self.next.checked_add(12).ok_or(Error::TOOBIG)?;
        self.head(metric, values.len(), format)?;
        for (inst, block) in values {
            let word = u32::try_from(self.reply.pdu.bytes.len() / 4).map_err(|_| Error::TOOBIG)?;
            put_block(&mut self.reply.pdu.bytes, block.ok_or(Error::GENERIC)?)?;
            let pair = self
                .reply
                .pdu
                .bytes
                .get_mut(place..)
                .and_then(|rest| rest.first_chunk_mut::<8>());
            let value = u64::from(inst as u32) << 32 | u64::from(word);
            *pair.ok_or(Error::GENERIC)? = value.to_be_bytes();
            place += 8;
        }
        Ok(())
    }

    /// The RESULT is complete.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when entries are missing; `PM_ERR_TOOBIG`.
    pub fn finish(self) -> Result<()> {
        if self.next != self.end {
            return Err(Error::GENERIC);
        }
        self.reply.pdu.finish()
    }
}
