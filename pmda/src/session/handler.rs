//! An agent that serves requests on the thread that it was started on.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use pmda_core::ident::MetricId;
use pmda_core::log::Counted;
use pmda_core::wire::encode::{ResultBuilder, is_whole};
use pmda_core::wire::{Kind, decode, number};

use super::agent_state::AgentState;
use crate::agent::Agent;
use crate::client::ClientId;
use crate::client::Clients;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::guard;
use crate::profile::Profile;
use crate::reactor::{CENTURY, Reactor, Ready};
use crate::result_sink::ResultSink;

/// An agent, with the profiles and clients that pmcd has named.
pub(super) struct Handler<A: Agent> {
    pub(super) state: AgentState<A>,
    pub(super) clients: Clients,
    pub(super) profile: Profile,
    pub(super) reply: ResultBuilder,
    /// The metrics of the last fetch: the memory is used again.
    asked: Vec<MetricId>,
    /// The event sources that wake the agent.
    reactor: Reactor,
}

impl<A: Agent> Handler<A> {
    /// Starts the agent on this thread.
    ///
    /// # Errors
    /// As [`AgentState::start`].
    pub(super) fn start(env: &Env) -> Result<Handler<A>> {
        guard::install();
        Ok(Handler {
            state: guard::serve(|_| AgentState::start(env))?,
            clients: Clients::new(),
            profile: Profile::all(),
            reply: ResultBuilder::new(),
            asked: Vec::new(),
            reactor: env.reactor().clone(),
        })
    }

    pub(super) fn agent(&mut self) -> &mut A {
        &mut self.state.agent
    }

    pub(super) fn numbers(&self) -> String {
        self.state.metrics.numbers_of_all()
    }

    /// The instances of a domain as they are: nothing is read for this.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` if the function panics that finds the domain.
    pub(super) fn instance_names(&mut self, serial: u32) -> Result<Vec<(i32, String)>> {
        let mut names = Vec::new();
        let Some(domain) = self.state.metrics.indoms.get(&serial) else {
            return Ok(names);
        };
        let agent = &mut self.state.agent;
        guard::serve(|_| {
            guard::call(format_args!("instance domain {serial}"), || {
                domain.instances.each(agent, &mut |inst, name| {
                    names.push((inst, String::from_utf8_lossy(name).into_owned()));
                });
                Ok(())
            })
        })?;
        Ok(names)
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.state.ahead = self.state.ahead.saturating_add(time).min(CENTURY);
        self.reactor.advance(time);
    }

    /// Serves a request. Returns the reply: nothing, or one PDU.
    pub(super) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        if !is_whole(pdu) {
            let bytes = Counted(pdu.len(), "byte", "bytes");
            log::error!("{}: a request of {bytes} is not whole", A::NAME);
            return &[];
        }
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        let from = ClientId(number(pdu, 8).unwrap_or(0));
        let mut has_reply = true;
        let outcome = guard::serve(|_| match kind {
            Kind::PDU_FETCH => self.fetch(pdu, from),
            Kind::PDU_RESULT => self.store(pdu, from),
            Kind::PDU_DESC_REQ => self.desc(pdu, from),
            Kind::PDU_INSTANCE_REQ => self.instances(pdu, from),
            Kind::PDU_TEXT_REQ => self.text(pdu, from),
            Kind::PDU_LABEL_REQ => self.labels(pdu, from),
            Kind::PDU_PMNS_NAMES => self.id_of_name(pdu, from),
            Kind::PDU_PMNS_IDS => self.name_of_id(pdu, from),
            Kind::PDU_PMNS_CHILD => self.names_below(pdu, from, false),
            Kind::PDU_PMNS_TRAVERSE => self.names_below(pdu, from, true),
            other => {
                has_reply = false;
                self.take_note(other, pdu, from);
                Ok(())
            }
        });
        self.state.save();
        if !has_reply {
            return &[];
        }
        if let Err(error) = outcome {
            self.reply.reply().error(error.code().number());
        }
        self.reply.reply().bytes()
    }

    /// Takes note of a PDU that gets no reply.
    fn take_note(&mut self, kind: Kind, pdu: &[u8], from: ClientId) {
        match kind {
            Kind::PDU_PROFILE => {
                let profile = decode::profile(pdu);
                match profile.and_then(|profile| Profile::new(profile, self.state.domain())) {
                    Ok(profile) => self.profile = profile,
                    Err(error) => log::error!("{}: a profile is lost: {error}", A::NAME),
                }
            }
            Kind::PDU_ATTR => {
                if let Ok(attribute) = decode::attribute(pdu) {
                    self.clients.of(from).set(attribute.key, attribute.value);
                }
            }
            Kind::PDU_ERROR => match decode::error(pdu) {
                Ok(code) if code == Error::NOTCONN.code().number() => self.client_ended(from),
                Ok(code) => log::error!("{}: unexpected error pdu from pmcd: {code}", A::NAME),
                Err(_) => {}
            },
            Kind::PDU_CONTROL_REQ => {}
            other => log::error!("{}: Unrecognised pdu type: {other}?", A::NAME),
        }
    }

    pub(super) fn client_ended(&mut self, client: ClientId) {
        self.clients.end(client);
        // A failure is only logged, as no client waits for an answer.
        let _ = guard::serve(|_| {
            self.state.client_ended(client);
            Ok(())
        });
        self.state.save();
    }

    /// Returns true if anything may wake the agent, now or later.
    pub(super) fn may_wake(&self) -> bool {
        // The declarations have the agent's environment, and so a share of the reactor.
        self.reactor.is_used_beside(1)
    }

    /// Waits until one of the inputs can be read or `limit` has passed, and calls the agent if
    /// something wakes it.
    pub(super) fn wait(&mut self, inputs: &[BorrowedFd<'_>], limit: Option<Duration>) -> Ready {
        let ready = self.reactor.wait(inputs, limit);
        if ready.wakes {
            let agent = &mut self.state.agent;
            if let Err(error) = guard::serve(|_| guard::call("woken", || agent.woken())) {
                self.state.metrics.report("woken", &error);
                self.reactor.pause();
            }
            self.state.save();
        }
        ready
    }

    /// Ends the agent: drops it. A panic of its is logged, and ends nothing else.
    pub(super) fn end(mut self) {
        self.state.save();
        let _ = guard::serve(|_| {
            guard::call("the end of the agent", || {
                drop(self);
                Ok(())
            })
        });
    }

    fn fetch(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let ids = decode::fetch_ids(pdu)?
            .chunks_exact(4)
            .filter_map(|id| id.first_chunk());
        self.asked.clear();
        self.asked.extend(ids.map(|id| MetricId(u32::from_be_bytes(*id))));
        let client = self.clients.get(from);
        let mut reply = ResultSink::Reply(&mut self.reply);
        self.state.fetch(&self.asked, client, &self.profile, &mut reply)?;
        Ok(self.reply.finish()?)
    }

    /// Puts the values of metrics into a sink.
    ///
    /// # Errors
    /// As [`AgentState::fetch`].
    #[inline]
    pub(super) fn fetch_into(&mut self, asked: &[MetricId], from: ClientId, sink: &mut ResultSink<'_>) -> Result<()> {
        let client = self.clients.get(from);
        let outcome = self.state.fetch(asked, client, &self.profile, sink);
        self.state.save();
        outcome
    }
}
