//! The structures of a result.

use std::ffi::{c_int, c_long, c_uint};

/// `pmdaResult`, without the pointers to value sets that follow it.
#[repr(C)]
pub(crate) struct ResultHead {
    /// `struct timeval` in PCP 6, `struct timespec` in PCP 7.
    pub(crate) timestamp: [c_long; 2],
    pub(crate) count: c_int,
    pub(crate) sets: [*const ValueSet; 0],
}

/// `pmValueSet`, without the values that follow it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ValueSet {
    pub(crate) pmid: c_uint,
    pub(crate) numval: c_int,
    pub(crate) valfmt: c_int,
    pub(crate) values: [Value; 0],
}

/// `pmValue`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Value {
    pub(crate) inst: c_int,
    pub(crate) value: ValueUnion,
}

/// A number in place, or a value block.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union ValueUnion {
    pub(crate) lval: c_int,
    pub(crate) pval: *const u32,
}
