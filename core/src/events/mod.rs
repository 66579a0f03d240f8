//! Packed arrays of event records: the values of `PM_TYPE_EVENT` and `PM_TYPE_HIGHRES_EVENT`
//! metrics.
//!
//! ```text
//! array      length and type | number of records | record …
//! record     seconds | microseconds | flags | number of parameters | parameter …
//!            (low resolution)
//! record     seconds (64 bit) | nanoseconds (64 bit) | flags | number of parameters | …
//!            (high resolution)
//! parameter  metric | length and type | value, padded to a multiple of four with zeros
//! ```
//!
//! Every part is a multiple of four bytes long, so the 64-bit numbers need not be aligned to eight
//! (EVENT-1, EVENT-2).

#[cfg(test)]
mod tests;

use crate::constants::{PM_TYPE_EVENT, PM_TYPE_HIGHRES_EVENT};
use crate::error::{Error, Result};
use crate::handles::{self, Handles};

/// The record flag that says that the record is no event, but the number of missed events.
pub const PM_EVENT_FLAG_MISSED: u32 = 1 << 31;

/// The greatest length in bytes that a length field can hold: it has 24 bits (E-4).
const LENGTH_LIMIT: usize = 0xff_ffff;
/// The greatest length of an array in bytes: all of its parts are multiples of four.
const LIMIT: usize = LENGTH_LIMIT / 4 * 4;

/// Returns the `size` bytes of a message that shows `data`: printable text, one NUL, and dots up to
/// the end (QUEUE-50).
///
/// The NUL takes the place of the last byte copied. `printed` makes a space of white space, and a dot
/// of a byte that cannot be printed. Without data the message is empty (E-16).
pub fn printable(data: &[u8], size: usize, printed: impl Fn(u8) -> u8) -> impl Iterator<Item = u8> {
    let shown = data.len().min(size).saturating_sub(1);
    let text = data.iter().take(shown).map(move |byte| printed(*byte));
    text.chain([0]).chain(std::iter::repeat(b'.')).take(size)
}

/// All arrays of the process by handle, also those that queues use privately (EVENT-10, EVENT-11).
#[derive(Debug, Default)]
pub struct EventArrays(Handles<EventArray>);

impl EventArrays {
    /// A table without arrays.
    #[must_use]
    pub const fn new() -> EventArrays {
        EventArrays(Handles::new())
    }

    /// Makes an array and returns the lowest free handle (EVENT-12).
    ///
    /// # Errors
    /// `-ENOMEM` when handles or memory run out; nothing has changed then.
    pub fn create(&mut self) -> Result<i32> {
        let slot = self.0.vacant()?;
        self.0.put(slot, EventArray::new()?);
        handles::handle(slot)
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none (EVENT-13).
    pub fn get(&mut self, handle: i32) -> Result<&mut EventArray> {
        self.0.get_mut(handles::slot(handle)).ok_or(Error::NOCONTEXT)
    }

    /// Frees an array and its handle (EVENT-15, E-15).
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none.
    pub fn release(&mut self, handle: i32) -> Result<()> {
        self.0.take(handles::slot(handle)).ok_or(Error::NOCONTEXT)?;
        Ok(())
    }
}

/// The size in bytes of an array's header: length with type, number of records.
const HEADER: u32 = 8;
/// The offset in bytes of the number of records.
const RECORDS: u32 = 4;
/// The size in bytes of a new array (EVENT-24).
const FIRST_SIZE: usize = 512;
/// The size in bytes of metric, length and type in front of a parameter's value.
const PARAMETER: usize = 8;
/// The value of [`EventArray::parameters`] when a parameter has no record to belong to.
const NOWHERE: u32 = u32::MAX;

/// The type that a published array has: a `PM_TYPE_*` code (EVENT-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `PM_TYPE_EVENT`: microseconds.
    Low = PM_TYPE_EVENT as isize,
    /// `PM_TYPE_HIGHRES_EVENT`: nanoseconds.
    High = PM_TYPE_HIGHRES_EVENT as isize,
}

/// The time of an event, which decides the form of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// Seconds and microseconds, 32 bits each: cut after 2038 (EVENT-20).
    Low(i64, i64),
    /// Seconds and nanoseconds.
    High(i64, i64),
}

/// The value of a parameter, without its padding (EVENT-4).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterValue<'a> {
    /// Four bytes: `PM_TYPE_32`, `PM_TYPE_U32`, `PM_TYPE_FLOAT`.
    Word(u32),
    /// Eight bytes: `PM_TYPE_64`, `PM_TYPE_U64`, `PM_TYPE_DOUBLE`.
    Long(u64),
    /// `PM_TYPE_STRING` (without a NUL) and `PM_TYPE_AGGREGATE`.
    Bytes(&'a [u8]),
}

/// The end of an array, to which it can be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    used: u32,
    parameters: u32,
    /// The number of records.
    records: u32,
}

