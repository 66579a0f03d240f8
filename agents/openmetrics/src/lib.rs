//! PCP's agent `openmetrics`: the endpoints of Prometheus and OpenMetrics as metrics of PCP.
//!
//! A request that needs values of sources fetches their documents side by side (`fetch`), reads
//! each as it comes (`exposition`), and keeps its values in the `model`; what is new there is
//! then declared (`declare`). Numbers are in the files of PCP's agent in Python (`cache`), so that
//! either one can take the other's place.

#![forbid(unsafe_code)]

pub mod control;
pub mod exposition;
pub mod filter;
pub mod names;
pub mod secret;

mod agent;
mod cache;
mod declare;
mod fetch;
mod folders;
mod generation;
mod headroom;
mod limits;
mod log_share;
mod model;
mod options;
mod processor_time;
mod sources;
mod state;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

pub use state::OpenMetrics;

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    if std::env::args_os().skip(1).any(|argument| argument == "--version") {
        println!("pmdaopenmetrics version {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    pmda::run::<OpenMetrics>()
}
