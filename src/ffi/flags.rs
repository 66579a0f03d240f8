//! Flags of an agent, and the pointer that it may attach: `pmdaSetFlags`, `pmdaSetData` and friends.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use super::guard::guard;
use super::types::{pmdaExt, pmdaInterface};
use super::{arg, private};
use crate::error::Error;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::Level;
use crate::log::Part::{Raw, Show};
use crate::setup;

/// The `pmdaExt` of an agent whose interface version exists; else says so in the name of `function` (INIT-47).
///
/// # Safety
/// `dispatch` is NULL or valid.
unsafe fn extension(dispatch: *mut pmdaInterface, function: &str) -> Option<*mut pmdaExt> {
    if dispatch.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence valid by the contract above.
    unsafe {
        let (interface, domain) = ((*dispatch).comm.interface(), (*dispatch).domain);
        if !setup::supported(interface) {
            log::notify!(
                Level::Crit,
                "{function}: PMDA interface version {interface} not supported (domain={domain})"
            );
            (*dispatch).status = Error::GENERIC.code();
            return None;
        }
        Some((*dispatch).ext).filter(|ext| !ext.is_null())
    }
}

/// Adds `PMDA_EXT_*` flags to an agent; there is no way to take one away (INIT-47).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFlags(dispatch: *mut pmdaInterface, flags: c_int) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "pmdaSetFlags") {
                add_flags(ext, flags as c_uint);
            }
        }
    });
}

/// As `pmdaSetFlags`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetFlags(pmda: *mut pmdaExt, flags: c_int) {
    guard(|| {
        if !pmda.is_null() {
            // SAFETY: not NULL, hence valid by the contract above.
            unsafe { add_flags(pmda, flags as c_uint) };
        }
    });
}

/// Adds `PMDA_FLAG_*` flags to what the agent tells pmcd when it connects; call it before `pmdaConnect` (INIT-48).
///
/// # Safety
/// `dispatch` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCommFlags(dispatch: *mut pmdaInterface, flags: c_int) {
    guard(|| {
        if !dispatch.is_null() {
            // SAFETY: not NULL, hence valid by the contract above.
            unsafe {
                let comm = (*dispatch).comm;
                (*dispatch).comm = comm.with_flags(comm.flags() | (flags as c_uint & 0xffff));
            }
            if log::debug(Debug::Libpmda) {
                let before = Raw(b"pmdaSetCommFlags: flags=");
                if SINCE_6_0_5 {
                    log::debug_parts(&[before, Show(&log::hex(flags as c_uint))]);
                } else {
                    log::debug_parts(&[before, Show(&format_args!("{flags:x}"))]);
                }
            }
        }
    });
}

/// Attaches a pointer of the agent's own, which replaces the one before; the library never looks at it (INIT-49).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetData(dispatch: *mut pmdaInterface, data: *mut c_void) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "pmdaSetData") {
                attach(ext, data);
            }
        }
    });
}

/// As `pmdaSetData`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetData(pmda: *mut pmdaExt, data: *mut c_void) {
    guard(|| {
        // SAFETY: the contract is the same.
        unsafe { attach(pmda, data) };
    });
}

/// The pointer that the agent has attached, at first NULL.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtGetData(pmda: *mut pmdaExt) -> *mut c_void {
    guard(|| {
        // SAFETY: the contract is the same.
        let record = unsafe { private::of(pmda) };
        record.map_or(ptr::null_mut(), |record| record.user.load(Ordering::Acquire))
    })
}

/// The body of [`pmdaSetFlags`] and [`pmdaExtSetFlags`].
///
/// # Safety
/// `ext` is valid.
unsafe fn add_flags(ext: *mut pmdaExt, flags: c_uint) {
    // SAFETY: valid by the contract above.
    unsafe { (*ext).e_flags |= flags };
    if log::debug(Debug::Libpmda) {
        log::debug_parts(&[Show(&format_args!("pmdaExtSetFlags: flags={flags:x}"))]);
    }
}

/// The body of [`pmdaSetData`] and [`pmdaExtSetData`].
///
/// # Safety
/// `ext` is NULL or valid.
unsafe fn attach(ext: *mut pmdaExt, data: *mut c_void) {
    // SAFETY: the contract is the same.
    if let Some(record) = unsafe { private::of(ext) } {
        record.user.store(data, Ordering::Release);
        if log::debug(Debug::Libpmda) {
            log::debug_parts(&[Raw(b"pmdaExtSetData: data="), Show(&arg::Pointer(data))]);
        }
    }
}
