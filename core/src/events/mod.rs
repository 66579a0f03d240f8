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

/// Returns the `size` bytes of a message that shows `data`: printable text, one NUL, and dots up to
/// the end (QUEUE-50).
///
/// The NUL takes the place of the last byte copied. White space becomes a space; a byte that cannot
/// be printed, a dot. Without data the message is empty (E-16).
pub fn printable(data: &[u8], size: usize) -> impl Iterator<Item = u8> {
    let shown = data.len().min(size).saturating_sub(1);
    let text = data.iter().take(shown).map(|byte| printed(*byte));
    text.chain([0]).chain(std::iter::repeat(b'.')).take(size)
}

/// A byte as it is printed: white space as a space, others that cannot be printed as a dot.
pub(crate) const fn printed(byte: u8) -> u8 {
    match byte {
        b' ' | 0x09..=0x0d => b' ',
        0x21..=0x7e => byte,
        _ => b'.',
    }
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

/// The number of words of an array's header: length with type, number of records.
const HEADER: u32 = 2;
/// The number of words of a new array: 512 bytes (EVENT-24).
const FIRST_WORDS: usize = 128;
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

/// A packed array under construction.
#[derive(Debug)]
pub struct EventArray {
    /// The words that were added, and zeros up to the capacity.
    words: Vec<u32>,
    /// The number of words that were added, the header's included.
    used: u32,
    /// The offset, in words, of the newest record's number of parameters; [`NOWHERE`] at the start
    /// and after a missed record (E-1, E-2). Either form of record counts there (E-3).
    parameters: u32,
}

impl EventArray {
    /// An array without records.
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory.
    pub fn new() -> Result<EventArray> {
        let mut words = Vec::new();
        enlarge(&mut words, FIRST_WORDS)?;
        Ok(EventArray {
            words,
            used: HEADER,
            parameters: NOWHERE,
        })
    }

    /// Empties the array. Its memory and the length last published stay (EVENT-14).
    pub fn reset(&mut self) {
        self.used = HEADER;
        self.parameters = NOWHERE;
        if let Some(records) = self.words.get_mut(1) {
            *records = 0;
        }
    }

    /// Starts a record (EVENT-20).
    ///
    /// # Errors
    /// `PM_ERR_CONV` when the flags claim a missed record, `PM_ERR_TOOBIG` when the array is full
    /// (E-4), `-ENOMEM`. The array is then as it was.
    pub fn add_record(&mut self, stamp: Stamp, flags: u32) -> Result<()> {
        if flags & PM_EVENT_FLAG_MISSED != 0 {
            return Err(Error::CONV);
        }
        self.push_record(stamp, flags, 0)?;
        self.parameters = self.used - 1;
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
    fn push_record(&mut self, stamp: Stamp, flags: u32, parameters: u32) -> Result<()> {
        match stamp {
            Stamp::Low(seconds, fraction) => {
                self.push([low_word(seconds), low_word(fraction), flags, parameters])?;
            }
            Stamp::High(seconds, fraction) => {
                let [s0, s1] = two_words(seconds.to_ne_bytes());
                let [f0, f1] = two_words(fraction.to_ne_bytes());
                self.push([s0, s1, f0, f1, flags, parameters])?;
            }
        }
        self.count(1);
        Ok(())
    }

    /// Starts a record if it fits, without allocating. `false` means that it does not fit, or that
    /// the flags are wrong: [`EventArray::add_record`] grows the array, or says why not.
    #[inline(always)]
    pub fn fit_record(&mut self, stamp: Stamp, flags: u32) -> bool {
        let fits = flags & PM_EVENT_FLAG_MISSED == 0
            && match stamp {
                Stamp::Low(seconds, fraction) => self.fit([low_word(seconds), low_word(fraction), flags, 0]),
                Stamp::High(seconds, fraction) => {
                    let [s0, s1] = two_words(seconds.to_ne_bytes());
                    let [f0, f1] = two_words(fraction.to_ne_bytes());
                    self.fit([s0, s1, f0, f1, flags, 0])
                }
            };
        if fits {
            self.count(1);
            self.parameters = self.used - 1;
        }
        fits
    }

    /// Adds a parameter that is a number if it fits, without allocating. `false` means that it does
    /// not fit, or has no record to belong to: [`EventArray::add_parameter`] grows the array, or
    /// says why not.
    #[inline(always)]
    pub fn fit_parameter(&mut self, metric: u32, kind: u8, value: ParameterValue<'_>) -> bool {
        let fits = self.parameters != NOWHERE
            && match value {
                ParameterValue::Word(word) => self.fit([metric, length_and_type(8, kind), word]),
                ParameterValue::Long(long) => {
                    let [first, second] = two_words(long.to_ne_bytes());
                    self.fit([metric, length_and_type(12, kind), first, second])
                }
                ParameterValue::Bytes(_) => false,
            };
        if fits {
            self.count(self.parameters);
        }
        fits
    }

    /// [`EventArray::fit_parameter`] for a text.
    pub fn fit_text(&mut self, metric: u32, kind: u8, text: &[u8]) -> bool {
        let fits = self.parameters != NOWHERE && self.fit_bytes(metric, kind, text);
        if fits {
            self.count(self.parameters);
        }
        fits
    }

    /// Adds a parameter to the newest record. `kind` is its `PM_TYPE_*` code (EVENT-22).
    ///
    /// # Errors
    /// `-EINVAL` without a record that it could belong to, `PM_ERR_TOOBIG` when a length field
    /// overflows, `-ENOMEM`. The array is then unchanged.
    #[inline(always)] // The kind of value is known to each caller.
    pub fn add_parameter(&mut self, metric: u32, kind: u8, value: ParameterValue<'_>) -> Result<()> {
        if self.parameters == NOWHERE {
            return Err(Error::EINVAL);
        }
        match value {
            ParameterValue::Word(word) => self.push([metric, length_and_type(8, kind), word])?,
            ParameterValue::Long(long) => {
                let [first, second] = two_words(long.to_ne_bytes());
                self.push([metric, length_and_type(12, kind), first, second])?;
            }
            ParameterValue::Bytes(bytes) => self.push_bytes(metric, kind, bytes)?,
        }
        self.count(self.parameters);
        Ok(())
    }

    /// Adds a parameter of any length, and grows the array if need be.
    fn push_bytes(&mut self, metric: u32, kind: u8, bytes: &[u8]) -> Result<()> {
        if bytes.len().saturating_add(4) > LENGTH_LIMIT {
            return Err(Error::TOOBIG);
        }
        if !self.fit_bytes(metric, kind, bytes) {
            self.grow(2 + bytes.len().div_ceil(4))?;
            self.fit_bytes(metric, kind, bytes);
        }
        Ok(())
    }

    /// Adds a parameter with its padding if there is room for it. The room is at most what a length
    /// field can say, so the length need not be checked.
    fn fit_bytes(&mut self, metric: u32, kind: u8, bytes: &[u8]) -> bool {
        let start = self.used as usize;
        let count = 2 + bytes.len().div_ceil(4);
        let Some([id, head, payload @ ..]) = self.words.get_mut(start..start + count) else {
            return false;
        };
        *id = metric;
        // The length counts its own word, but neither the metric nor the padding (EVENT-3).
        *head = length_and_type(bytes.len() + 4, kind);
        // The compiler makes a memcpy of this loop: `payload` has a word for each four bytes.
        let (fours, rest) = bytes.split_at(bytes.len() & !3);
        let (whole, last) = payload.split_at_mut_checked(fours.len() / 4).unwrap_or_default();
        for (word, four) in whole.iter_mut().zip(fours.chunks_exact(4)) {
            *word = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
        }
        if let Some(last) = last.first_mut() {
            let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
            *last = u32::from_ne_bytes([byte(0), byte(1), byte(2), 0]);
        }
        // No overflow: an array has at most LENGTH_LIMIT / 4 words.
        self.used += count as u32;
        true
    }

    /// Counts a record (`offset` 1) or a parameter (`offset` is that of its record's number of
    /// parameters).
    fn count(&mut self, offset: u32) {
        if let Some(count) = self.words.get_mut(offset as usize) {
            *count = count.wrapping_add(1);
        }
    }

    /// Adds words, and grows the array if need be.
    fn push<const N: usize>(&mut self, words: [u32; N]) -> Result<()> {
        if !self.fit(words) {
            self.grow(N)?;
            self.fit(words);
        }
        Ok(())
    }

    /// Adds words if there is room for them.
    #[inline(always)]
    fn fit<const N: usize>(&mut self, words: [u32; N]) -> bool {
        let start = self.used as usize;
        let Some(out) = self.words.get_mut(start..start + N) else {
            return false;
        };
        out.copy_from_slice(&words);
        self.used += N as u32;
        true
    }

    /// Makes room for `more` words, by doubling.
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG` beyond the length field, `-ENOMEM`.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<()> {
        let needed = self.used as usize + more;
        if needed > LENGTH_LIMIT / 4 {
            return Err(Error::TOOBIG);
        }
        let size = needed.max(self.words.len() * 2).min(LENGTH_LIMIT / 4);
        enlarge(&mut self.words, size)
    }

    /// Writes length and type into the header, and returns the array for reading. Its memory stays
    /// at one address until something is added or the array is dropped (EVENT-25).
    #[inline(always)]
    pub fn publish(&mut self, form: Form) -> &mut [u32] {
        let head = length_and_type(self.used as usize * 4, form as u8);
        if let Some(first) = self.words.first_mut() {
            *first = head;
        }
        self.words.get_mut(..self.used as usize).unwrap_or_default()
    }
}

/// Grows the memory of an array to `size` words, with zeros at the end.
fn enlarge(words: &mut Vec<u32>, size: usize) -> Result<()> {
    words.try_reserve_exact(size - words.len()).map_err(|_| Error::ENOMEM)?;
    words.resize(size, 0);
    Ok(())
}

/// A word of 24 bits of length, in bytes, and, in the high bits, 8 bits of type.
fn length_and_type(length: usize, kind: u8) -> u32 {
    // No length is cut: callers have compared it with LENGTH_LIMIT.
    u32::try_from(length).unwrap_or(u32::MAX) & 0xff_ffff | u32::from(kind) << 24
}

/// The low 32 bits: seconds of a low-resolution record are cut after 2038 (EVENT-20).
fn low_word(value: i64) -> u32 {
    value as u32
}

/// Eight bytes as two words, in the host's byte order.
fn two_words([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u32; 2] {
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}
