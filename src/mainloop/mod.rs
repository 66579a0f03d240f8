//! The main loop: it receives PDUs one by one, has the agent's method for each serve it, and sends
//! the answer (MAIN-4).
//!
//! `exports.rs` has the loop, and makes the calls into the agent; the steps between the calls are
//! here. Methods may do anything: change the dispatch table, the descriptors and the callbacks,
//! send PDUs of their own, even call the main loop. So every public field is read when it is
//! needed, and nothing is locked while a method runs (MAIN-53).
//!
//! For each request a function here (`fetch_request` …) returns the method, and the content of the
//! PDU in the form that it takes (the table in front of MAIN-10). What a method gets by address is
//! put into a cell of the caller (`kept`), which outlives the call of the method. Such a function
//! returns the error that is sent in place of a reply: that of the decoder for a bad PDU,
//! `-ENOMEM`, `PM_ERR_NYI` for a method that is NULL, and another one for a method that the agent's
//! interface version does not have.

pub(crate) mod connection;
pub(crate) mod exports;

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, ptr};

use crate::agent::LoopState;
use crate::boundary::NoDropCell;
use crate::instances::iterate;
use crate::mainloop::connection::{Incoming, Outgoing, SendPurpose};
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{PMAPI, SINCE_6_0_5};
use crate::sys::lock::Token;
use crate::view::arg::Shown;
use crate::view::interface::{
    AttributeMethod, Check, ChildrenMethod, DescMethod, Dispatch, EndContext, Ext, FetchMethod, InstanceMethod,
    LabelMethod, NameMethod, PmidMethod, ProfileMethod, StoreMethod, TextMethod,
};
use crate::view::memory::{Block, CVec, string};
use crate::view::types::{Comm, pmID, pmProfile, pmdaResult};
use crate::view::wire::{OwnedProfile, OwnedResult};
use pmda_core::constants::{PMDA_INTERFACE_4, PMDA_INTERFACE_6, PMDA_INTERFACE_7};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, Interface, MetricId};
use pmda_core::log::{Level, Whole};
use pmda_core::wire::decode::{self, About};
use pmda_core::wire::encode::{Reply, ResultBuilder};
use pmda_core::wire::receive::{Failure, Pdu, ReadMode};
use pmda_core::wire::{Kind, debug, result};

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
        // for more input: bytes that were read ahead would never arrive for it.
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
        let request = self.find(token, find);
        request.map_err(|error| self.reply(token, |_| Err(error))).ok()
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
    /// MAIN-23). For the end of a context it returns the agent's callback, if the agent has one,
    /// and the context.
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
    if let Some(line) = debug::request(pdu.header.kind, pdu.bytes(), context, SINCE_6_0_5) {
        log::debug_line!(token, "{}", Whole(line.bytes()));
    }
}

/// A string for a method, in a block from malloc.
type Text = NoDropCell<Block<c_char>>;

/// Logs under `-Dlibpmda` that the agent's interface version has no such method: once in the
/// process for each kind of request, since PCP 6.0.5 (MAIN-30).
fn warn_missing(token: &mut Token, agent: Agent<'_>, since: u32, method: &str, warned: &AtomicBool) {
    if SINCE_6_0_5 && log::debug(Debug::Libpmda) && !warned.swap(true, Ordering::Relaxed) {
        let interface = agent.interface().0;
        log::warning!(
            token,
            "PMDA version {interface} < {since}, no PMDA {method}() callback possible"
        );
    }
}

/// The method and argument for a PROFILE.
///
/// # Errors
/// Those of the decoder, `-ENOMEM`, `PM_ERR_NYI` without a method.
fn profile_request(
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut NoDropCell<OwnedProfile>,
) -> Result<(ProfileMethod, *mut pmProfile)> {
    let profile = OwnedProfile::new(decode::profile(pdu)?)?;
    let call = (agent.dispatch.profile().ok_or(Error::NYI)?, profile.as_ptr());
    kept.set(profile);
    Ok(call)
}

/// The method and arguments for an ATTR: key; value, which ends in a NUL, or is NULL for an empty
/// one; length without the NUL.
///
/// # Errors
/// As [`profile_request`]; `PM_ERR_NYI` below interface version 6.
fn attribute_request(
    token: &mut Token,
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut Text,
) -> Result<(AttributeMethod, c_int, *mut c_char, c_int)> {
    if !agent.interface().has_attributes() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(token, agent, PMDA_INTERFACE_6, "attribute", &TOLD);
        return Err(Error::NYI);
    }
    let attribute = decode::attribute(pdu)?;
    let length = attribute.value.len() as c_int;
    let value = string(attribute.value)?;
    let text = if length == 0 { ptr::null_mut() } else { value.as_ptr() };
    let method = agent.dispatch.attribute().ok_or(Error::NYI)?;
    kept.set(value);
    Ok((method, attribute.key, text, length))
}

