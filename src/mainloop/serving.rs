//! Whether an agent may be served, and how a PDU is: by the method of the dispatch table, or
//! without one where the library's own would be called.

use std::ffi::c_int;

use crate::drive::NoDropCell;
use crate::drive::inner;
use crate::fetch::Fetch;
use crate::instances::selection;
use crate::mainloop::receiving::show_request;
use crate::mainloop::replying::Purpose;
use crate::mainloop::requests::{self, Ask, Listed, MethodArguments, Request};
use crate::mainloop::{After, Call, MainLoop, Next, SessionAnswer, State};
use crate::record;
use crate::record::Session;
use crate::sys::channel::Channel;
use crate::sys::libpcp::log;
use crate::sys::libpcp::version::{PMAPI, free_result_values};
use crate::view::agent::{CleanUp, Dispatch, Ext};
use crate::view::answers::{DraftReply, OwnedLabels};
use crate::view::types::Comm;
use pmda_core::error::{Error, Result};
use pmda_core::log::{Bytes, Level};
use pmda_core::setup::Interface;
use pmda_core::wire::receive::Pdu;
use pmda_core::wire::{Kind, decode};

impl<'call> MainLoop<'call> {
    /// Serves a request PDU.
    pub(super) fn serve(&mut self) -> Next<'call> {
        let Some(pdu) = self.pdu.take() else {
            return Next::End(Err(Error::GENERIC));
        };
        show_request(self.agent, &pdu);
        if pdu.header.kind == Kind::PDU_FETCH && self.has_own_fetch() {
            return self.fetch(pdu);
        }
        let next = self.ask(&pdu);
        self.pdu.set(pdu);
        next
    }

    /// Calls the method for a PDU, or does without.
    fn ask(&mut self, pdu: &Pdu) -> Next<'call> {
        let (agent, bytes, from) = (self.agent, pdu.bytes(), pdu.header.from);
        let arguments = &mut self.arguments;
        let asked = match pdu.header.kind {
            Kind::PDU_PROFILE => return self.tell(|arguments| requests::profile(agent, bytes, arguments)),
            Kind::PDU_ATTR => return self.tell(|arguments| requests::attribute(agent, bytes, from, arguments)),
            Kind::PDU_ERROR => return self.tell(|_| requests::notice(agent, bytes, from)),
            Kind::PDU_CONTROL_REQ => return self.served(),
            Kind::PDU_RESULT => {
                return match requests::store(agent, bytes, arguments) {
                    Ok((request, call)) => self.call(State::Asking(request), call),
                    Err(error) => self.send_status(Purpose::Status, error.code(), After::CleanUp(None)),
                };
            }
            Kind::PDU_LABEL_REQ => return self.labels(bytes),
            Kind::PDU_INSTANCE_REQ => return self.instance(bytes),
            Kind::PDU_FETCH => requests::fetch(agent, bytes, arguments),
            Kind::PDU_DESC_REQ => requests::desc(agent, bytes),
            Kind::PDU_TEXT_REQ => requests::text(agent, bytes),
            Kind::PDU_PMNS_NAMES => requests::pmid(agent, bytes, arguments),
            Kind::PDU_PMNS_IDS => requests::name(agent, bytes),
            Kind::PDU_PMNS_CHILD => requests::children(agent, bytes, false, arguments),
            Kind::PDU_PMNS_TRAVERSE => requests::children(agent, bytes, true, arguments),
            other => {
                let name = agent.ext.name();
                let name = Bytes(name.as_ref().map_or(b"", |name| name.bytes()));
                log::notify!(Level::Err, "{name}: Unrecognised pdu type: {other}?");
                return self.served();
            }
        };
        self.asked(asked)
    }

    /// Calls a method, or replies why not.
    fn asked(&mut self, asked: Ask<'call>) -> Next<'call> {
        match asked {
            Ok((request, call)) => self.call(State::Asking(request), call),
            Err(error) => self.reply(None, |_| Err(error)),
        }
    }

    /// Tells the agent something that has no answer.
    fn tell(&mut self, make: impl FnOnce(&mut NoDropCell<MethodArguments>) -> Ask<'call>) -> Next<'call> {
        match make(&mut self.arguments) {
            Ok((request, call)) => self.call(State::Asking(request), call),
            Err(_) => self.served(),
        }
    }

    fn labels(&mut self, pdu: &[u8]) -> Next<'call> {
        let about = match decode::label_request(pdu) {
            Ok(about) => about,
            Err(error) => return self.asked(Err(error)),
        };
        match requests::label(self.agent, about).transpose() {
            Some(asked) => self.asked(asked),
            None => self.reply(None, |reply| OwnedLabels::none(about.kind).encode(reply, about.ident)),
        }
    }

    fn instance(&mut self, pdu: &[u8]) -> Next<'call> {
        let agent = self.agent;
        let request = match decode::instance_request(pdu) {
            Ok(request) => request,
            Err(error) => return self.asked(Err(error)),
        };
        let own = self.own.instance.map(|method| method as usize);
        if own.is_some() && agent.dispatch.instance().map(|method| method as usize) == own {
            return self.reply(None, |reply| {
                // A panic ends in an error reply, as that of a method does.
                Error::check(inner(|| requests::list_instances(agent, &request, reply))).map(drop)
            });
        }
        let asked = requests::instance(agent, &request, &mut self.arguments);
        self.asked(asked)
    }

    /// Whether the fetch method and the function that frees its result are the library's own, so
    /// that no code of the agent would see the result. The agent may replace its methods and
    /// callbacks at any time.
    fn has_own_fetch(&self) -> bool {
        let own = self.own.fetch.map(|method| method as usize);
        let free: CleanUp = free_result_values;
        own.is_some()
            && self.agent.dispatch.fetch().map(|method| method as usize) == own
            && self.agent.ext.result_callback().map(|callback| callback as usize) == Some(free as usize)
    }

    /// FETCH with the library's own method: its values are encoded as they come.
    fn fetch(&mut self, pdu: Pdu) -> Next<'call> {
        let agent = self.agent;
        let begun = record::of_any(agent.ext).and_then(|known| Ok((known, DraftReply::take(&agent.session.draft)?)));
        let (known, draft, steps) = match (begun, self.steps.take()) {
            (Ok((known, draft)), Some(steps)) => (known, draft, steps),
            (_, steps) => {
                self.pdu.set(pdu);
                self.steps = steps;
                return self.asked(Err(Error::NOMEM));
            }
        };
        match Listed::new(pdu) {
            Ok(list) => {
                self.fetch = Some(Fetch::new(agent.ext, known, list, draft, steps, self.spare));
                self.call(State::Fetching, Call::Values)
            }
            Err((pdu, error)) => {
                self.pdu.set(pdu);
                self.steps = Some(steps);
                self.reply_draft(draft, Err(error))
            }
        }
    }

    pub(super) fn fetched(&mut self, outcome: Result<()>) -> Next<'call> {
        let Some(fetch) = self.fetch.take() else {
            return Next::End(Err(Error::GENERIC));
        };
        let (list, draft, steps) = fetch.into_parts();
        self.steps = Some(steps);
        if let Some(pdu) = list.into_pdu() {
            self.pdu.set(pdu);
        }
        self.reply_draft(draft, outcome)
    }

    fn reply_draft(&mut self, draft: DraftReply, outcome: Result<()>) -> Next<'call> {
        self.replying.begin_draft(self.agent, draft, outcome);
        self.state = State::Replying(After::CleanUp(None));
        self.write()
    }

    /// A method has returned.
    pub(super) fn answered(&mut self, request: Request, answer: SessionAnswer<'call>) -> Next<'call> {
        let arguments = self.arguments.take();
        match (request, answer) {
            (Request::Profile, SessionAnswer::Status(status)) => {
                if let Ok(agent) = record::of_any(self.agent.ext) {
                    selection::forget(agent);
                }
                if let (Some(MethodArguments::Profile(profile)), true) = (arguments, status >= 0) {
                    self.agent.session.keep_profile(profile);
                }
                self.served()
            }
            (Request::Attribute, SessionAnswer::Status(status)) => {
                drop(arguments);
                requests::attribute_answered(self.agent, status);
                self.served()
            }
            (Request::Store, SessionAnswer::Status(status)) => {
                drop(arguments);
                self.send_status(Purpose::Status, status, After::CleanUp(None))
            }
            (Request::EndContext, _) => self.served(),
            (request, answer) => {
                drop(arguments);
                let values = requests::values(&answer);
                self.reply(values, |reply| requests::encode(request, answer, reply))
            }
        }
    }
}

