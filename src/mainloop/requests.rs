//! Requests: what pmcd asks becomes a call of the method that serves it, and what comes back
//! becomes a reply (the table in front of MAIN-10).

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{iter, ptr};

use crate::drive::NoDropCell;
use crate::fetch;
use crate::instances;
use crate::instances::Taker;
use crate::mainloop::Agent;
use crate::mainloop::{Call, SessionAnswer};
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::view::answers;
use crate::view::memory::{self, Block, CVec};
use crate::view::received::{OwnedProfile, OwnedResult};
use crate::view::types::pmID;
use crate::view::value::Values;
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::{Bytes, Level};
use pmda_core::wire::decode::{self, About, InstanceRequest};
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::Pdu;
use pmda_core::wire::{self, store};

/// A request that a method was called for.
#[derive(Clone, Copy)]
pub(super) enum Request {
    Profile,
    Attribute,
    EndContext,
    Store,
    Fetch,
    Desc,
    Instance,
    Text(u32),
    Pmid,
    Name,
    Children { with_states: bool },
    Label(u32),
}

/// What a method is given, and what is freed when it has returned.
#[allow(dead_code)] // Most of it is only kept: the method has its address.
pub(super) enum MethodArguments {
    Profile(OwnedProfile),
    Metrics(Block<pmID>),
    Values(OwnedResult),
    Text(Block<c_char>),
}

/// Says, once in a process and kind of request, that the interface version of the agent has no such
/// method: under -Dlibpmda, since PCP 6.0.5 (MAIN-30).
fn warn_missing(agent: Agent<'_>, since: u32, method: &str, told: &AtomicBool) {
    if SINCE_6_0_5 && log::debug(Debug::Libpmda) && !told.swap(true, Ordering::Relaxed) {
        let interface = agent.interface().0;
        log::warning!("PMDA version {interface} < {since}, no PMDA {method}() callback possible");
    }
}

/// The request, and the call that serves it.
pub(super) type Ask<'call> = Result<(Request, Call<'call>)>;

pub(super) fn profile<'call>(
    agent: Agent<'call>,
    pdu: &[u8],
    arguments: &mut NoDropCell<MethodArguments>,
) -> Ask<'call> {
    let profile = OwnedProfile::new(decode::profile(pdu)?)?;
    let method = agent.dispatch.profile().ok_or(Error::NYI)?;
    let call = Call::Profile(method, profile.as_ptr());
    arguments.set(MethodArguments::Profile(profile));
    Ok((Request::Profile, call))
}

pub(super) fn attribute<'call>(
    agent: Agent<'call>,
    pdu: &[u8],
    context: c_int,
    arguments: &mut NoDropCell<MethodArguments>,
) -> Ask<'call> {
    if !agent.interface().has_attributes() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(agent, 6, "attribute", &TOLD);
        return Err(Error::NYI);
    }
    let attribute = decode::attribute(pdu)?;
    let length = attribute.value.len();
    let value = memory::string(attribute.value)?;
    let text = if length == 0 {
        ptr::null()
    } else {
        value.as_ptr().cast_const()
    };
    let method = agent.dispatch.attribute().ok_or(Error::NYI)?;
    arguments.set(MethodArguments::Text(value));
    let call = Call::Attribute(method, context, attribute.key, text, length as c_int);
    Ok((Request::Attribute, call))
}

/// An agent has answered to an attribute.
pub(super) fn attribute_answered(agent: Agent<'_>, status: c_int) {
    let Err(error) = Error::check(status) else { return };
    let reason = log::errstr(error);
    if SINCE_6_0_5 {
        log::warning!("Failed to set attribute: {reason}");
    } else {
        let name = agent.ext.name();
        let name = Bytes(name.as_ref().map_or(b"", |name| name.bytes()));
        log::notify!(Level::Err, "{name}: Failed to set attribute: {reason}");
    }
}

/// ERROR from pmcd: the end of a context, or something unexpected (MAIN-12, MAIN-23).
pub(super) fn notice<'call>(agent: Agent<'call>, pdu: &[u8], context: c_int) -> Ask<'call> {
    let code = decode::error(pdu)?;
    if code == Error::NOTCONN.code() {
        if !agent.interface().has_contexts() {
            return Err(Error::NYI);
        }
        if log::debug(Debug::Context) {
            log::debug_line!("Received PDU_ERROR (end context {context})");
        }
        let callback = agent.ext.end_callback().ok_or(Error::NYI)?;
        return Ok((Request::EndContext, Call::EndContext(callback, context)));
    }
    let reason = Error::check(code).map_or_else(log::errstr, |_| log::errstr_of(code));
    let name = agent.ext.name();
    let name = Bytes(name.as_ref().map_or(b"", |name| name.bytes()));
    log::notify!(Level::Err, "{name}: unexpected error pdu from pmcd: {reason}?");
    Err(Error::NYI)
}

