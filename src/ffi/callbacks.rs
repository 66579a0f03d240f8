//! `pmdaSet…CallBack`: functions of the agent that the library calls.

use std::ffi::c_int;

use super::guard::guard;
use super::types::{
    pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack, pmdaExt, pmdaFetchCallBack, pmdaInterface,
    pmdaLabelCallBack, pmdaResultCallBack,
};
use crate::error::Error;
use crate::libpcp::log;
use crate::log::Level;
use crate::setup;

/// The `pmdaExt` to set a callback in, if the interface version has it; else says so (INIT-50).
///
/// # Safety
/// `dispatch` is NULL or valid; so is its `ext`.
unsafe fn extension(dispatch: *mut pmdaInterface, what: &str, has: impl Fn(u32) -> bool) -> Option<*mut pmdaExt> {
    if dispatch.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence valid by the contract above.
    unsafe {
        let interface = (*dispatch).comm.interface();
        if !has(interface) {
            log::notify!(
                Level::Crit,
                "Unable to set {what} callback for PMDA interface version {interface}."
            );
            (*dispatch).status = Error::GENERIC.code() as c_int;
            return None;
        }
        Some((*dispatch).ext).filter(|ext| !ext.is_null())
    }
}

/// Sets the callback that cleans up a result after it was sent; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetResultCallBack(dispatch: *mut pmdaInterface, callback: pmdaResultCallBack) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "result", setup::supported) {
                (*ext).e_resultCallBack = callback;
            }
        }
    });
}

/// Sets the callback that gives `pmdaFetch` one value.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFetchCallBack(dispatch: *mut pmdaInterface, callback: pmdaFetchCallBack) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "fetch", setup::supported) {
                (*ext).e_fetchCallBack = callback;
            }
        }
    });
}

/// Sets the callback that runs when a PDU has arrived; a negative result refuses it. NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCheckCallBack(dispatch: *mut pmdaInterface, callback: pmdaCheckCallBack) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "check", setup::supported) {
                (*ext).e_checkCallBack = callback;
            }
        }
    });
}

/// Sets the callback that runs when a PDU has been served; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetDoneCallBack(dispatch: *mut pmdaInterface, callback: pmdaDoneCallBack) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "done", setup::supported) {
                (*ext).e_doneCallBack = callback;
            }
        }
    });
}

/// Sets the callback that runs when a client context ends. It needs interface version 5 or more, also one that does not
/// exist yet; NULL is always accepted.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetEndContextCallBack(dispatch: *mut pmdaInterface, callback: pmdaEndContextCallBack) {
    guard(|| {
        let has = |interface| callback.is_none() || interface >= 5;
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "end context", has) {
                (*ext).e_endCallBack = callback;
            }
        }
    });
}

/// Sets the callback that gives the labels of one instance; NULL for none. It needs interface version 7 or
/// more.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetLabelCallBack(dispatch: *mut pmdaInterface, callback: pmdaLabelCallBack) {
    guard(|| {
        // SAFETY: the contract is passed on; the extension is valid.
        unsafe {
            if let Some(ext) = extension(dispatch, "label", |interface| interface >= 7) {
                (*ext).e_labelCallBack = callback;
            }
        }
    });
}
