//! The main loop: it receives PDUs one by one, has the agent's method for each serve it, and sends
//! the answer (MAIN-4).
//!
//! `exports.rs` has the loop, and makes the calls into the agent; the steps between the calls are
//! here. Methods may do anything: change the dispatch table, the descriptors and the callbacks,
//! send PDUs of their own, even call the main loop. So every public field is read when it is
//! needed, and nothing is locked while a method runs (MAIN-53).

pub(crate) mod connection;
pub(crate) mod exports;
mod requests;

use std::ffi::c_int;
use std::fmt;

use crate::agent::LoopState;
use crate::boundary::NoDropCell;
use crate::instances::iterate;
use crate::mainloop::connection::{Incoming, Outgoing, SendPurpose};
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{PMAPI, SINCE_6_0_5};
use crate::sys::lock::Token;
use crate::view::arg::Shown;
use crate::view::interface::{Check, Dispatch, EndContext, Ext};
use crate::view::types::Comm;
use crate::view::wire::OwnedProfile;
use pmda_core::error::{Error, Result};
use pmda_core::ident::Interface;
use pmda_core::log::{Level, Whole};
use pmda_core::wire::encode::{Reply, ResultBuilder};
use pmda_core::wire::receive::{Failure, Pdu, ReadMode};
use pmda_core::wire::{Kind, debug_libpmda, decode};

/// The result of a loop that cannot start (MAIN-3).
const NO_START: c_int = -1;

/// The agent whose PDUs are served.
#[derive(Clone, Copy)]
struct Agent<'call> {
    dispatch: Dispatch<'call>,
    ext: Ext<'call>,
    loop_state: &'static LoopState,
}

impl<'call> Agent<'call> {
    /// The agent of a dispatch table. It is checked whether it may be served, until it was found so
    /// once (MAIN-3).
    ///
    /// # Errors
    /// The result of the loop for an agent that may not; the reason is logged.
    fn enter(token: &mut Token, dispatch: Option<Dispatch<'call>>) -> std::result::Result<Agent<'call>, c_int> {
        let Some((dispatch, ext)) = dispatch.and_then(|dispatch| Some((dispatch, dispatch.ext()?))) else {
            log::notify!(token, Level::Err, "PMDA Initialisation Failed");
            return Err(NO_START);
        };
        let loop_state = state::loop_state(token, ext).map_err(Error::code)?;
        if !loop_state.has_begun() {
            if dispatch.status() != 0 {
                log::notify!(token, Level::Err, "PMDA Initialisation Failed");
                return Err(NO_START);
            }
            if !is_supported(token, dispatch) {
                return Err(NO_START);
            }
            dispatch.set_comm(Comm {
                pmapi: PMAPI,
                ..dispatch.comm()
            });
            loop_state.begin();
        }
        Ok(Agent {
            dispatch,
            ext,
            loop_state,
        })
    }

    /// The interface version at this moment.
    fn interface(self) -> Interface {
        self.dispatch.interface()
    }

    /// The descriptor for replies at this moment.
    fn out(self) -> c_int {
        self.ext.outfd()
    }

    /// Logs an error, with the agent's name in front.
    fn complain(self, token: &mut Token, text: fmt::Arguments<'_>) {
        let name = Shown(self.ext.name());
        log::notify!(token, Level::Err, "{name}: {text}");
    }
}

/// Returns whether the interface version exists. If not, that is logged.
fn is_supported(token: &mut Token, dispatch: Dispatch<'_>) -> bool {
    let interface = dispatch.interface();
    if !interface.is_supported() {
        log::notify!(
            token,
            Level::Crit,
            "PMDA interface version {} not supported",
            interface.0
        );
    }
    interface.is_supported()
}

/// A loop, and the PDU that it is serving.
struct MainLoop<'call> {
    agent: Agent<'call>,
    /// True if one PDU is served, false for all until the end of the stream.
    once: bool,
    incoming: Incoming,
    /// The PDU that is being served.
    pdu: NoDropCell<Pdu>,
    /// The type of that PDU.
    kind: Kind,
    outgoing: Outgoing,
}

