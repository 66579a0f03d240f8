//! A session with pmcd: the bytes of a request in, those of its reply out.

mod about;
mod agent_state;
mod deadline;
mod handler;
mod names;
mod store;
#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;
use std::time::Duration;

use pmda_core::ident::MetricId;

use crate::agent::Agent;
use crate::client::ClientId;
use crate::env::Env;
use crate::error::Result;
use crate::memory::HostResult;
use crate::reactor;
use crate::result_sink::ResultSink;
use deadline::AgentThread;
use handler::Handler;
pub(crate) use store::stored;

/// The flags of our CREDS: the agent wants attributes and containers of its clients
/// (`PDU_FLAG_AUTH`, `PDU_FLAG_CONTAINER`).
pub(crate) const COMM_FLAGS: u16 = 0x44;

/// An agent that serves requests.
pub(crate) struct Session<A: Agent>(AgentHome<A>);

/// The agent, on the session's thread or on its own.
enum AgentHome<A: Agent> {
    /// On the thread of the session.
    Here(Box<Handler<A>>),
    /// On a thread of its own, so that the session can answer in its stead.
    Thread(AgentThread),
}

impl<A: Agent> Session<A> {
    /// Starts the agent, on a thread of its own if it has a deadline.
    ///
    /// # Errors
    /// Those of the agent; `-EINVAL` for what is wrong with its declarations, which the text says.
    pub(crate) fn start(env: &Env) -> Result<Session<A>> {
        match A::DEADLINE {
            Some(deadline) => AgentThread::start::<A>(env, deadline).map(|thread| Session(AgentHome::Thread(thread))),
            None => Session::start_here(env),
        }
    }

    /// Starts the agent on this thread.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub(crate) fn start_here(env: &Env) -> Result<Session<A>> {
        Handler::start(env).map(|handler| Session(AgentHome::Here(Box::new(handler))))
    }

    /// Serves a request. Returns the reply: nothing, or one PDU.
    pub(crate) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        match &mut self.0 {
            AgentHome::Here(handler) => handler.request(pdu),
            AgentHome::Thread(thread) => thread.request(pdu),
        }
    }

    /// Puts the values of metrics into a host's structures, if the agent is on this thread.
    pub(crate) fn fetch(&mut self, metrics: &[MetricId], from: ClientId, sets: &mut HostResult) -> Option<Result<()>> {
        match &mut self.0 {
            AgentHome::Here(handler) => Some(handler.fetch_into(metrics, from, &mut ResultSink::Host(sets))),
            AgentHome::Thread(_) => None,
        }
    }

    /// Tells the agent that the context of a client has ended.
    pub(crate) fn client_ended(&mut self, client: ClientId) {
        match &mut self.0 {
            AgentHome::Here(handler) => handler.client_ended(client),
            AgentHome::Thread(thread) => thread.client_ended(client),
        }
    }

    /// Waits until one of the inputs can be read. Meanwhile the agent is called when something wakes
    /// it; on a thread of its own that thread does so.
    pub(crate) fn wait<const N: usize>(&mut self, inputs: [BorrowedFd<'_>; N]) {
        let mut is_ready = false;
        while !is_ready {
            is_ready = match &mut self.0 {
                AgentHome::Here(handler) if handler.may_wake() => handler.wait(&inputs, None).input,
                _ => reactor::wait_for(inputs),
            };
        }
    }

    /// Calls the agent if something has woken it.
    #[inline]
    pub(crate) fn look(&mut self) {
        self.wait_for_wake(Duration::ZERO);
    }

    /// Waits until something wakes the agent, and calls it. False if nothing does within that time,
    /// or if the agent has a thread of its own.
    pub(crate) fn wait_for_wake(&mut self, limit: Duration) -> bool {
        match &mut self.0 {
            AgentHome::Here(handler) => handler.may_wake() && handler.wait(&[], Some(limit)).wakes,
            AgentHome::Thread(_) => false,
        }
    }

    /// Ends the agent. A panic of its is logged, and ends nothing else. One on a thread of its own
    /// is waited for as long as for a request.
    pub(crate) fn end(self) {
        match self.0 {
            AgentHome::Here(handler) => handler.end(),
            AgentHome::Thread(thread) => drop(thread),
        }
    }

    /// As [`Session::end`], for a process that ends with the agent: one on a thread of its own is
    /// waited for until it has ended, or `limit` has passed. Returns false if it has not ended.
    pub(crate) fn end_within(self, limit: Option<Duration>) -> bool {
        match self.0 {
            AgentHome::Here(handler) => {
                handler.end();
                true
            }
            AgentHome::Thread(mut thread) => thread.end(limit),
        }
    }

    /// Moves the session's clock forward.
    pub(crate) fn advance(&mut self, time: Duration) {
        match &mut self.0 {
            AgentHome::Here(handler) => handler.advance(time),
            AgentHome::Thread(thread) => thread.advance(time),
        }
    }

    /// The metrics with their numbers, if the agent is on this thread.
    pub(crate) fn numbers(&self) -> Option<String> {
        match &self.0 {
            AgentHome::Here(handler) => Some(handler.numbers()),
            AgentHome::Thread(_) => None,
        }
    }

    /// The instances of a domain as they are, without a reading, if the agent is on this thread.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` if the agent panics.
    pub(crate) fn instance_names(&mut self, serial: u32) -> Option<Result<Vec<(i32, String)>>> {
        match &mut self.0 {
            AgentHome::Here(handler) => Some(handler.instance_names(serial)),
            AgentHome::Thread(_) => None,
        }
    }

    /// The agent, if it is on this thread.
    pub(crate) fn agent(&mut self) -> Option<&mut A> {
        match &mut self.0 {
            AgentHome::Here(handler) => Some(handler.agent()),
            AgentHome::Thread(_) => None,
        }
    }
}

impl<A: Agent> std::fmt::Debug for Session<A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "session of {}", A::NAME)
    }
}
