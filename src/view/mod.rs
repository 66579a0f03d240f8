//! Typed views of C's structures, arguments and memory.
//!
//! Each view has one unsafe constructor, whose contract says what C has to ensure, and safe
//! functions that copy fields out. Agents rewrite their structures at any time, so Rust has no
//! reference to any of them. Exceptions are structures that only their owner changes, while no code
//! of C runs: label sets (`label_set`), nodes of a name space (`sys/libpcp/pmns`), and the bytes of
//! texts and lists.
//!
//! This module and `sys` are no crate of their own, although cargo would then keep the order between
//! them and the rest: some 370 items would have to be public, cbindgen reads the headers from one
//! crate, and the bindings with the flags of `build.rs` would have to be made twice.

#![allow(unsafe_code)]

pub(crate) mod arg;
pub(crate) mod buffer;
pub(crate) mod event_block;

pub(crate) mod instance_list;
pub mod interface;
pub mod label_set;
pub mod memory;
pub(crate) mod names;
pub(crate) mod result_block;
pub mod table;
#[cfg(test)]
pub(crate) mod testing;
pub mod types;
pub(crate) mod value;
pub(crate) mod wire;
