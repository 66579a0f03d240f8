//! The functions of libpcp that this library calls. They have safe wrappers here; no other part of
//! the crate knows their names. `capi/wrapper.h` has the reason for each private function
//! (`__pm…`).

#![allow(unsafe_code)]

pub(crate) mod bindings;
pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod fit;
pub(crate) mod getopt;
pub(crate) mod ipc;
pub(crate) mod labels;
pub(crate) mod log;
pub(crate) mod pmns;
#[allow(clashing_extern_declarations, reason = "bindgen calls all functions unsafe")]
mod safe_externs;
pub(crate) mod version;
