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
mod print;
mod table;

pub use array::{Array, Form, Stamp, Value};
pub use print::printable;
pub use table::Arrays;

/// Bit of a record's flags: not an event, but the number of events that were missed.
pub const FLAG_MISSED: u32 = 1 << 31;

/// Every length field has 24 bits (E-4).
const LENGTH_LIMIT: usize = 0xff_ffff;
