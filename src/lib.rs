//! A drop-in replacement for libpcp_pmda, the library of Performance Co-Pilot's agents. It is
//! called from C; agents in Rust are written with the crate `pmda`.
//!
//! Each family of functions has a module under PCP's name for the family: the exported functions
//! (`exports.rs`, the only file of the module with unsafe code), the code that does their work, and
//! their messages. C pointers arrive as views ([`view`]). The modules turn them into safe Rust
//! values, and do the work with `pmda_core`, which knows nothing of C. `docs/ARCHITECTURE.md`
//! describes the parts and the order between them. A number such as CACHE-10 or WIRE-51 after a
//! sentence is that of a fact in `docs/spec`, which the tests cite.

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
mod methods {
    pub(crate) mod exports;
}
mod open;
mod queues;
mod root;
mod state;
pub mod sys;
mod tree {
    pub(crate) mod exports;
}
pub mod view;