/// A packed array under construction.
#[derive(Debug)]
pub struct EventArray {
    /// The bytes that were added, and others up to the capacity.
    bytes: Vec<u8>,
    /// The number of bytes that were added, the header's included: a multiple of four.
    used: u32,
    /// The offset of the newest record's number of parameters; [`NOWHERE`] at the start and after a
    /// missed record (E-1, E-2). Either form of record counts there (E-3).
    parameters: u32,
}

impl EventArray {
    /// An array without records.
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory.
    pub fn new() -> Result<EventArray> {
        let mut bytes = Vec::new();
        enlarge(&mut bytes, FIRST_SIZE)?;
        Ok(EventArray {
            bytes,
            used: HEADER,
            parameters: NOWHERE,
        })
    }

    /// Empties the array. Its memory and the length last published stay (EVENT-14).
    pub fn reset(&mut self) {
        self.used = HEADER;
        self.parameters = NOWHERE;
        self.put(RECORDS as usize, [0]);
    }

    /// The present end of the array, for [`EventArray::cut`].
    #[must_use]
    pub fn end(&self) -> End {
        let records = self.bytes.get(RECORDS as usize..).and_then(|bytes| bytes.first_chunk());
        End {
            used: self.used,
            parameters: self.parameters,
            records: records.map_or(0, |count| u32::from_ne_bytes(*count)),
        }
    }

    /// Takes away the records that were added after an end of this array.
    pub fn cut(&mut self, end: End) {
        if end.used <= self.used {
            (self.used, self.parameters) = (end.used, end.parameters);
            self.put(RECORDS as usize, [end.records]);
        }
    }

    /// The number of bytes that can still be added before the length field of the array is full.
    #[must_use]
    pub fn room(&self) -> usize {
        LIMIT.saturating_sub(self.used as usize)
    }

    /// Starts a record (EVENT-20).
    ///
    /// # Errors
    /// `PM_ERR_CONV` when the flags claim a missed record, `PM_ERR_TOOBIG` when the array is full
    /// (E-4), `-ENOMEM`. The array is then as it was.
    #[inline(always)]
    pub fn add_record(&mut self, stamp: Stamp, flags: u32) -> Result<()> {
        if flags & PM_EVENT_FLAG_MISSED != 0 {
            return Err(Error::CONV);
        }
        self.push_record(stamp, flags, 0)?;
        self.parameters = self.used - 4;
        Ok(())
    }

    /// Sets the flags of the newest record.
    ///
    /// # Errors
    /// `PM_ERR_CONV` when the flags claim a missed record, `-EINVAL` without a record whose flags
    /// could be set.
    pub fn set_flags(&mut self, flags: u32) -> Result<()> {
        if flags & PM_EVENT_FLAG_MISSED != 0 {
            return Err(Error::CONV);
        }
        if self.parameters == NOWHERE {
            return Err(Error::EINVAL);
        }
        // The flags are in front of the number of parameters.
        self.put(self.parameters as usize - 4, [flags]);
        Ok(())
    }

    /// Adds a record that says that `count` events were missed (EVENT-21).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` when the array is full, `-ENOMEM`.
    pub fn add_missed(&mut self, stamp: Stamp, count: i32) -> Result<()> {
        self.push_record(stamp, PM_EVENT_FLAG_MISSED, count as u32)?;
        self.parameters = NOWHERE;
        Ok(())
    }

    /// Adds a record of either kind; `parameters` is the number of parameters or of missed events.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` when the array is full, `-ENOMEM`; the array is unchanged.
    #[inline(always)]
    fn push_record(&mut self, stamp: Stamp, flags: u32, parameters: u32) -> Result<()> {
        while !self.fit_stamped(stamp, flags, parameters) {
            self.grow(match stamp {
                Stamp::Low(..) => 16,
                Stamp::High(..) => 24,
            })?;
        }
        Ok(())
    }

    /// Adds a record of either kind if it fits.
    #[inline(always)]
    fn fit_stamped(&mut self, stamp: Stamp, flags: u32, parameters: u32) -> bool {
        match stamp {
            Stamp::Low(seconds, fraction) => {
                self.fit(RECORDS, [low_word(seconds), low_word(fraction), flags, parameters])
            }
            Stamp::High(seconds, fraction) => {
                let [s0, s1] = two_words(seconds.to_ne_bytes());
                let [f0, f1] = two_words(fraction.to_ne_bytes());
                self.fit(RECORDS, [s0, s1, f0, f1, flags, parameters])
            }
        }
    }

    /// Adds a parameter of four bytes if it fits, without allocating. `false` means that it does
    /// not fit, or has no record to belong to: [`EventArray::add_parameter`] grows the array, or
    /// says why not.
    #[inline(always)]
    fn fit_word(&mut self, metric: u32, kind: u8, word: u32) -> bool {
        self.fit(self.parameters, [metric, length_and_type(8, kind), word])
    }

    /// As [`EventArray::fit_word`], of eight bytes.
    #[inline(always)]
    fn fit_long(&mut self, metric: u32, kind: u8, long: u64) -> bool {
        let [first, second] = two_words(long.to_ne_bytes());
        self.fit(self.parameters, [metric, length_and_type(12, kind), first, second])
    }

