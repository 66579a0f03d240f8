//! The Rust side of the C edge: one file a function family, and the tools that they share.
//!
//! An exported function here gets its arguments as views of [`crate::abi`], calls safe code, and
//! turns the result into C ([`ret`]), all under one panic guard ([`guard`]); it holds no logic. No
//! lock or borrow is held while C code runs.

#![allow(unsafe_code)]

use crate::abi::{guard, memory, ret, types};
use crate::os::{lock, mark};

mod cache;
mod callbacks;
mod connect;
mod context;
mod describe;
mod drive;
mod dynamic;
mod events;
mod fetch;
mod flags;
mod help;
mod init;
mod instances;
mod iterate;
mod labels;
mod left_behind;
pub(crate) mod mainloop;
mod methods;
mod metric;
mod options;
mod queues;
mod root;
mod root_pdu;
mod setup;
mod tree;
