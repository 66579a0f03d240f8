//! `pmdaInit`.

use std::ffi::c_int;

use super::guard::guard;
use super::setup::DEFAULT_METHODS;
use super::types::{pmdaIndom, pmdaMetric};
use crate::abi::dispatch::Dispatch;
use crate::abi::table::{IndomTable, MetricTable};
use crate::agent::setup::init;

/// Gives an agent its instance domains and metrics; the tables stay the agent's and in use for
/// ever.
///
/// The agent's domain is put into every identifier of both tables. `dispatch->status` is 0
/// afterwards (or what the agent has put into `e_status`), or `PM_ERR_GENERIC` with a line in the
/// log.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up; `indoms` and
/// `metrics` are each NULL or valid for reads and writes of as many elements as the counts say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInit(
    dispatch: Option<Dispatch>,
    indoms: *mut pmdaIndom,
    nindoms: c_int,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) {
    // SAFETY: the caller gives tables of these lengths, which it leaves alone during the call.
    let (indoms, metrics) = unsafe { (IndomTable::new(indoms, nindoms), MetricTable::new(metrics, nmetrics)) };
    guard(|| {
        if let Some(dispatch) = dispatch {
            init::init(dispatch, indoms, metrics, &DEFAULT_METHODS);
        }
    });
}
