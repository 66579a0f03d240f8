//! A session with pmcd: the bytes of a request in, those of its reply out.

mod about;
mod deadline;
mod names;
mod running;
mod served;
mod store;
#[cfg(test)]
mod tests;

use std::time::Duration;

use pmda_core::ident::MetricId;

use crate::draft::Draft;
use crate::memory::Sets;
use crate::{Agent, ClientId, Env, Result};
use deadline::Apart;
use served::Served;
pub(crate) use store::stored;

/// What an agent wants to know of its clients, in its CREDS: their attributes and containers.
pub(crate) const COMM_FLAGS: u16 = 0x44;

/// An agent that serves requests.
pub(crate) struct Session<A: Agent>(Place<A>);

/// Where the agent is.
enum Place<A: Agent> {
    Here(Box<Served<A>>),
    /// On a thread of its own, so that the session can answer in its stead.
    Apart(Apart),
}

impl<A: Agent> Session<A> {
    /// Starts the agent, on a thread of its own if it has a deadline.
    ///
    /// # Errors
    /// What the agent says, and `-EINVAL` for what is wrong with its declarations, which is logged.
    pub(crate) fn start(env: &Env) -> Result<Session<A>> {
        match A::DEADLINE {
            Some(deadline) => Apart::start::<A>(env, deadline).map(|apart| Session(Place::Apart(apart))),
            None => Session::start_here(env),
        }
    }

    /// Starts the agent on this thread.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub(crate) fn start_here(env: &Env) -> Result<Session<A>> {
        Served::start(env).map(|served| Session(Place::Here(Box::new(served))))
    }

    /// Serves a request. What is returned is to be sent: nothing, or one PDU.
    pub(crate) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        match &mut self.0 {
            Place::Here(served) => served.request(pdu),
            Place::Apart(apart) => apart.request(pdu),
        }
    }

    /// Puts the values of metrics into a host's structures, if the agent is on this thread.
    pub(crate) fn fetch(&mut self, metrics: &[MetricId], from: ClientId, sets: &mut Sets) -> Option<Result<()>> {
        match &mut self.0 {
            Place::Here(served) => Some(served.fetch_into(metrics, from, &mut Draft::Memory(sets))),
            Place::Apart(_) => None,
        }
    }

    /// The context of a client has ended.
    pub(crate) fn client_ended(&mut self, client: ClientId) {
        match &mut self.0 {
            Place::Here(served) => served.client_ended(client),
            Place::Apart(apart) => apart.client_ended(client),
        }
    }

    /// Moves the session's clock forward.
    pub(crate) fn advance(&mut self, time: Duration) {
        match &mut self.0 {
            Place::Here(served) => served.advance(time),
            Place::Apart(apart) => apart.advance(time),
        }
    }

    /// The instances of a domain, as they are, if the agent is on this thread.
    pub(crate) fn instance_names(&mut self, serial: u32) -> Option<Vec<(i32, String)>> {
        match &mut self.0 {
            Place::Here(served) => Some(served.instance_names(serial)),
            Place::Apart(_) => None,
        }
    }

    /// The agent, if it is on this thread.
    pub(crate) fn agent(&mut self) -> Option<&mut A> {
        match &mut self.0 {
            Place::Here(served) => Some(served.agent()),
            Place::Apart(_) => None,
        }
    }
}

impl<A: Agent> std::fmt::Debug for Session<A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "session of {}", A::NAME)
    }
}