impl<'call> MainLoop<'call> {
    /// A loop for an agent, to serve one PDU or all.
    ///
    /// # Errors
    /// The result of a loop that cannot start.
    fn new(
        token: &mut Token,
        dispatch: Option<Dispatch<'call>>,
        once: bool,
    ) -> std::result::Result<MainLoop<'call>, c_int> {
        let agent = Agent::enter(token, dispatch)?;
        Ok(MainLoop {
            agent,
            once,
            incoming: Incoming::nothing(agent.loop_state),
            pdu: NoDropCell::none(),
            kind: Kind(0),
            outgoing: Outgoing::nothing(agent.loop_state),
        })
    }

    /// Begins to receive the next PDU.
    fn receive(&mut self, token: &mut Token) {
        let agent = self.agent;
        let callbacks = agent.ext.check_callback().is_some() || agent.ext.done_callback().is_some();
        // An agent with such callbacks, or one that has asked for the descriptor, may itself wait
        // until there is more input: bytes that were read ahead would never arrive for it.
        let mode = if self.once || callbacks || agent.loop_state.is_watched() {
            ReadMode::Exact
        } else {
            ReadMode::Ahead
        };
        self.incoming.begin(token, agent.ext.infd(), mode);
    }

    /// Takes the PDU that has arrived. Returns the check callback, if the agent has one.
    ///
    /// # Errors
    /// The result of the loop when no PDU has arrived (MAIN-2, MAIN-32).
    fn arrived(&mut self, token: &mut Token) -> std::result::Result<Option<Check>, c_int> {
        let pdu = self
            .incoming
            .take(token)
            .map_err(|failure| lost(token, failure.code()))?;
        let (kind, from) = (pdu.header.kind, pdu.header.from);
        self.kind = kind;
        self.pdu.set(pdu);
        log_kind(token, kind);
        state::note_dispatch(token, self.agent.dispatch);
        if self.agent.interface().has_contexts() {
            self.agent.ext.set_context(from);
        }
        Ok(self.agent.ext.check_callback())
    }

    /// Answers a PDU that the check callback has refused (MAIN-5). The end of a context gets no
    /// answer: pmcd would take it for the answer to its next request (MAIN-52).
    fn refuse(&mut self, token: &mut Token, code: c_int) {
        if !matches!(self.kind, Kind::PDU_PROFILE | Kind::PDU_ATTR | Kind::PDU_ERROR) {
            let fd = self.agent.out();
            self.outgoing.begin_status(token, fd, SendPurpose::Refusal(code), code);
        }
    }

    /// Shows the request under debug options.
    fn show(&self, token: &mut Token) {
        let Some(pdu) = self.pdu.peek() else { return };
        if connection::is_any_shown() {
            let attributes = self.agent.interface().has_attributes();
            let context = attributes.then_some(pdu.header.from);
            show_request(token, pdu, context);
        }
    }

    /// Ends the service of a PDU.
    ///
    /// # Errors
    /// The result of the loop: it was to serve one PDU, or cannot go on.
    fn served(&mut self, token: &mut Token) -> std::result::Result<(), c_int> {
        if let Some(pdu) = self.pdu.take() {
            self.agent.loop_state.recycle(token, pdu);
        }
        if self.once {
            return Err(0);
        }
        self.agent = Agent::enter(token, Some(self.agent.dispatch))?;
        Ok(())
    }

    /// Gives up what the loop still has, after an error.
    fn let_go(&mut self, token: &mut Token) {
        self.incoming.give_up(token, Failure::NoMemory);
        drop(self.pdu.take());
    }

    /// Decodes the PDU of the request, with `find`.
    ///
    /// # Errors
    /// Those of `find`.
    fn find<T>(&self, token: &mut Token, find: impl FnOnce(&mut Token, Agent<'call>, &[u8]) -> Result<T>) -> Result<T> {
        let pdu = self.pdu.peek().ok_or(Error::GENERIC)?;
        find(token, self.agent, pdu.bytes())
    }

    /// Decodes the PDU of the request, with `find`. After an error of `find` it returns `None`, and
    /// the answer to the request is that error.
    fn ask<T>(
        &mut self,
        token: &mut Token,
        find: impl FnOnce(&mut Token, Agent<'call>, &[u8]) -> Result<T>,
    ) -> Option<T> {
        let found = self.find(token, find);
        found.map_err(|error| self.reply(token, |_| Err(error))).ok()
    }

    /// Answers the request with the reply that `fill` writes, or with its error.
    fn reply(&mut self, token: &mut Token, fill: impl FnOnce(&mut Reply) -> Result<()>) {
        self.reply_values(token, |reply| fill(reply.reply()));
    }

    /// [`MainLoop::reply`] for a reply with values.
    fn reply_values(&mut self, token: &mut Token, fill: impl FnOnce(&mut ResultBuilder) -> Result<()>) {
        let mut reply = self.agent.loop_state.take_reply(token);
        let code = fill(&mut reply).err().map(Error::code);
        if let Some(code) = code {
            reply.reply().error(code);
        }
        let fd = self.agent.out();
        self.outgoing
            .begin(token, fd, SendPurpose::Answer(self.kind, code), reply);
    }

    /// PROFILE: keeps the profile, if the method has accepted it.
    fn keep_profile(&mut self, token: &mut Token, profile: Option<OwnedProfile>, status: c_int) {
        if let Ok(agent) = state::any_agent(token, self.agent.ext) {
            iterate::forget(agent);
        }
        if let Some(profile) = profile.filter(|_| status >= 0) {
            self.agent.loop_state.keep_profile(token, profile);
        }
    }

    /// The client context that the PDU belongs to.
    fn context(&self) -> c_int {
        self.pdu.peek().map_or(0, |pdu| pdu.header.from)
    }

    /// RESULT: answers with the result of the method.
    fn send_status(&mut self, token: &mut Token, status: c_int) {
        let fd = self.agent.out();
        self.outgoing.begin_status(token, fd, SendPurpose::Status, status);
    }

    /// ATTR: logs the error of the method. The request has no answer.
    fn log_attribute(&self, token: &mut Token, error: Error) {
        let reason = log::errstr(error);
        if SINCE_6_0_5 {
            log::warning!(token, "Failed to set attribute: {reason}");
        } else {
            self.agent
                .complain(token, format_args!("Failed to set attribute: {reason}"));
        }
    }

    /// ERROR from pmcd: the end of a context, or something unexpected, which is logged (MAIN-12,
    /// MAIN-23). For the end of a context it returns the agent's callback, if there is one, and the
    /// context.
    fn notice(&self, token: &mut Token) -> Option<(EndContext, c_int)> {
        let agent = self.agent;
        let code = self.find(token, |_, _, pdu| decode::error(pdu)).ok()?;
        if code == Error::NOTCONN.code() {
            let context = self.context();
            if !agent.interface().has_contexts() {
                return None;
            }
            if log::debug(Debug::Context) {
                log::debug_line!(token, "Received PDU_ERROR (end context {context})");
            }
            return Some((agent.ext.end_callback()?, context));
        }
        let reason = Error::check(code).map_or_else(log::errstr, |_| log::errstr_of(code));
        agent.complain(token, format_args!("unexpected error pdu from pmcd: {reason}?"));
        None
    }

    /// Logs a PDU of an unknown type.
    fn log_unknown(&self, token: &mut Token) {
        let kind = self.kind;
        self.agent
            .complain(token, format_args!("Unrecognised pdu type: {kind}?"));
    }
}

/// Logs why no more PDUs arrive. Returns the result of the loop.
fn lost(token: &mut Token, error: Error) -> c_int {
    if error == Error::EOF {
        log_kind(token, Kind(0));
    } else {
        log_kind(token, Kind(error.code()));
        log::notify!(token, Level::Err, "IPC Error: {}", log::errstr(error));
    }
    error.code()
}

/// Shows the type of what has arrived; 0 for the end of the stream.
fn log_kind(token: &mut Token, kind: Kind) {
    if log::debug(Debug::Pdu) && log::debug(Debug::Desperate) {
        log::trace!(token, "__pmdaMainPDU: got PDU type {kind} from pmcd\n");
    }
}

/// Shows a request under `-Dlibpmda`. `context` is its client, for agents that get attributes of
/// clients.
fn show_request(token: &mut Token, pdu: &Pdu, context: Option<i32>) {
    if !log::debug(Debug::Libpmda) {
        return;
    }
    if let Some(line) = debug_libpmda::request(pdu.header.kind, pdu.bytes(), context, SINCE_6_0_5) {
        log::debug_line!(token, "{}", Whole(line.bytes()));
    }
}
