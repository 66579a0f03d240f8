//! A drop-in replacement for libpcp_pmda, the library of Performance Co-Pilot's agents. It is
//! called from C; agents in Rust are written with the crate `pmda`.
//!
//! A family of functions has one room, under PCP's name: what is exported (`exports.rs`, the only
//! file of a room with unsafe code), the work behind it, and its messages. C pointers come in as
//! views ([`view`]), become safe Rust values once, and are served by these rooms and by
//! `pmda_core`, which knows nothing of C. `docs/ARCHITECTURE.md` shows the house; the numbers in
//! the documentation (CACHE-10, WIRE-51 …) are those of facts in `docs/spec`.

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
