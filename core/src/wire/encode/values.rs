//! The value sets of a RESULT (WIRE-50).

use super::{Reply, put_block};
use crate::error::{Error, Result};
use crate::ident::MetricId;

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
    pub(super) reply: &'a mut Reply,
    pub(super) next: usize,
    pub(super) end: usize,
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
        self.reply.bytes.get_mut(start..end).ok_or(Error::GENERIC)
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
            let word = u32::try_from(self.reply.bytes.len() / 4).map_err(|_| Error::TOOBIG)?;
            put_block(&mut self.reply.bytes, block.ok_or(Error::GENERIC)?)?;
            let pair = self
                .reply
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
        self.reply.finish()
    }
}
