//! The foundation of agents of Performance Co-Pilot, in safe Rust: PDUs, caches of instance
//! domains, profiles, labels, help texts, event queues, name spaces.
//!
//! Nothing here knows C or needs an installed PCP. The C library (crate `pcp-pmda`) and agents in
//! Rust (crate `pmda`) are built on it. The numbers after sentences (CACHE-10, WIRE-51 …) are those
//! of facts in `docs/spec`, which the tests cite.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod cache;
pub mod constants;
pub mod dir_entry;
pub mod dynamic;
pub mod error;
pub mod events;
pub mod fetch;
pub mod handles;
pub mod help;
pub mod ident;
pub mod index;
pub mod instances;
pub mod labels;
pub mod leak;
pub mod log;
pub mod namespace;
pub mod path;
pub mod profile;
pub mod queue;
pub mod root;
pub mod save;
pub mod table_index;
#[cfg(test)]
mod testing;
pub mod wire;
