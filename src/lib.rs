//! A drop-in replacement for libpcp_pmda, the library that the agents of Performance Co-Pilot stand
//! on. It is called from C; agents in Rust are written with the crate `pmda`.
//!
//! A family of functions has one room, under the name that PCP gives it: what is exported
//! (`exports.rs`, the only file of a room with unsafe code), the work behind it, and its messages.
//! C pointers come in as views ([`view`]), become safe Rust values once, and are served by these
//! rooms and by `pmda_core`, which knows nothing of C. `docs/ARCHITECTURE.md` shows the house; the
//! requirement numbers in the documentation (CACHE-10, WIRE-51 …) are those of `docs/spec`, which
//! the tests cite.

#![cfg_attr(not(test), deny(clippy::disallowed_macros, clippy::disallowed_methods))]
#[cfg(panic = "abort")]
compile_error!("pcp-pmda turns its panics into error codes: build it with panic = \"unwind\", the default");

mod agent;
mod boundary;
mod cache;
mod dynamic;
mod events;
mod fetch;
mod help;
mod instances;
mod labels;
mod mainloop;
mod methods;
mod open;
mod queues;
mod root;
mod state;
pub mod sys;
mod tree;
pub mod view;
