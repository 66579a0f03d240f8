//! What we call in libpcp, and nothing else of the crate knows its names.
//!
//! Every wrapper takes and gives safe types; a private function of libpcp (`__pm…`) has its reason
//! beside its prototype in `capi/wrapper.h`.

#![allow(unsafe_code)]

pub(crate) mod bindings;
pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod getopt;
pub(crate) mod ipc;
pub(crate) mod labels;
pub(crate) mod log;
pub(crate) mod pmns;
#[allow(clashing_extern_declarations, reason = "bindgen calls all functions unsafe")]
mod safe_externs;
pub(crate) mod version;
