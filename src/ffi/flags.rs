//! Flags of an agent, and the pointer that it may attach: `pmdaSetFlags`, `pmdaSetData` and
//! friends.

use std::ffi::{c_int, c_uint, c_void};

use super::guard::guard;
use crate::abi::dispatch::Dispatch;
use crate::abi::ext::Ext;
use crate::agent::setup;

/// Adds `PMDA_EXT_*` flags to an agent; there is no way to take one away (INIT-47).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFlags(dispatch: Option<Dispatch>, flags: c_int) {
    guard(|| setup::add_flags(setup::supported(dispatch, "pmdaSetFlags"), flags as c_uint));
}

/// As `pmdaSetFlags`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetFlags(pmda: Option<Ext>, flags: c_int) {
    guard(|| setup::add_flags(pmda, flags as c_uint));
}

/// Adds `PMDA_FLAG_*` flags to what the agent tells pmcd when it connects; call it before
/// `pmdaConnect` (INIT-48).
///
/// # Safety
/// `dispatch` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCommFlags(dispatch: Option<Dispatch>, flags: c_int) {
    guard(|| setup::add_comm_flags(dispatch, flags as c_uint));
}

/// Attaches a pointer of the agent's own, which replaces the one before; the library never looks at
/// it (INIT-49).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetData(dispatch: Option<Dispatch>, data: *mut c_void) {
    guard(|| setup::attach(setup::supported(dispatch, "pmdaSetData"), data));
}

/// As `pmdaSetData`, for callers that have only the extension.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtSetData(pmda: Option<Ext>, data: *mut c_void) {
    guard(|| setup::attach(pmda, data));
}

/// The pointer that the agent has attached, at first NULL.
///
/// # Safety
/// `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtGetData(pmda: Option<Ext>) -> *mut c_void {
    guard(|| setup::attached(pmda))
}
