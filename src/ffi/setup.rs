//! Set-up of an agent: `pmdaDaemon`, `pmdaDSO`, `pmdaInterfaceMoved`, `pmdaOpenLog`.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::arg;
use super::describe::{pmdaDesc, pmdaText};
use super::fetch::pmdaFetch;
use super::guard::guard;
use super::instances::pmdaInstance;
use super::labels::pmdaLabel;
use super::memory::Block;
use super::methods::{pmdaAttribute, pmdaChildren, pmdaName, pmdaPMID, pmdaProfile, pmdaStore};
use super::private;
use super::types::{Comm, pmdaExt, pmdaInterface};
use crate::error::{Error, Result};
use crate::libpcp::version::{PMAPI, free_result_values};
use crate::libpcp::{config, log};
use crate::log::Level;
use crate::log::Part::{Raw, Show};
use crate::setup;

/// `PMDA_EXT_SETUPDONE`.
const SETUP_DONE: u32 = 1 << 2;
/// `pmdaUnknown`: how the agent talks to pmcd is not known yet.
const IO_UNKNOWN: u32 = 3;

/// What `pmdaDaemon` and `pmdaDSO` are told.
struct Request {
    interface: c_int,
    name: *const c_char,
    logfile: *const c_char,
    helptext: *const c_char,
    daemon: bool,
}

/// Sets up a daemon agent: its dispatch table gets the stock methods, and an extension.
///
/// `dispatch->status` is 0 afterwards, or negative. All strings are copied: bindings pass temporary ones.
///
/// # Safety
/// `dispatch` is NULL or valid for writes of what `interface` defines. `name`, `logfile` and `helptext` are each NULL or a C
/// string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDaemon(
    dispatch: *mut pmdaInterface,
    interface: c_int,
    name: *const c_char,
    domain: c_int,
    logfile: *const c_char,
    helptext: *const c_char,
) {
    let request = Request {
        interface,
        name,
        logfile,
        helptext,
        daemon: true,
    };
    guard(|| {
        // SAFETY: the contract above.
        unsafe {
            if !dispatch.is_null() {
                (*dispatch).domain = domain;
            }
            if set_up(dispatch, &request) {
                config::below_pmapi();
            }
        }
    });
}

/// Sets up an agent that was loaded as a shared object; the loader has set the domain.
///
/// `dispatch->status` is 0 afterwards, or negative. Both strings are copied: bindings pass temporary ones.
///
/// # Safety
/// As for `pmdaDaemon`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDSO(
    dispatch: *mut pmdaInterface,
    interface: c_int,
    name: *mut c_char,
    helptext: *mut c_char,
) {
    let request = Request {
        interface,
        name,
        logfile: ptr::null(),
        helptext,
        daemon: false,
    };
    guard(|| {
        // SAFETY: the contract above.
        unsafe { set_up(dispatch, &request) };
    });
}

/// Whether the agent was set up (INIT-10 … INIT-13).
///
/// # Safety
/// As for `pmdaDaemon`.
unsafe fn set_up(dispatch: *mut pmdaInterface, request: &Request) -> bool {
    if dispatch.is_null() {
        return false;
    }
    // SAFETY: the contract above; methods beyond the interface version are not touched (INIT-1).
    unsafe {
        let name = arg::bytes(request.name).unwrap_or_default();
        let version = u32::try_from(request.interface).unwrap_or(u32::MAX);
        if !setup::supported(version) {
            let domain = (*dispatch).domain;
            let version = request.interface;
            log::notify_parts(
                Level::Crit,
                &[
                    Raw(b"__pmdaSetup: "),
                    Raw(name),
                    Show(&format_args!(
                        " PMDA: interface version {version} not supported (domain={domain})"
                    )),
                ],
            );
            (*dispatch).status = Error::GENERIC.code();
            return false;
        }
        match extension(dispatch, request) {
            Ok(ext) => {
                (*dispatch).status = 0;
                (*dispatch).comm = Comm(0).with_interface(version).with_pmapi(PMAPI);
                (*dispatch).ext = ext;
                stock_methods(dispatch, version);
                private::refresh(dispatch);
                true
            }
            Err(_) => {
                let parts = [Raw(name), Raw(b": Unable to allocate memory for pmdaExt")];
                log::notify_parts(Level::Err, &parts);
                (*dispatch).status = Error::GENERIC.code();
                false
            }
        }
    }
}

