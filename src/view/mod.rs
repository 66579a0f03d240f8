//! Typed views of C's structures, arguments and memory.
//!
//! Each view has one unsafe constructor, whose contract is what C has to ensure, and safe functions
//! that copy fields out. Agents rewrite their structures at any time, so there is no reference to
//! one of them. Exceptions are structures that only their owner changes, while no code of C runs:
//! label sets (`label_set`, `sys/libpcp/labels`) and nodes of a name space (`sys/libpcp/pmns`).

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
pub mod types;
pub(crate) mod value;
pub(crate) mod wire;
