//! The arguments of the agent's methods: for each request the method, and the content of the PDU in
//! the form that it takes (the table in front of MAIN-10). What a method gets by address is put
//! into a cell of the caller (`kept`), which outlives the call of the method.
//!
//! Each function here returns the error that is sent in place of a reply: that of the decoder for a
//! bad PDU, `-ENOMEM`, `PM_ERR_NYI` for a method that is NULL, and another one for a method that
//! the agent's interface version does not have.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::boundary::NoDropCell;
use crate::mainloop::Agent;
use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::interface::{
    AttributeMethod, ChildrenMethod, DescMethod, FetchMethod, InstanceMethod, LabelMethod, NameMethod, PmidMethod,
    ProfileMethod, StoreMethod, TextMethod,
};
use crate::view::memory::{Block, CVec, string};
use crate::view::types::{pmID, pmProfile, pmdaResult};
use crate::view::wire::{OwnedProfile, OwnedResult};
use pmda_core::constants::{PMDA_INTERFACE_4, PMDA_INTERFACE_6, PMDA_INTERFACE_7};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::wire::decode::{self, About};
use pmda_core::wire::result;

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
pub(super) fn profile(
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
/// As [`profile`]; `PM_ERR_NYI` below interface version 6.
pub(super) fn attribute(
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
    let place = if length == 0 { ptr::null_mut() } else { value.as_ptr() };
    let method = agent.dispatch.attribute().ok_or(Error::NYI)?;
    kept.set(value);
    Ok((method, attribute.key, place, length))
}

/// The method and argument for a RESULT: values to store.
///
/// # Errors
/// As [`profile`].
pub(super) fn store(
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
/// As [`profile`].
pub(super) fn fetch(
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
/// As [`profile`].
pub(super) fn desc(agent: Agent<'_>, pdu: &[u8]) -> Result<(DescMethod, MetricId)> {
    let metric = decode::desc_request(pdu)?;
    Ok((agent.dispatch.desc().ok_or(Error::NYI)?, metric))
}

/// The method and arguments for an INSTANCE_REQ: domain, instance, and name or NULL.
///
/// # Errors
/// As [`profile`].
pub(super) fn instance(
    agent: Agent<'_>,
    pdu: &[u8],
    kept: &mut Text,
) -> Result<(InstanceMethod, InDom, c_int, *mut c_char)> {
    let request = decode::instance_request(pdu)?;
    let name = request.name.map(string).transpose()?;
    let place = name.as_ref().map_or(ptr::null_mut(), Block::as_ptr);
    let method = agent.dispatch.instance().ok_or(Error::NYI)?;
    if let Some(name) = name {
        kept.set(name);
    }
    Ok((method, request.indom, request.inst, place))
}

/// The method and argument for a TEXT_REQ.
///
/// # Errors
/// As [`profile`].
pub(super) fn text(agent: Agent<'_>, pdu: &[u8]) -> Result<(TextMethod, About)> {
    let about = decode::text_request(pdu)?;
    Ok((agent.dispatch.text().ok_or(Error::NYI)?, about))
}

/// The method and argument for a PMNS_NAMES with one name.
///
/// # Errors
/// As [`profile`]; `PM_ERR_NAME` below interface version 4.
pub(super) fn pmid(agent: Agent<'_>, pdu: &[u8], kept: &mut Text) -> Result<(PmidMethod, *mut c_char)> {
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
/// As [`profile`]; `PM_ERR_PMID` below interface version 4.
pub(super) fn name(token: &mut Token, agent: Agent<'_>, pdu: &[u8]) -> Result<(NameMethod, MetricId)> {
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
/// As [`profile`]; `PM_ERR_NAME` below interface version 4.
pub(super) fn children(
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
/// As [`profile`].
pub(super) fn label(token: &mut Token, agent: Agent<'_>, pdu: &[u8]) -> Result<(Option<LabelMethod>, About)> {
    let about = decode::label_request(pdu)?;
    if !agent.interface().has_labels() {
        static TOLD: AtomicBool = AtomicBool::new(false);
        warn_missing(token, agent, PMDA_INTERFACE_7, "label", &TOLD);
        return Ok((None, about));
    }
    Ok((Some(agent.dispatch.label().ok_or(Error::NYI)?), about))
}
