//! PCP's agent `openmetrics`: the endpoints of Prometheus and OpenMetrics as metrics of PCP.

#![forbid(unsafe_code)]

pub mod exposition;
pub mod filter;
pub mod names;

use std::process::ExitCode;

use pmda::prelude::*;

mod cache;
mod fetch;
mod limits;
mod sources;

/// The agent.
pub struct OpenMetrics;

impl Agent for OpenMetrics {
    const NAME: &'static str = "openmetrics";
    const DOMAIN: u32 = 144;

    fn start(_env: &Env) -> Result<OpenMetrics> {
        Ok(OpenMetrics)
    }

    fn metrics(_m: &mut Metrics<OpenMetrics>) {}
}

/// Runs the agent as a daemon.
pub fn main() -> ExitCode {
    pmda::run::<OpenMetrics>()
}