pub(super) fn store<'call>(agent: Agent<'call>, pdu: &[u8], arguments: &mut NoDropCell<MethodArguments>) -> Ask<'call> {
    let values = OwnedResult::new(store::store(pdu)?)?;
    let method = agent.dispatch.store().ok_or(Error::NYI)?;
    let call = Call::Store(method, values.as_ptr());
    arguments.set(MethodArguments::Values(values));
    Ok((Request::Store, call))
}

pub(super) fn fetch<'call>(agent: Agent<'call>, pdu: &[u8], arguments: &mut NoDropCell<MethodArguments>) -> Ask<'call> {
    let metrics = decode::fetch(pdu)?;
    let count = metrics.len() as c_int;
    let metrics = CVec::of(metrics.map(|metric| metric.0))?.into_block();
    let method = agent.dispatch.fetch().ok_or(Error::NYI)?;
    let call = Call::Fetch(method, count, metrics.as_ptr());
    arguments.set(MethodArguments::Metrics(metrics));
    Ok((Request::Fetch, call))
}

pub(super) fn desc<'call>(agent: Agent<'call>, pdu: &[u8]) -> Ask<'call> {
    let metric = decode::desc_request(pdu)?;
    let method = agent.dispatch.desc().ok_or(Error::NYI)?;
    Ok((Request::Desc, Call::Desc(method, metric)))
}

pub(super) fn instance<'call>(
    agent: Agent<'call>,
    request: &InstanceRequest,
    arguments: &mut NoDropCell<MethodArguments>,
) -> Ask<'call> {
    let name = request.name.map(memory::string).transpose()?;
    let text = name.as_ref().map_or(ptr::null_mut(), Block::as_ptr);
    let method = agent.dispatch.instance().ok_or(Error::NYI)?;
    if let Some(name) = name {
        arguments.set(MethodArguments::Text(name));
    }
    let call = Call::Instance(method, request.indom, request.inst, text);
    Ok((Request::Instance, call))
}

pub(super) fn text<'call>(agent: Agent<'call>, pdu: &[u8]) -> Ask<'call> {
    let request = decode::text_request(pdu)?;
    let method = agent.dispatch.text().ok_or(Error::NYI)?;
    let call = Call::Text(method, request.ident, request.kind);
    Ok((Request::Text(request.ident), call))
}

pub(super) fn pmid<'call>(agent: Agent<'call>, pdu: &[u8], arguments: &mut NoDropCell<MethodArguments>) -> Ask<'call> {
    let name = memory::string(decode::names_request(pdu)?)?;
    if !agent.interface().has_names() {
        return Err(Error::NAME);
    }
    let method = agent.dispatch.pmid().ok_or(Error::NYI)?;
    let call = Call::Pmid(method, name.as_ptr());
    arguments.set(MethodArguments::Text(name));
    Ok((Request::Pmid, call))
}

pub(super) fn name<'call>(agent: Agent<'call>, pdu: &[u8]) -> Ask<'call> {
    let metric = decode::ids_request(pdu)?;
    if !agent.interface().has_names() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(agent, 4, "name", &TOLD);
        return Err(Error::PMID);
    }
    let method = agent.dispatch.name().ok_or(Error::NYI)?;
    Ok((Request::Name, Call::Name(method, metric)))
}

pub(super) fn children<'call>(
    agent: Agent<'call>,
    pdu: &[u8],
    all: bool,
    arguments: &mut NoDropCell<MethodArguments>,
) -> Ask<'call> {
    let request = decode::names_below(pdu)?;
    let name = memory::string(request.name)?;
    if !agent.interface().has_names() {
        static TOLD: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        warn_missing(agent, 4, "children", &TOLD[usize::from(all)]);
        return Err(Error::NAME);
    }
    let method = agent.dispatch.children().ok_or(Error::NYI)?;
    let call = Call::Children(method, name.as_ptr(), all);
    arguments.set(MethodArguments::Text(name));
    let with_states = request.with_states && !all;
    Ok((Request::Children { with_states }, call))
}

