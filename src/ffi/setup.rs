//! Agent setup: `pmdaDaemon`, `pmdaDSO`, `pmdaInterfaceMoved`, `pmdaOpenLog`.

use std::ffi::c_int;
use std::ptr;

use super::describe::{pmdaDesc, pmdaText};
use super::fetch::pmdaFetch;
use super::guard::guard;
use super::instances::pmdaInstance;
use super::labels::pmdaLabel;
use super::methods::{pmdaAttribute, pmdaChildren, pmdaName, pmdaPMID, pmdaProfile, pmdaStore};
use super::types::{Comm, pmdaInterface};
use crate::abi::arg::{CText, MutableText};
use crate::abi::dispatch::Dispatch;
use crate::abi::new_ext::ExtTexts;
use crate::agent::record;
use crate::agent::setup::{Request, log_file, set_up};
use crate::libpcp::{config, log};

/// The methods that an agent gets, as a dispatch table of the last interface version.
pub(super) const DEFAULT_METHODS: pmdaInterface = pmdaInterface {
    domain: 0,
    comm: Comm(0),
    status: 0,
    ext: ptr::null_mut(),
    profile: Some(pmdaProfile),
    fetch: Some(pmdaFetch),
    desc: Some(pmdaDesc),
    instance: Some(pmdaInstance),
    text: Some(pmdaText),
    store: Some(pmdaStore),
    pmid: Some(pmdaPMID),
    name: Some(pmdaName),
    children: Some(pmdaChildren),
    attribute: Some(pmdaAttribute),
    label: Some(pmdaLabel),
};

/// Sets up a daemon agent: its dispatch table gets the stock methods, and an extension.
///
/// `dispatch->status` is 0 afterwards, or negative. All strings are copied: bindings pass temporary
/// ones.
///
/// # Safety
/// `dispatch` is NULL or valid for writes of what `interface` defines. `name`, `logfile` and
/// `helptext` are each NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDaemon(
    dispatch: Option<Dispatch>,
    interface: c_int,
    name: Option<CText>,
    domain: c_int,
    logfile: Option<CText>,
    helptext: Option<CText>,
) {
    let texts = ExtTexts {
        name,
        logfile,
        helptext,
    };
    let request = Request {
        interface,
        texts,
        daemon: true,
    };
    guard(|| {
        let Some(dispatch) = dispatch else { return };
        dispatch.set_domain(domain);
        if set_up(dispatch, &request, &DEFAULT_METHODS) {
            config::below_pmapi();
        }
    });
}

/// Sets up an agent that was loaded as a shared object; the loader has set the domain.
///
/// `dispatch->status` is 0 afterwards, or negative. Both strings are copied: bindings pass
/// temporary ones.
///
/// # Safety
/// As for `pmdaDaemon`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDSO(
    dispatch: Option<Dispatch>,
    interface: c_int,
    name: Option<MutableText>,
    helptext: Option<MutableText>,
) {
    let texts = ExtTexts {
        name,
        logfile: None,
        helptext,
    };
    let request = Request {
        interface,
        texts,
        daemon: false,
    };
    guard(|| {
        if let Some(dispatch) = dispatch {
            set_up(dispatch, &request, &DEFAULT_METHODS);
        }
    });
}

/// Tells the library that the dispatch table of an agent is somewhere else now (INIT-51).
///
/// # Safety
/// `dispatch` is NULL or valid; its `ext` is NULL or valid, and was set up by some copy of this
/// library, or has NULL in `e_ext`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInterfaceMoved(dispatch: Option<Dispatch>) {
    guard(|| {
        if let Some(dispatch) = dispatch {
            record::moved(dispatch);
        }
    });
}

/// Sends stderr into the agent's log file; an older file of that name becomes `NAME.prev`
/// (INIT-30).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaOpenLog(dispatch: Option<Dispatch>) {
    guard(|| {
        if let Some((name, file)) = dispatch.and_then(log_file) {
            log::open(name.c_str(), file.c_str());
        }
    });
}