/// What a loop that cannot start returns (MAIN-3).
const NO_START: c_int = -1;

/// An agent whose PDU is being served.
#[derive(Clone, Copy)]
pub(super) struct Agent<'call> {
    pub(super) dispatch: Dispatch<'call>,
    pub(super) ext: Ext<'call>,
    pub(super) session: &'static Session,
}

impl Agent<'_> {
    /// The interface version at this moment.
    pub(super) fn interface(self) -> Interface {
        self.dispatch.interface()
    }

    /// The descriptor for replies at this moment.
    pub(super) fn out(self) -> Channel {
        Channel(self.ext.outfd())
    }
}

/// The agent behind a dispatch table, if it may be served. The checks are made until they have been
/// passed once (MAIN-3).
///
/// # Errors
/// What the loop returns without it.
pub(super) fn enter(dispatch: Option<Dispatch<'_>>) -> std::result::Result<Agent<'_>, Result<c_int>> {
    let Some((dispatch, ext)) = dispatch.and_then(|dispatch| Some((dispatch, dispatch.ext()?))) else {
        log::notify!(Level::Err, "PMDA Initialisation Failed");
        return Err(Ok(NO_START));
    };
    let session = record::session(ext).map_err(Err)?;
    if !session.has_begun() {
        if dispatch.status() != 0 {
            log::notify!(Level::Err, "PMDA Initialisation Failed");
            return Err(Ok(NO_START));
        }
        if !is_supported(dispatch) {
            return Err(Ok(NO_START));
        }
        dispatch.set_comm(Comm {
            pmapi: PMAPI,
            ..dispatch.comm()
        });
        session.begin();
    }
    Ok(Agent { dispatch, ext, session })
}

/// Whether the interface version exists; says so if not.
pub(crate) fn is_supported(dispatch: Dispatch<'_>) -> bool {
    let interface = dispatch.interface();
    if !interface.is_supported() {
        log::notify!(Level::Crit, "PMDA interface version {} not supported", interface.0);
    }
    interface.is_supported()
}
