//! What an agent is.

use std::time::Duration;

use crate::{ClientId, Env, Metrics, Opt, Request, Result};

/// An agent: its name and domain, its metrics, and the state that they are read from.
///
/// An agent need not be `Send` or `Sync`: it serves one request at a time, on the thread that it
/// was started on. A panic in one of its functions costs what that function was asked for and a
/// line in the log.
pub trait Agent: Sized + 'static {
    /// The agent's name, which is also the root of the names of its metrics, unless
    /// [`Agent::root`] says otherwise.
    const NAME: &'static str;
    /// The agent's domain; `-d` and pmcd may say otherwise.
    const DOMAIN: u32;
    /// How long a request may take. What takes longer is answered with `PM_ERR_AGAIN`, in time for
    /// pmcd, which otherwise ends an agent that does not answer within some seconds; the agent goes
    /// on, on a thread of its own, and serves the next request when it is done.
    const DEADLINE: Option<Duration> = None;
    /// Whether pmcd.conf says `notready` for this agent: pmcd asks nothing until the agent tells
    /// that it is ready, which it always does then. `--write` makes such an `Install`. An agent
    /// without it that takes long to start lets its first client wait, and has `--notready`.
    const NOT_READY: bool = false;
    /// Options of its own, beside those that each agent has. One with the long name of a standard
    /// option takes its place: it may have another letter, or `debug` no argument.
    const OPTIONS: &'static [Opt] = &[];

    /// What stands in front of the names of all metrics, such as what an option of the agent says.
    fn root(env: &Env) -> String {
        env.name().to_owned()
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// Why it cannot run; it ends then.
    fn start(env: &Env) -> Result<Self>;

    /// Declares the metrics that there always are.
    fn metrics(m: &mut Metrics<Self>);

    /// Called once for each request that wants current values, before anything is refreshed.
    ///
    /// # Errors
    /// The whole request fails.
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let _ = request;
        Ok(())
    }

    /// Declares metrics that come and removes those that go: before a request for values or names,
    /// or for something that is not there, and again after clusters have been read for it, so that
    /// what a [refresh](Metrics::refresh) has found has its names in the same request
    /// ([`Request::has_read`] tells these calls apart). Clients are told when names have changed.
    fn dynamic(&mut self, m: &mut Metrics<Self>, request: &Request<'_>) {
        let _ = (m, request);
    }

    /// Called when something has woken the agent: a [`Waker`](crate::Waker), a
    /// [`Timer`](crate::Timer), or a [`Watch`](crate::Watch) that can be read. It looks at what it
    /// has, as one call may be for several of them, or for none. A daemon calls it at once, a
    /// shared object before the next request.
    ///
    /// # Errors
    /// Are logged; then descriptors wake the agent no earlier than after a second.
    fn woken(&mut self) -> Result<()> {
        Ok(())
    }

    /// The context of a client has ended.
    fn client_ended(&mut self, client: ClientId) {
        let _ = client;
    }
}
