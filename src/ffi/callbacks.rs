//! `pmdaSet…CallBack`: functions of the agent that the library calls.

use super::guard::guard;
use super::types::{
    pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack, pmdaFetchCallBack, pmdaLabelCallBack,
    pmdaResultCallBack,
};
use crate::abi::dispatch::Dispatch;
use crate::abi::ext::Ext;
use crate::agent::setup::set_callback;
use pmda_core::setup::Interface;

/// Sets the callback that cleans up a result after it was sent; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetResultCallBack(dispatch: Option<Dispatch>, callback: pmdaResultCallBack) {
    let set = |ext: Ext| ext.set_result_callback(callback);
    guard(|| set_callback(dispatch, "result", Interface::is_supported, set));
}

/// Sets the callback that gives `pmdaFetch` one value.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetFetchCallBack(dispatch: Option<Dispatch>, callback: pmdaFetchCallBack) {
    let set = |ext: Ext| ext.set_fetch_callback(callback);
    guard(|| set_callback(dispatch, "fetch", Interface::is_supported, set));
}

/// Sets the callback that runs when a PDU has arrived; a negative result refuses it. NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetCheckCallBack(dispatch: Option<Dispatch>, callback: pmdaCheckCallBack) {
    let set = |ext: Ext| ext.set_check_callback(callback);
    guard(|| set_callback(dispatch, "check", Interface::is_supported, set));
}

/// Sets the callback that runs when a PDU has been served; NULL for none.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetDoneCallBack(dispatch: Option<Dispatch>, callback: pmdaDoneCallBack) {
    let set = |ext: Ext| ext.set_done_callback(callback);
    guard(|| set_callback(dispatch, "done", Interface::is_supported, set));
}

/// Sets the callback that runs when a client context ends. It needs interface version 5 or more,
/// also one that does not exist yet; NULL is always accepted.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetEndContextCallBack(dispatch: Option<Dispatch>, callback: pmdaEndContextCallBack) {
    let has = |interface: Interface| callback.is_none() || interface.has_contexts();
    guard(|| set_callback(dispatch, "end context", has, |ext| ext.set_end_callback(callback)));
}

/// Sets the callback that gives the labels of one instance; NULL for none. It needs interface
/// version 7 or more.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSetLabelCallBack(dispatch: Option<Dispatch>, callback: pmdaLabelCallBack) {
    let set = |ext: Ext| ext.set_label_callback(callback);
    guard(|| set_callback(dispatch, "label", Interface::has_labels, set));
}
