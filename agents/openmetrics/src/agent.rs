//! The agent as pmcd asks it.

use pmda::Opt;
use pmda::prelude::*;

use crate::generation::Generation;
use crate::state::OpenMetrics;
use crate::{declare, options};

impl Agent for OpenMetrics {
    const NAME: &'static str = "openmetrics";
    const DOMAIN: u32 = 144;
    const NOT_READY: bool = true;
    const OPTIONS: &'static [Opt] = options::OPTIONS;

    fn root(env: &Env) -> String {
        options::root(env)
    }

    /// Before PCP 6.1 its agent stays root: sources may be readable by root alone.
    fn user(env: &Env) -> Option<String> {
        let root = (Generation::of_the_host(env) < Generation::V6_1).then_some("root");
        env.option("user").or(root).map(str::to_owned)
    }

    fn start(env: &Env) -> Result<OpenMetrics> {
        OpenMetrics::new(env)
    }

    fn metrics(m: &mut Metrics<OpenMetrics>) {
        declare::control(m);
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        self.refresh(request);
        Ok(())
    }

    fn dynamic(&mut self, m: &mut Metrics<OpenMetrics>, _: &Request<'_>) -> Result<()> {
        self.declare(m);
        Ok(())
    }
}