/// A request for labels; `None` if the interface version has no labels.
pub(super) fn label(agent: Agent<'_>, request: About) -> Result<Option<(Request, Call<'_>)>> {
    if !agent.interface().has_labels() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(agent, 7, "label", &TOLD);
        return Ok(None);
    }
    let method = agent.dispatch.label().ok_or(Error::NYI)?;
    let call = Call::Label(method, request.ident, request.kind);
    Ok(Some((Request::Label(request.ident), call)))
}

/// Encodes what a method has given.
pub(super) fn encode(request: Request, answer: SessionAnswer<'_>, reply: &mut Reply) -> Result<()> {
    match (request, answer) {
        (_, SessionAnswer::Values(status, values)) => {
            status?;
            values.ok_or(Error::GENERIC)?.encode(reply)
        }
        (_, SessionAnswer::Desc(status, desc)) => {
            status?;
            answers::desc(reply, &desc)
        }
        (_, SessionAnswer::Instances(status, mut list)) => {
            status?;
            list.take().ok_or(Error::GENERIC)?.encode(reply)
        }
        (Request::Text(ident), SessionAnswer::Text(status, text)) => {
            status?;
            answers::text(reply, ident, text)
        }
        (_, SessionAnswer::Pmid(status, metric)) => reply.ids(status?, metric),
        (request, SessionAnswer::Names(status, mut names)) => {
            // Also those of a method that has failed are freed.
            let names = names.take().ok_or(Error::GENERIC)?;
            let with_states = matches!(request, Request::Children { with_states: true });
            names.encode(reply, status?, with_states)
        }
        (Request::Label(ident), SessionAnswer::Labels(status, mut labels)) => {
            status?;
            labels.take().ok_or(Error::GENERIC)?.encode(reply, ident)
        }
        _ => Err(Error::GENERIC),
    }
}

/// The result that the result callback is to see, whatever became of it.
pub(super) fn values<'call>(answer: &SessionAnswer<'call>) -> Option<Values<'call>> {
    match answer {
        SessionAnswer::Values(Ok(_), values) => *values,
        _ => None,
    }
}

/// INSTANCE_REQ for an agent with the library's own method: what it would hand over is encoded at
/// once.
pub(super) fn list_instances(agent: Agent<'_>, request: &InstanceRequest, reply: &mut Reply) -> Result<()> {
    let InstanceRequest { indom, inst, name } = *request;
    // As the method would see it: up to the first NUL.
    let name = name.and_then(|name| name.split(|byte| *byte == 0).next());
    instances::list(indom, inst, name, Some(agent.ext), Sent { reply, indom })
}

/// A list of instances in a reply.
struct Sent<'a> {
    reply: &'a mut Reply,
    indom: InDom,
}

impl Taker for Sent<'_> {
    fn name(self, name: &[u8]) -> Result<()> {
        self.reply.instances(self.indom, iter::once((None, Some(name))))
    }

    fn id(self, inst: c_int) -> Result<()> {
        self.reply.instances(self.indom, iter::once((Some(inst), None)))
    }

    fn all<'n>(self, _room: usize, all: impl Iterator<Item = (c_int, &'n [u8])>) -> Result<()> {
        self.reply
            .instances(self.indom, all.map(|(inst, name)| (Some(inst), Some(name))))
    }
}

/// The metrics of a FETCH, in its own bytes.
pub(crate) struct Listed {
    pdu: NoDropCell<Pdu>,
    start: usize,
    count: usize,
}

impl Listed {
    /// The metrics of a PDU.
    ///
    /// # Errors
    /// The PDU, with `PM_ERR_IPC`, when it is none.
    pub(super) fn new(pdu: Pdu) -> std::result::Result<Listed, (Pdu, Error)> {
        let (start, count) = match decode::fetch_ids(pdu.bytes()) {
            Ok(ids) => (pdu.bytes().len() - ids.len(), ids.len() / 4),
            Err(error) => return Err((pdu, error)),
        };
        let pdu = NoDropCell::new(pdu);
        Ok(Listed { pdu, start, count })
    }

    /// The PDU again.
    pub(super) fn into_pdu(mut self) -> Option<Pdu> {
        self.pdu.take()
    }
}

impl fetch::List for Listed {
    #[inline(always)]
    fn len(&self) -> usize {
        self.count
    }

    fn pmid(&self, place: usize) -> MetricId {
        let bytes = self.pdu.peek().map_or(&[][..], |pdu| pdu.bytes());
        MetricId(wire::word(bytes, self.start + place * 4).unwrap_or(0))
    }
}
