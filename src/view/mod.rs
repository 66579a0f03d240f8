//! What C's structures, arguments and memory are, said once: typed views, out-pointers, blocks from
//! malloc, and what a result looks like to C.
//!
//! Each view has one unsafe constructor, whose contract is that of C, and safe functions that copy
//! fields out. No reference to memory that C owns ever leaves this room: agents rewrite their
//! structures at any time.

#![allow(unsafe_code)]

pub(crate) mod answers;
pub(crate) mod arg;
pub mod array;
pub(crate) mod block;
pub(crate) mod buffer;
mod declare;
pub(crate) mod dispatch;
pub(crate) mod event_block;
pub mod ext;
pub(crate) mod help_table;
pub mod label_set;
mod layout;
pub(crate) mod methods;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod profile;
pub(crate) mod received;
pub(crate) mod records;
pub(crate) mod result_block;
pub mod table;
pub(crate) mod tree;
pub mod types;
pub(crate) mod value;
