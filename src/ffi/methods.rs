//! The stock methods that need no data: profile, store, names and attributes.

use std::ffi::{c_char, c_int};

use super::guard::guard;
use super::types::{pmID, pmProfile, pmdaExt, pmdaResult};
use crate::abi::ext::Ext;
use crate::agent::record;
use crate::agent::{fetch, selection, state};
use crate::error::{Error, Result};
use crate::libpcp::attribute;
use crate::libpcp::log::{self, Debug};
use crate::log::Level;
use crate::log::Part::{Raw, Show};

/// Remembers the profile for the fetches to come. It stays the caller's, who keeps it alive (FETCH-100).
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaProfile(prof: *mut pmProfile, pmda: *mut pmdaExt) -> c_int {
    // SAFETY: NULL, or the agent that the profile is for.
    let ext = unsafe { Ext::new(pmda) };
    guard(|| {
        let ext = ext.ok_or(Error::INVAL)?;
        ext.set_profile_ptr(prof);
        selection::forget(state::of(ext)?);
        Ok(())
    })
}

/// Refuses to store anything: `PM_ERR_PERMISSION` (FETCH-101).
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaStore(result: *mut pmdaResult, pmda: *mut pmdaExt) -> c_int {
    // SAFETY: NULL, or the agent that the request is for.
    let ext = unsafe { Ext::new(pmda) };
    guard(|| -> Result<()> {
        let _ = result;
        if let Some(ext) = ext {
            fetch::enter_context(ext, record::interface(ext).0);
        }
        Err(Error::PERMISSION)
    })
}

/// Knows no name: `PM_ERR_NAME` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaPMID(_name: *const c_char, _pmid: *mut pmID, _pmda: *mut pmdaExt) -> c_int {
    Error::NAME.code()
}

/// Knows no metric: `PM_ERR_PMID` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaName(_pmid: pmID, _nameset: *mut *mut *mut c_char, _pmda: *mut pmdaExt) -> c_int {
    Error::PMID.code()
}

/// Knows no name: `PM_ERR_NAME` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaChildren(
    _name: *const c_char,
    _traverse: c_int,
    _offspring: *mut *mut *mut c_char,
    _status: *mut *mut c_int,
    _pmda: *mut pmdaExt,
) -> c_int {
    Error::NAME.code()
}

/// Takes an attribute of a client and ignores it, apart from a line under `-Dattr` or `-Dauth` (FETCH-103).
///
/// # Safety
/// `value` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaAttribute(
    ctx: c_int,
    attr: c_int,
    value: *const c_char,
    _size: c_int,
    _pmda: *mut pmdaExt,
) -> c_int {
    guard(|| {
        if log::debug(Debug::Attr) || log::debug(Debug::Auth) {
            let say = |text: Option<&[u8]>| match text {
                Some(text) => {
                    log::notify_parts(Level::Info, &[Show(&format_args!("Attribute: ctx={ctx} ")), Raw(text)]);
                }
                None => {
                    log::notify_parts(Level::Err, &[Show(&format_args!("Bad attr: ctx={ctx}, attr={attr}"))]);
                }
            };
            // SAFETY: the contract is the same.
            unsafe { attribute::text(attr, value, say) };
        }
        Ok(())
    })
}
