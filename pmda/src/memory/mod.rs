//! The result of a fetch for a host of shared objects: structures of C, in blocks of malloc.

#![allow(unsafe_code)]

mod abi;
mod heap;
mod result;

pub(crate) use abi::{ResultHead, Value, ValueSet, ValueUnion};
pub(crate) use heap::Blocks;
pub(crate) use result::HostResult;
