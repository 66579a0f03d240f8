//! Typed views of C's structures, arguments and memory.
//!
//! Each view has one unsafe constructor, whose contract is that of C, and safe functions that copy
//! fields out. No reference to C's memory leaves this room: agents rewrite their structures at any
//! time.

#![allow(unsafe_code)]

pub(crate) mod arg;
pub(crate) mod buffer;
pub(crate) mod event_block;
pub(crate) mod from_wire;
pub mod interface;
pub mod label_set;
pub mod memory;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod reply;
pub(crate) mod result_block;
pub mod table;
pub(crate) mod transport;
pub mod types;
pub(crate) mod value;
