//! `pmdaFetch`.

use std::ffi::{c_int, c_uint};

use super::drive::drive_reading;
use super::types::{pmAtomValue, pmID, pmdaExt, pmdaMetric, pmdaResult};
use crate::abi::arg::Out;
use crate::abi::block::Zeroed;
use crate::abi::ext::Ext;
use crate::abi::pmids::PmidList;
use crate::abi::table::Metric;
use crate::abi::value::Atom;
use crate::agent::fetch::{Answer, Asked, Fetch, Scratch, ToCaller};
use crate::agent::state;
use crate::error::Error;

/// Makes the calls of a fetch.
///
/// # Safety
/// The agent's callback and its desc method follow their contracts. `spare` is a metric of the driver's frame, `pmda`
/// the agent.
#[inline(always)]
pub(super) unsafe fn make(asked: Asked, spare: *mut pmdaMetric, pmda: *mut pmdaExt) -> Answer {
    // SAFETY: the functions are the agent's own and get what they expect (FETCH-22). The atom is ours, and zero before
    // each call (F-9).
    unsafe {
        if let Some(callback) = asked.callback {
            let mut atom = pmAtomValue::zeroed();
            let returned = callback(asked.metric.as_ptr(), asked.inst as c_uint, &raw mut atom);
            return Answer::Value(returned, Atom::new(atom));
        }
        if let Some((method, wanted)) = asked.method {
            method(wanted.0, &raw mut (*spare).m_desc, pmda);
        }
        Answer::Described
    }
}

/// Fetches the values of metrics through the agent's fetch callback.
///
/// # Returns
/// 0, whatever became of each metric, with `*resp` set to a result that the library keeps and uses again: the caller
/// frees its value sets, not the result. Negative when there is no memory or no callback; `*resp` is untouched then.
///
/// # Safety
/// `pmidlist` is valid for reads of `numpmid` elements. `resp` is NULL or valid for one write. `pmda` is NULL or
/// valid, with its tables, profile and callback.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaFetch(
    numpmid: c_int,
    pmidlist: *mut pmID,
    resp: *mut *mut pmdaResult,
    pmda: *mut pmdaExt,
) -> c_int {
    let mut scratch = Scratch::new();
    let mut spare = pmdaMetric::zeroed();
    let spare = &raw mut spare;
    // SAFETY: each is NULL or what the caller has handed over for the time of the call. The spare metric is in this
    // frame, which is there until the fetch is over, and only the machine and the agent have its address.
    let (list, out, ext, metric) = unsafe {
        let metric = Metric::in_frame(spare);
        (PmidList::new(pmidlist, numpmid), Out::new(resp), Ext::new(pmda), metric)
    };
    drive_reading(
        || {
            let (Some(list), Some(ext), false) = (list, ext, out.is_null()) else {
                return Err(Err(Error::INVAL));
            };
            let state = state::of(ext).map_err(Err)?;
            Ok(Fetch::new(ext, state, list, ToCaller::new(out), &mut scratch, metric))
        },
        // SAFETY: the callback and the method are the agent's, as the caller promises.
        |fetch, ()| unsafe { make(fetch.asked(), spare, pmda) },
    )
}
