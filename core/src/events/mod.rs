//! Packed arrays of event records, as clients of `PM_TYPE_EVENT` and `PM_TYPE_HIGHRES_EVENT`
//! metrics get them.
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
//! Everything is a multiple of four bytes and nothing is aligned to eight (EVENT-1, EVENT-2), so an
//! array is a vector of 32-bit words in native byte order.

mod array;

pub use array::{Array, Form, Stamp, Value};

use crate::error::{Error, Result};
use crate::handles::{self, Handles};

/// Bit of a record's flags: not an event, but the number of events that were missed.
pub const FLAG_MISSED: u32 = 1 << 31;

/// Every length field has 24 bits (E-4).
const LENGTH_LIMIT: usize = 0xff_ffff;

/// The `size` bytes of a message that shows `data`: printable text, one NUL, and dots up to the end
/// (QUEUE-50).
///
/// The NUL takes the place of the last byte that was copied, so that byte is never shown. White
/// space becomes a space, what cannot be printed a dot. Without data the message is empty (E-16).
pub fn printable(data: &[u8], size: usize) -> impl Iterator<Item = u8> {
    let shown = data.len().min(size).saturating_sub(1);
    let text = data.iter().take(shown).map(|byte| match byte {
        b' ' | 0x09..=0x0d => b' ',
        0x21..=0x7e => *byte,
        _ => b'.',
    });
    text.chain([0]).chain(std::iter::repeat(b'.')).take(size)
}

/// All arrays of the process by handle. Arrays of either form and the private arrays of queues
/// share one table (EVENT-10, EVENT-11).
#[derive(Debug, Default)]
pub struct Arrays(Handles<Array>);

impl Arrays {
    /// No arrays.
    #[must_use]
    pub const fn new() -> Arrays {
        Arrays(Handles::new())
    }

    /// Whether there never was one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.slots() == 0
    }

    /// Makes a new array and gives the lowest free handle (EVENT-12).
    ///
    /// # Errors
    /// `-ENOMEM` when handles or memory run out; nothing has changed then.
    pub fn create(&mut self) -> Result<i32> {
        let slot = self.0.vacant()?;
        self.0.put(slot, Array::new()?);
        handles::handle(slot)
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none (EVENT-13).
    #[inline]
    pub fn get(&mut self, handle: i32) -> Result<&mut Array> {
        let slot = handles::slot(handle);
        slot.and_then(|slot| self.0.get_mut(slot)).ok_or(Error::NOCONTEXT)
    }

    /// Frees an array; its handle is given to the next one (EVENT-15, E-15).
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none.
    pub fn release(&mut self, handle: i32) -> Result<()> {
        let slot = handles::slot(handle);
        slot.and_then(|slot| self.0.take(slot)).ok_or(Error::NOCONTEXT)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(data: &[u8], size: usize) -> Vec<u8> {
        printable(data, size).collect()
    }

    /// QUEUE-50, E-16: the examples of the specification.
    #[test]
    fn text_nul_and_dots() {
        assert_eq!(print(b"ab\tc\n\x01d", 16), b"ab c .\0.........");
        assert_eq!(print(b"0123456789abcdef", 8), b"0123456\0");
        assert_eq!(print(b"x", 4), b"\0...");
        assert_eq!(print(b"", 4), b"\0...");
        assert_eq!(print(b"\x80\xff\x7f ", 5), b"...\0.");
    }

    /// EVENT-10, EVENT-13, EVENT-15: lowest free handle first; released and unknown ones are
    /// refused.
    #[test]
    fn handles() {
        let mut arrays = Arrays::new();
        assert_eq!([0; 3].map(|_| arrays.create()), [Ok(0), Ok(1), Ok(2)]);
        arrays.release(1).expect("exists");
        assert_eq!(arrays.release(1), Err(Error::NOCONTEXT));
        assert_eq!(arrays.create(), Ok(1));
        for handle in [-1, 3, i32::MIN, i32::MAX] {
            assert_eq!(arrays.get(handle).err(), Some(Error::NOCONTEXT));
        }
    }
}
