//! A drop-in replacement for libpcp_pmda, the library that the agents of Performance Co-Pilot stand
//! on.
//!
//! C pointers come in at [`ffi`], become safe Rust values once, are served by safe modules that
//! know nothing of C, and go back out at [`ffi`]. `docs/ARCHITECTURE.md` shows the house; the
//! requirement numbers in the documentation (CACHE-10, WIRE-51 …) are those of `docs/spec`, which
//! the tests cite.

#![cfg_attr(not(test), deny(clippy::disallowed_macros, clippy::disallowed_methods))]
#[cfg(panic = "abort")]
compile_error!("pcp-pmda turns its panics into error codes: build it with panic = \"unwind\", the default");

pub mod abi;
mod agent;
pub mod ffi;
mod libpcp;
mod machine;
mod os;
mod pmdaroot;
