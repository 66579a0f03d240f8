//! `pmdaInit`.

use std::ffi::c_int;

use super::guard::guard;
use super::setup::DEFAULT_METHODS;
use super::types::{pmdaIndom, pmdaInterface, pmdaMetric};
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
    dispatch: *mut pmdaInterface,
    indoms: *mut pmdaIndom,
    nindoms: c_int,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) {
    // SAFETY: the caller gives NULL or the table of an agent that was set up, and tables of these
    // lengths that it leaves alone during the call.
    let (dispatch, indoms, metrics) = unsafe {
        let tables = (IndomTable::new(indoms, nindoms), MetricTable::new(metrics, nmetrics));
        (Dispatch::new(dispatch), tables.0, tables.1)
    };
    guard(|| {
        if let Some(dispatch) = dispatch {
            init::init(dispatch, indoms, metrics, &DEFAULT_METHODS);
        }
    });
}
