//! The stock methods that need no data: profile, store, names and attributes.

use std::ffi::{c_char, c_int};

use super::guard::guard;
use super::types::{pmID, pmProfile, pmdaResult};
use crate::abi::arg::{CText, Out};
use crate::abi::ext::Ext;
use crate::agent::{fetch, record, selection};
use crate::libpcp::attribute::Text;
use crate::libpcp::log::{self, Debug};
use pmda_core::error::{Error, Result};
use pmda_core::log::{Bytes, Level};

/// Remembers the profile for the fetches to come. It stays the caller's, who keeps it alive
/// (FETCH-100).
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaProfile(prof: *mut pmProfile, pmda: Option<Ext>) -> c_int {
    guard(|| {
        let ext = pmda.ok_or(Error::INVAL)?;
        ext.set_profile_ptr(prof);
        selection::forget(record::fetch_state(ext)?);
        Ok(())
    })
}

/// Refuses to store anything: `PM_ERR_PERMISSION` (FETCH-101).
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaStore(result: *mut pmdaResult, pmda: Option<Ext>) -> c_int {
    guard(|| -> Result<()> {
        let _ = result;
        if let Some(ext) = pmda {
            fetch::enter_context(ext, record::interface(ext));
        }
        Err(Error::PERMISSION)
    })
}

/// Knows no name: `PM_ERR_NAME` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaPMID(_name: Option<CText>, _pmid: Out<pmID>, _pmda: Option<Ext>) -> c_int {
    Error::NAME.code()
}

/// Knows no metric: `PM_ERR_PMID` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaName(_pmid: pmID, _nameset: Out<*mut *mut c_char>, _pmda: Option<Ext>) -> c_int {
    Error::PMID.code()
}

/// Knows no name: `PM_ERR_NAME` (FETCH-102).
///
/// # Safety
/// Nothing is read or written.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaChildren(
    _name: Option<CText>,
    _traverse: c_int,
    _offspring: Out<*mut *mut c_char>,
    _status: Out<*mut c_int>,
    _pmda: Option<Ext>,
) -> c_int {
    Error::NAME.code()
}

/// Takes an attribute of a client and ignores it, apart from a line under `-Dattr` or `-Dauth`
/// (FETCH-103).
///
/// # Safety
/// `value` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaAttribute(
    ctx: c_int,
    attr: c_int,
    value: Option<CText>,
    _size: c_int,
    _pmda: Option<Ext>,
) -> c_int {
    guard(|| {
        if log::debug(Debug::Attr) || log::debug(Debug::Auth) {
            match Text::new(attr, value.as_ref().map_or(c"", CText::c_str)) {
                Some(text) => log::notify!(Level::Info, "Attribute: ctx={ctx} {}", Bytes(text.bytes())),
                None => log::notify!(Level::Err, "Bad attr: ctx={ctx}, attr={attr}"),
            }
        }
        Ok(())
    })
}