/// The method and argument for a RESULT: values to store.
///
/// # Errors
/// As [`profile_request`].
fn store_request(
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut NoDropCell<OwnedResult>,
) -> Result<(StoreMethod, *mut pmdaResult)> {
    let values = OwnedResult::new(result::decode(pdu)?)?;
    let call = (agent.dispatch.store().ok_or(Error::NYI)?, values.as_ptr());
    kept.set(values);
    Ok(call)
}

/// The method and arguments for a FETCH: the number of metrics, and their list.
///
/// # Errors
/// As [`profile_request`].
fn fetch_request(
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut NoDropCell<Block<pmID>>,
) -> Result<(FetchMethod, c_int, *mut pmID)> {
    let metrics = decode::fetch(pdu)?;
    let count = metrics.len() as c_int;
    let metrics = CVec::of(metrics.map(|metric| metric.0))?.into_block();
    let call = (agent.dispatch.fetch().ok_or(Error::NYI)?, count, metrics.as_ptr());
    kept.set(metrics);
    Ok(call)
}

/// The method and argument for a DESC_REQ.
///
/// # Errors
/// As [`profile_request`].
fn desc_request(agent: Agent<'_>, pdu: &[u8]) -> Result<(DescMethod, MetricId)> {
    let metric = decode::desc_request(pdu)?;
    Ok((agent.dispatch.desc().ok_or(Error::NYI)?, metric))
}

/// The method and arguments for an INSTANCE_REQ: domain, instance, and name or NULL.
///
/// # Errors
/// As [`profile_request`].
fn instance_request(
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut Text,
) -> Result<(InstanceMethod, InDom, c_int, *mut c_char)> {
    let request = decode::instance_request(pdu)?;
    let name = request.name.map(string).transpose()?;
    let text = name.as_ref().map_or(ptr::null_mut(), Block::as_ptr);
    let method = agent.dispatch.instance().ok_or(Error::NYI)?;
    if let Some(name) = name {
        kept.set(name);
    }
    Ok((method, request.indom, request.inst, text))
}

/// The method and argument for a TEXT_REQ.
///
/// # Errors
/// As [`profile_request`].
fn text_request(agent: Agent<'_>, pdu: &[u8]) -> Result<(TextMethod, About)> {
    let about = decode::text_request(pdu)?;
    Ok((agent.dispatch.text().ok_or(Error::NYI)?, about))
}

/// The method and argument for a PMNS_NAMES with one name.
///
/// # Errors
/// As [`profile_request`]; `PM_ERR_NAME` below interface version 4.
fn pmid_request(agent: Agent<'_>, pdu: &[u8], kept: &mut Text) -> Result<(PmidMethod, *mut c_char)> {
    let name = string(decode::names_request(pdu)?)?;
    if !agent.interface().has_names() {
        return Err(Error::NAME);
    }
    let call = (agent.dispatch.pmid().ok_or(Error::NYI)?, name.as_ptr());
    kept.set(name);
    Ok(call)
}

/// The method and argument for a PMNS_IDS with one metric.
///
/// # Errors
/// As [`profile_request`]; `PM_ERR_PMID` below interface version 4.
fn name_request(token: &mut Token, agent: Agent<'_>, pdu: &[u8]) -> Result<(NameMethod, MetricId)> {
    let metric = decode::ids_request(pdu)?;
    if !agent.interface().has_names() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(token, agent, PMDA_INTERFACE_4, "name", &TOLD);
        return Err(Error::PMID);
    }
    Ok((agent.dispatch.name().ok_or(Error::NYI)?, metric))
}

/// The method and arguments for a PMNS_CHILD, or for a PMNS_TRAVERSE if `all`: the name, and
/// whether the reply has states.
///
/// # Errors
/// As [`profile_request`]; `PM_ERR_NAME` below interface version 4.
fn children_request(
    token: &mut Token,
    agent: Agent<'_>,
    pdu: &[u8],
    all: bool,
    kept: &mut Text,
) -> Result<(ChildrenMethod, *mut c_char, bool)> {
    let request = decode::names_below(pdu)?;
    let name = string(request.name)?;
    if !agent.interface().has_names() {
        static TOLD: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        warn_missing(token, agent, PMDA_INTERFACE_4, "children", &TOLD[usize::from(all)]);
        return Err(Error::NAME);
    }
    let call = (agent.dispatch.children().ok_or(Error::NYI)?, name.as_ptr());
    kept.set(name);
    Ok((call.0, call.1, request.with_states && !all))
}

/// The method and argument for a LABEL_REQ. There is no method below interface version 7: the reply
/// has no labels then.
///
/// # Errors
/// As [`profile_request`].
fn label_request(token: &mut Token, agent: Agent<'_>, pdu: &[u8]) -> Result<(Option<LabelMethod>, About)> {
    let about = decode::label_request(pdu)?;
    if !agent.interface().has_labels() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(token, agent, PMDA_INTERFACE_7, "label", &TOLD);
        return Ok((None, about));
    }
    Ok((Some(agent.dispatch.label().ok_or(Error::NYI)?), about))
}
