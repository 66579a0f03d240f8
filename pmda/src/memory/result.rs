//! The result of a fetch in memory.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use pmda_core::constants::{PM_VAL_DPTR, PM_VAL_INSITU};
use pmda_core::ident::MetricId;
use pmda_core::wire::number;
use pmda_core::wire::result::{self, SentValue as Stored};

use super::heap::{Blocks, Set};
use super::{ResultHead, ValueSet, ValueUnion};
use pmda_core::error::{Error, Result};

/// The number of words before the pointers to the value sets.
const HEAD: usize = offset_of!(ResultHead, sets) / size_of::<*const ()>();
/// The word with the number of sets.
const COUNT: usize = offset_of!(ResultHead, count) / size_of::<*const ()>();

/// A result as the host reads it: words, and after them pointers to the sets, which become the
/// host's. The words stay ours, and are valid until the next fetch (FETCH-70, FETCH-71).
pub(crate) struct HostResult {
    words: Vec<*mut c_void>,
    /// The set that is being built.
    set: Set,
    /// The sets that are whole, and the blocks that values point to: all that becomes the host's.
    /// There is always space for one more.
    blocks: Blocks,
    /// The number of blocks when the set was begun.
    before: usize,
    pmid: u32,
    format: i32,
}

impl HostResult {
    pub(crate) fn new() -> HostResult {
        HostResult {
            words: vec![ptr::null_mut(); HEAD],
            pmid: 0,
            set: Set::new(),
            blocks: Blocks::new(),
            before: 0,
            format: PM_VAL_INSITU,
        }
    }

    /// Starts a result of `metrics` sets. The seconds of its time are the flags (WIRE-52).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` if the number does not fit; `-ENOMEM`.
    #[inline]
    pub(crate) fn begin(&mut self, flags: u32, metrics: usize) -> Result<()> {
        let mut count = [0; size_of::<usize>()];
        let sets = i32::try_from(metrics).map_err(|_| Error::TOOBIG)?;
        count[..4].copy_from_slice(&sets.to_ne_bytes());
        self.words.truncate(HEAD);
        // Of a result that has failed.
        self.blocks.truncate(0);
        self.words.try_reserve(metrics).map_err(|_| Error::ENOMEM)?;
        self.words[0] = ptr::without_provenance_mut(flags as usize);
        self.words[COUNT] = ptr::without_provenance_mut(usize::from_ne_bytes(count));
        Ok(())
    }

    /// Starts the set of a metric.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn open(&mut self, metric: MetricId) -> Result<()> {
        self.pmid = metric.0;
        self.before = self.blocks.len();
        self.format = PM_VAL_INSITU;
        self.blocks.reserve(1)?;
        self.set.begin()
    }

    /// Adds a value in place.
    ///
    /// # Errors
    /// `PM_ERR_CONV` if the set has values with blocks: the host takes all words for pointers then.
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn word(&mut self, inst: i32, word: u32) -> Result<()> {
        if self.format != PM_VAL_INSITU {
            return Err(Error::CONV);
        }
        self.set.push(inst, ValueUnion { lval: word as i32 })
    }

    /// Adds a number of 64 bits, with the header word of its block.
    ///
    /// # Errors
    /// `PM_ERR_CONV` if the set has values in place; `-ENOMEM`.
    pub(crate) fn wide(&mut self, inst: i32, header: u32, value: u64) -> Result<()> {
        self.written(inst, 12, |block| {
            block[..4].copy_from_slice(&header.to_ne_bytes());
            block[4..].copy_from_slice(&value.to_ne_bytes());
            Ok(())
        })
    }

    /// Adds a block with data in the byte order of the wire, with its header word.
    ///
    /// # Errors
    /// As [`HostResult::wide`]; those of data that is not what the header says.
    pub(crate) fn block(&mut self, inst: i32, header: u32, data: &[u8]) -> Result<()> {
        let value = Stored::Block(header, data);
        self.written(inst, value.block_len(), |block| value.write(block))
    }

    /// Adds a text and the NUL that ends it, with the header word of its block.
    ///
    /// # Errors
    /// As [`HostResult::wide`].
    pub(crate) fn text(&mut self, inst: i32, header: u32, text: &[u8]) -> Result<()> {
        self.written(inst, 4 + text.len() + 1, |block| {
            block[..4].copy_from_slice(&header.to_ne_bytes());
            block[4..4 + text.len()].copy_from_slice(text);
            Ok(())
        })
    }

    /// Adds a value with a block of `size` bytes, which becomes the host's with the set.
    fn written(&mut self, inst: i32, size: usize, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        if self.format == PM_VAL_INSITU && !self.set.is_empty() {
            return Err(Error::CONV);
        }
        // Room for this block, and for the set.
        self.blocks.reserve(2)?;
        let kept = self.blocks.len();
        let pval = self.blocks.block(size, write)?.cast_const().cast();
        if let Err(error) = self.set.push(inst, ValueUnion { pval }) {
            self.blocks.truncate(kept);
            return Err(error);
        }
        self.format = PM_VAL_DPTR;
        Ok(())
    }

    /// Ends the set. `values` is the number of values or, without values, an error code.
    #[inline]
    pub(crate) fn close(&mut self, values: i32) {
        let head = ValueSet {
            pmid: self.pmid,
            numval: values,
            valfmt: self.format,
            values: [],
        };
        self.words.push(self.set.finish(head, &mut self.blocks));
    }

    /// Ends the set without the values that were added: `code` is the error, or 0.
    pub(crate) fn fail(&mut self, code: i32) {
        self.blocks.truncate(self.before);
        self.set.clear();
        self.format = PM_VAL_INSITU;
        self.close(code.min(0));
    }

    /// The result for the host, valid until this begins another one. The sets are the host's.
    pub(crate) fn finish(&mut self) -> *mut c_void {
        self.blocks.give();
        self.words.as_mut_ptr().cast()
    }

    /// Makes a result of a reply. An agent with a deadline is on another thread, which gives a
    /// reply only.
    ///
    /// # Errors
    /// Those of a reply that is not whole.
    pub(crate) fn of_reply(&mut self, pdu: &[u8]) -> Result<()> {
        let reply = result::decode(pdu)?;
        self.begin(number(pdu, 12).unwrap_or(0) as u32, reply.metrics)?;
        for set in reply.sets() {
            self.open(set.metric)?;
            for (inst, value) in set.values() {
                match value {
                    Stored::Word(word) => self.word(inst, word)?,
                    Stored::Block(header, data) => self.block(inst, header, data)?,
                }
            }
            self.close(set.numval);
        }
        Ok(())
    }
}

impl std::fmt::Debug for HostResult {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} words", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set has pointers only, or numbers only: the host never takes one for the other.
    #[test]
    fn one_format_a_set() {
        let mut sets = HostResult::new();
        sets.begin(0, 1).expect("few");
        sets.open(MetricId(1)).expect("memory");
        sets.wide(1, 12, 7).expect("the first");
        assert_eq!(sets.word(2, 7), Err(Error::CONV));
        sets.fail(0);
        sets.open(MetricId(1)).expect("memory");
        sets.word(1, 7).expect("the first");
        assert_eq!(sets.wide(2, 12, 7), Err(Error::CONV));
        assert_eq!(sets.block(2, 8, &[0; 4]), Err(Error::CONV));
        assert_eq!(sets.text(2, 8, b"two"), Err(Error::CONV));
        sets.fail(0);
    }
}
