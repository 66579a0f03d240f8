//! The stock methods that need no module of their own: profile, store, descriptor, names and
//! attributes.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::boundary::guard;
use crate::fetch;
use crate::fetch::messages;
use crate::instances::iterate;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, Out};
use crate::view::interface::Ext;
use crate::view::table::Metric;
use crate::view::types::{pmDesc, pmID, pmProfile, pmdaResult};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::log::Level;

/// Stores the profile in the extension, for later fetches: the default method for profiles. The
/// profile stays the caller's (FETCH-100).
///
/// # Returns
/// 0; `-EINVAL` when `pmda` is NULL; `-ENOMEM`.
///
/// # Safety
/// `pmda` is NULL or valid. `prof` is NULL or a valid profile, which stays until the agent gets
/// another one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaProfile(prof: *mut pmProfile, pmda: Option<Ext<'_>>) -> c_int {
    guard(|token| -> Refusable<()> {
        let ext = pmda.needed(&"pmda")?;
        // SAFETY: NULL, or a valid profile that stays until the agent gets another one, as the
        // caller promises.
        unsafe { ext.set_profile(prof) };
        iterate::forget(state::any_agent(token, ext)?);
        Ok(())
    })
}

/// Refuses to store values: the default method for stores (FETCH-101).
///
/// # Returns
/// `PM_ERR_PERMISSION`.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaStore(result: *mut pmdaResult, pmda: Option<Ext<'_>>) -> c_int {
    guard(|token| -> Result<()> {
        let _ = result;
        if let Some(ext) = pmda {
            fetch::enter_context(ext, state::interface(token, ext));
        }
        Err(Error::PERMISSION)
    })
}

/// Knows no name: the default method for identifiers of names (FETCH-102).
///
/// # Returns
/// `PM_ERR_NAME`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaPMID(_name: Option<CText<'_>>, _pmid: Out<'_, pmID>, _pmda: Option<Ext<'_>>) -> c_int {
    Error::NAME.code()
}

/// Knows no metric: the default method for names of identifiers (FETCH-102).
///
/// # Returns
/// `PM_ERR_PMID`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaName(_pmid: pmID, _nameset: Out<'_, *mut *mut c_char>, _pmda: Option<Ext<'_>>) -> c_int {
    Error::PMID.code()
}

/// Knows no name: the default method for the names below a name (FETCH-102).
///
/// # Returns
/// `PM_ERR_NAME`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaChildren(
    _name: Option<CText<'_>>,
    _traverse: c_int,
    _offspring: Out<'_, *mut *mut c_char>,
    _status: Out<'_, *mut c_int>,
    _pmda: Option<Ext<'_>>,
) -> c_int {
    Error::NAME.code()
}

/// Takes an attribute of a client and ignores it, apart from a line under `-Dattr` or `-Dauth`: the
/// default method for attributes (FETCH-103).
///
/// # Returns
/// 0.
///
/// # Safety
/// `value` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaAttribute(
    ctx: c_int,
    attr: c_int,
    value: Option<CText<'_>>,
    _size: c_int,
    _pmda: Option<Ext<'_>>,
) -> c_int {
    guard(|token| -> Result<()> {
        if log::debug(Debug::Attr) || log::debug(Debug::Auth) {
            match log::attribute_text(attr, value.as_ref().map_or(c"", CText::c_str)) {
                Some(text) => log::notify!(token, Level::Info, "Attribute: ctx={ctx} {text}"),
                None => log::notify!(token, Level::Err, "Bad attr: ctx={ctx}, attr={attr}"),
            }
        }
        Ok(())
    })
}

/// Describes a metric of the table: the default method for descriptions.
///
/// # Returns
/// 0; `PM_ERR_PMID` when the table has no such metric, `-EINVAL` when `pmda` is NULL, and `desc` is
/// untouched then.
///
/// # Safety
/// `desc` is NULL or valid for one write. `pmda` is NULL or valid, with its metric table.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDesc(pmid: pmID, desc: Out<'_, pmDesc>, pmda: Option<Ext<'_>>) -> c_int {
    guard(|token| -> Refusable<()> {
        desc.set(describe(token, MetricId(pmid), pmda.needed(&"pmda")?)?);
        Ok(())
    })
}

/// The body of `pmdaDesc` (FETCH-80, FETCH-81).
///
/// # Errors
/// `PM_ERR_PMID`, `-ENOMEM`.
fn describe(token: &mut Token, pmid: MetricId, ext: Ext<'_>) -> Result<pmDesc> {
    let agent = state::any_agent(token, ext)?;
    let interface = agent.interface();
    fetch::enter_context(ext, interface);
    let (metric, method) = fetch::find(token, agent, ext, pmid);
    if metric.is_none() && !interface.has_names() {
        messages::undefined(token, "pmdaDesc", pmid);
    }
    if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
        let outcome = if metric.is_none() { "fail" } else { "success" };
        log::trace!(token, "pmdaDesc({pmid}, ...) method={method} {outcome}\n");
    }
    metric.map(Metric::desc).ok_or(Error::PMID)
}
