//! A session with pmcd: the bytes of a request in, those of its reply out.

use crate::metrics::Metrics;
use crate::{Agent, ClientId, Env, Error, Result};

/// An agent and what pmcd has told it.
pub(crate) struct Session<A: Agent> {
    agent: A,
    metrics: Metrics<A>,
    reply: Vec<u8>,
}

/// What an agent wants to know of its clients, in its CREDS: their attributes and containers.
pub(crate) const COMM_FLAGS: u16 = 0x44;

impl<A: Agent> Session<A> {
    /// Starts the agent.
    pub(crate) fn start(env: &Env) -> Result<Session<A>> {
        let metrics = Metrics::of(Some(env));
        for problem in metrics.problems() {
            log::error!("{problem}");
        }
        if !metrics.problems().is_empty() {
            return Err(Error::INVAL);
        }
        let agent = crate::guard::call("start", || A::start(env))?;
        Ok(Session {
            agent,
            metrics,
            reply: Vec::new(),
        })
    }

    /// Serves a request. What is returned is to be sent: nothing, or one PDU.
    pub(crate) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        let _ = (&self.agent, &self.metrics, pdu);
        &self.reply
    }

    /// The context of a client has ended.
    pub(crate) fn client_ended(&mut self, client: ClientId) {
        self.agent.client_ended(client);
    }
}

/// The length of the PDU that the bytes begin with, or `None` when its header is not complete.
///
/// # Errors
/// `PM_ERR_IPC` for a length that no PDU has: there is no way to go on in the stream.
pub(crate) fn pdu_length(bytes: &[u8]) -> Result<Option<usize>> {
    use pmda_core::wire::{HEADER, count, number};
    if bytes.len() < HEADER {
        return Ok(None);
    }
    let length = count(bytes, 0).filter(|length| (HEADER..=0x7fff_ffff - 1024).contains(length));
    // A type that is not positive is the end of the stream as well (WIRE-12).
    let is_typed = number(bytes, 4).is_some_and(|kind| kind > 0);
    length.filter(|_| is_typed).map(Some).ok_or(Error::IPC)
}