/// A new extension, with everything that is not zero at first (INIT-10). The strings lie behind it in the same block: an agent
/// that puts others in their place leaves nothing behind.
///
/// # Safety
/// `dispatch` is valid; strings as for `pmdaDaemon`.
unsafe fn extension(dispatch: *mut pmdaInterface, request: &Request) -> Result<*mut pmdaExt> {
    let texts = [request.logfile, request.helptext, request.name];
    // SAFETY: each is NULL or a C string by the contract above.
    let texts = texts.map(|text| unsafe { arg::bytes(text) });
    let size = texts.iter().flatten().try_fold(size_of::<pmdaExt>(), |size, text| {
        size.checked_add(text.len())?.checked_add(1)
    });
    let record = private::room()?;
    let block = Block::<u8>::zeroed(size.ok_or(Error::NOMEM)?)?;
    let ext = block.as_ptr().cast::<pmdaExt>();
    let mut end = size_of::<pmdaExt>();
    let [logfile, helptext, name] = texts.map(|text| {
        let Some(text) = text else { return ptr::null() };
        // SAFETY: the block has room for the extension and for each text with a NUL behind it, and is zero so far.
        let copy = unsafe { block.as_ptr().add(end) };
        // SAFETY: as above; the new block cannot overlap with the text.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len()) };
        end += text.len() + 1;
        copy.cast_const().cast()
    });
    // SAFETY: the block is new, and has room for a `pmdaExt` at its start, aligned as all that comes from malloc; zero is a
    // valid value of each field.
    unsafe {
        (*ext).e_logfile = logfile;
        (*ext).e_helptext = helptext;
        (*ext).e_name = name;
        (*ext).e_infd = -1;
        (*ext).e_outfd = -1;
        (*ext).e_port = -1;
        (*ext).e_singular = -1;
        (*ext).e_ordinal = -1;
        (*ext).e_help = -1;
        (*ext).e_domain = (*dispatch).domain;
        (*ext).e_io = IO_UNKNOWN;
        (*ext).e_flags = SETUP_DONE;
        (*ext).e_resultCallBack = Some(free_result_values);
        (*ext).e_ext = private::register(record, ext, dispatch, request.daemon);
    }
    Ok(block.into_raw().cast())
}

/// Puts the stock methods of the interface version into the table, and touches nothing beyond them (INIT-1).
///
/// # Safety
/// `dispatch` is valid for writes of what the interface version defines.
unsafe fn stock_methods(dispatch: *mut pmdaInterface, version: u32) {
    // SAFETY: the contract above; a field beyond the version is not even pointed to.
    unsafe {
        (*dispatch).profile = Some(pmdaProfile);
        (*dispatch).fetch = Some(pmdaFetch);
        (*dispatch).desc = Some(pmdaDesc);
        (*dispatch).instance = Some(pmdaInstance);
        (*dispatch).text = Some(pmdaText);
        (*dispatch).store = Some(pmdaStore);
        if version >= 4 {
            (*dispatch).pmid = Some(pmdaPMID);
            (*dispatch).name = Some(pmdaName);
            (*dispatch).children = Some(pmdaChildren);
        }
        if version >= 6 {
            (*dispatch).attribute = Some(pmdaAttribute);
        }
        if version >= 7 {
            (*dispatch).label = Some(pmdaLabel);
        }
    }
}

/// Tells the library that the dispatch table of an agent is somewhere else now (INIT-51).
///
/// # Safety
/// `dispatch` is NULL or valid; its `ext` is NULL or valid, and was set up by some copy of this library, or has NULL in `e_ext`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInterfaceMoved(dispatch: *mut pmdaInterface) {
    guard(|| {
        if !dispatch.is_null() {
            // SAFETY: not NULL, hence valid by the contract above.
            unsafe { private::moved(dispatch) };
        }
    });
}

/// Sends stderr into the agent's log file; an older file of that name becomes `NAME.prev` (INIT-30).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaOpenLog(dispatch: *mut pmdaInterface) {
    guard(|| {
        if dispatch.is_null() {
            return;
        }
        // SAFETY: not NULL, hence valid by the contract above.
        unsafe {
            let ext = (*dispatch).ext;
            if (*dispatch).status < 0 || ext.is_null() || (*ext).e_logfile.is_null() || (*ext).e_name.is_null() {
                return;
            }
            log::open((*ext).e_name, (*ext).e_logfile);
        }
    });
}