    /// Adds a parameter to the newest record. `kind` is its `PM_TYPE_*` code (EVENT-22).
    ///
    /// # Errors
    /// `-EINVAL` without a record that it could belong to, `PM_ERR_TOOBIG` when a length field
    /// overflows, `-ENOMEM`. The array is then unchanged.
    #[inline(always)]
    pub fn add_parameter(&mut self, metric: u32, kind: u8, value: ParameterValue<'_>) -> Result<()> {
        while !self.fit_parameter(metric, kind, value) {
            if self.parameters == NOWHERE {
                return Err(Error::EINVAL);
            }
            let size = match value {
                ParameterValue::Word(_) => 4,
                ParameterValue::Long(_) => 8,
                ParameterValue::Bytes(bytes) => bytes.len() + padding(bytes.len()),
            };
            self.grow(PARAMETER + size)?;
        }
        Ok(())
    }

    /// Adds a parameter if it fits.
    #[inline(always)]
    fn fit_parameter(&mut self, metric: u32, kind: u8, value: ParameterValue<'_>) -> bool {
        match value {
            ParameterValue::Word(word) => self.fit_word(metric, kind, word),
            ParameterValue::Long(long) => self.fit_long(metric, kind, long),
            ParameterValue::Bytes(bytes) => self.fit_bytes(metric, kind, bytes),
        }
    }

    /// As [`EventArray::fit_word`], of any length, with its padding. An array is never larger than
    /// its length field can say, so the length of any text that fits can be said, too.
    #[inline(always)]
    fn fit_bytes(&mut self, metric: u32, kind: u8, bytes: &[u8]) -> bool {
        let len = bytes.len();
        let start = self.used as usize;
        let end = start + PARAMETER + len + padding(len);
        if end > self.bytes.len() || !self.count(self.parameters) {
            return false;
        }
        // The padding, or what is overwritten now.
        self.put(end - 4, [0]);
        // The length counts its own word, but neither the metric nor the padding (EVENT-3).
        self.put(start, [metric, length_and_type(len as u32 + 4, kind)]);
        self.used = end as u32;
        let value = start + PARAMETER;
        if let Some(value) = self.bytes.get_mut(value..value + len) {
            value.copy_from_slice(bytes);
        }
        true
    }

    /// Adds words if there is room for them, and counts them as one thing in the word at the offset
    /// `counter`. Returns false if there is no room, or no such word.
    #[inline(always)]
    fn fit<const N: usize>(&mut self, counter: u32, words: [u32; N]) -> bool {
        let start = self.used as usize;
        let end = start + 4 * N;
        if end > self.bytes.len() || !self.count(counter) {
            return false;
        }
        self.put(start, words);
        self.used = end as u32;
        true
    }

    /// Adds one to the word at the offset `counter`. Returns false if there is no such word, as for
    /// [`NOWHERE`].
    #[inline(always)]
    fn count(&mut self, counter: u32) -> bool {
        let counter = counter as usize;
        let Some(word) = self.bytes.get_mut(counter..counter.wrapping_add(4)) else {
            return false;
        };
        if let Some(word) = word.first_chunk_mut() {
            *word = u32::from_ne_bytes(*word).wrapping_add(1).to_ne_bytes();
        }
        true
    }

    /// Writes words, for which there is room, at an offset.
    #[inline(always)]
    fn put<const N: usize>(&mut self, start: usize, words: [u32; N]) {
        let out = self.bytes.get_mut(start..start + 4 * N).unwrap_or_default();
        for (bytes, word) in out.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// Makes room for `more` bytes, by doubling.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` beyond the length field, `-ENOMEM`.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let needed = self.used as usize + more;
        if needed > LIMIT {
            return Err(Error::TOOBIG);
        }
        let size = needed.max(self.bytes.len() * 2).min(LIMIT);
        enlarge(&mut self.bytes, size)
    }

    /// Writes length and type into the header, and returns the array for reading. Its memory stays
    /// at one address until something is added or the array is dropped (EVENT-25).
    #[inline(always)]
    pub fn publish(&mut self, form: Form) -> &mut [u8] {
        self.put(0, [length_and_type(self.used, form as u8)]);
        self.bytes.get_mut(..self.used as usize).unwrap_or_default()
    }
}

/// Grows the memory of an array to `size` bytes, with zeros at the end.
fn enlarge(bytes: &mut Vec<u8>, size: usize) -> Result<()> {
    bytes.try_reserve_exact(size - bytes.len()).map_err(|_| Error::ENOMEM)?;
    bytes.resize(size, 0);
    Ok(())
}

/// The number of zeros after a value, up to a multiple of four.
fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

/// A word of 24 bits of length, in bytes, and, in the high bits, 8 bits of type. No length is cut:
/// an array has at most [`LENGTH_LIMIT`] bytes.
fn length_and_type(length: u32, kind: u8) -> u32 {
    length & 0xff_ffff | u32::from(kind) << 24
}

/// The low 32 bits: seconds of a low-resolution record are cut after 2038 (EVENT-20).
fn low_word(value: i64) -> u32 {
    value as u32
}

/// Eight bytes as two words, in the host's byte order.
fn two_words([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u32; 2] {
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}
