//! Agents that are written in Rust, under a private PCP: the examples of the crate `pmda` as
//! daemons and as shared objects, and beside PCP's own agents in C.

mod agents;
mod attacks;
mod bash;
mod beside;
mod daemons;
mod derived;
mod files;
mod guide;
mod heavy;
mod linuxnd;
mod memory;
mod mmv;
mod mutated;
mod objects;
mod persistent;
mod roots;
mod sample;
mod tasks;
mod template;
mod units;
