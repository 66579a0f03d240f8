//! The trait of agents.

use std::time::Duration;

use crate::{ClientId, Env, Metrics, Opt, Request, Result};

/// An agent: its name and domain, its metrics, and the state that they are read from.
///
/// An agent need not be `Send` or `Sync`: it serves one request at a time, on the thread that it
/// was started on. A panic costs what the function was called for and a line in the log.
pub trait Agent: Sized + 'static {
    /// The agent's name, and the first part of the names of its metrics unless [`Agent::root`] is
    /// another.
    const NAME: &'static str;
    /// The agent's domain, unless `-d` or pmcd sets another one.
    const DOMAIN: u32;
    /// Maximum time of a request. A longer one is answered with `PM_ERR_AGAIN` (pmcd ends an agent
    /// that does not answer within some seconds); the agent goes on, on a thread of its own, and
    /// serves the next request when it is done.
    const DEADLINE: Option<Duration> = None;
    /// True for an agent that takes long to start: pmcd.conf says `notready`, and pmcd waits until
    /// the agent tells that it is ready. `--write` makes such an `Install`; without it there is
    /// `--notready`.
    const NOT_READY: bool = false;
    /// Options of its own. One with the long name of a standard option replaces it: with another
    /// letter, or `debug` without an argument.
    const OPTIONS: &'static [Opt] = &[];

    /// The first part of the names of all metrics, such as an option's value.
    fn root(env: &Env) -> String {
        env.name().to_owned()
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// The reason why it cannot run.
    fn start(env: &Env) -> Result<Self>;

    /// Declares the static metrics.
    fn metrics(m: &mut Metrics<Self>);

    /// Called once for each request for current values, before anything is refreshed.
    ///
    /// # Errors
    /// The whole request fails.
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let _ = request;
        Ok(())
    }

    /// Declares and removes metrics that come and go: before a request for values or names, or for
    /// something that is not there, and again after clusters were read for it, so that what a
    /// [refresh](Metrics::refresh) has found has its names in the same request
    /// ([`Request::has_read`] tells these calls apart). Clients are told when names have changed.
    fn dynamic(&mut self, m: &mut Metrics<Self>, request: &Request<'_>) {
        let _ = (m, request);
    }

    /// Called when a [`Waker`](crate::Waker), a [`Timer`](crate::Timer) or a readable
    /// [`Watch`](crate::Watch) has woken the agent, perhaps once for several of them, or for none:
    /// at once in a daemon, before the next request in a shared object.
    ///
    /// # Errors
    /// They are logged; then descriptors do not wake the agent for a second.
    fn woken(&mut self) -> Result<()> {
        Ok(())
    }

    /// Called when the context of a client has ended.
    fn client_ended(&mut self, client: ClientId) {
        let _ = client;
    }
}
