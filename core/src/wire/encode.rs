//! Encodes the replies, in one buffer that is used again and again.

mod result_builder;

pub use result_builder::ResultBuilder;

use super::block::{self, Direction};
use super::builder::PduBuilder;
use super::{HEADER, Kind, PADDING, padded};
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::labels::Span;

/// The length of an ERROR in bytes.
const ERROR_SIZE: usize = 16;

/// A reply under construction. Sizes and memory are checked once, at its end.
#[derive(Default, Debug)]
pub struct Reply {
    pdu: PduBuilder,
    /// An ERROR for which there was no memory: it is sent from here.
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
        let place = self
            .pdu
            .bytes
            .get_mut(16..)
            .and_then(|rest| rest.first_chunk_mut::<4>());
        *place.ok_or(Error::GENERIC)? = entries.to_be_bytes();
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

#[cfg(test)]
pub(super) mod tests;
