//! The trait of agents.

use std::time::Duration;

use crate::client::ClientId;
use crate::env::{Env, Opt};
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::request::Request;

/// An agent: its name and domain, its metrics, and the state that they are read from.
///
/// An agent need not be `Send` or `Sync`: it serves one request at a time, on the thread that it
/// was started on, and its functions get it as their first argument, so they borrow nothing. Nothing
/// is `async`: what waits runs on a thread or runtime of its own, which wakes the agent
/// ([`Env::waker`]). A panic in one of its functions costs what that function was called for and a
/// line in the log, until the same call returns without a panic; with `panic = "abort"` the program
/// ends.
pub trait Agent: Sized + 'static {
    /// The agent's name, and the first part of the names of its metrics unless [`Agent::root`] is
    /// another.
    const NAME: &'static str;
    /// The agent's domain, unless `-d` or pmcd sets another one.
    const DOMAIN: u32;
    /// Maximum time of a request. A longer one is answered with `PM_ERR_AGAIN` (pmcd ends an agent
    /// that does not answer within some seconds); the agent goes on, on a thread of its own, and
    /// serves the next request when it is done. The log has a line for it, once until a request is
    /// answered in time.
    const DEADLINE: Option<Duration> = None;
    /// True for an agent that takes long to start: pmcd.conf says `notready` for it, and pmcd asks
    /// nothing until the agent tells that it is ready, which it always does then. `--write` makes
    /// such an `Install`. If this is false, the first client of an agent that takes long has to
    /// wait; `--notready` on the command line in pmcd.conf has the same effect as true.
    const NOT_READY: bool = false;
    /// True for an agent that needs the rights of root, such as one that reads as its clients
    /// ([`Agent::end`]): a daemon that root has started stays root, unless it has the option `-U`.
    /// Otherwise it becomes `$PCP_USER`.
    const STAYS_ROOT: bool = false;
    /// Options of its own, beside those that each agent has. One with the long name of an option of
    /// PCP's agents replaces that, and means the same: it may have another letter, or, as `debug`, no
    /// argument. One called `check`, `write`, `notready` or `version` takes the place of this crate's
    /// option.
    const OPTIONS: &'static [Opt] = &[];

    /// The first part of the names of all metrics, such as an option's value.
    ///
    /// An agent with several names at the top, as `proc` and `hotproc`, returns an empty text. The
    /// names of its metrics are whole then, of two parts at least: the first one is a root.
    fn root(env: &Env) -> String {
        env.name().to_owned()
    }

    /// The user that it becomes when root has started it, unless `-U` names one: for an agent whose
    /// user depends on the host or on an option of its own. `None` leaves it to
    /// [`Agent::STAYS_ROOT`].
    fn user(env: &Env) -> Option<String> {
        let _ = env;
        None
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// The reason why it cannot run; it ends then.
    fn start(env: &Env) -> Result<Self>;

    /// Declares the metrics that always exist. Metrics that an option or a file of configuration
    /// names can be among them: [`Metrics::env`] leads to the file, and [`Metrics::problem`]
    /// reports a fault of the file. Called before [`Agent::start`], and by `--check` and `--write`,
    /// which start no agent.
    fn metrics(m: &mut Metrics<Self>);

    /// Called once for each request that needs current values or names, before anything is
    /// refreshed.
    ///
    /// # Errors
    /// The whole request fails with this error.
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let _ = request;
        Ok(())
    }

    /// Called at the end of each request for which [`Agent::begin`] was called, also if that or
    /// something else has failed: after all values, names and labels were taken, and before the
    /// reply. `outcome` is that of the whole request: an error of one cluster or metric is none of
    /// it.
    ///
    /// Between the two a daemon can act as its client: `begin` sets the effective user and group of
    /// the process to those of [`Request::client`], and this sets them back. A shared object must
    /// not, as it would change its host.
    fn end(&mut self, request: &Request<'_>, outcome: Result<(), &Error>) {
        let _ = (request, outcome);
    }

    /// Declares and removes metrics at run time. It is called before a request for values or names,
    /// or about something that does not exist, and again after clusters were read for the request,
    /// so metrics that a [refresh](Metrics::refresh) has found have their names in the same request
    /// ([`Request::has_read`] tells these calls apart). Clients are told when names have changed.
    ///
    /// # Errors
    /// They are logged, once. The request goes on with the metrics that are declared by then.
    fn dynamic(&mut self, m: &mut Metrics<Self>, request: &Request<'_>) -> Result<()> {
        let _ = (m, request);
        Ok(())
    }

    /// Called when a [`Waker`](crate::Waker), a [`Timer`](crate::Timer) or a readable
    /// [`Watch`](crate::Watch) has woken the agent: at once in a daemon, before the next request in
    /// a shared object. The agent looks at all that it has, as one call may be for several of them,
    /// or for none.
    ///
    /// # Errors
    /// They are logged; descriptors then do not wake the agent for a second, as those that it has
    /// not read would wake it again at once.
    fn woken(&mut self) -> Result<()> {
        Ok(())
    }

    /// Called when the context of a client has ended.
    fn client_ended(&mut self, client: ClientId) {
        let _ = client;
    }
}
