//! `pmdaFetch`.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};

use crate::agent;
use crate::boundary::{CReturn, Guarded, guarded, returned, try_guarded};
use crate::fetch::{Fetch, FetchAnswer, PendingCallback};
use crate::view::arena::Arena;
use crate::view::arg::Out;
use crate::view::interface::Ext;
use crate::view::memory::{AnyBytes, Array};
use crate::view::result_block::ResultMemory;
use crate::view::table::Metric;
use crate::view::types::{pmAtomValue, pmID, pmdaMetric, pmdaResult};
use crate::view::value::Atom;
use pmda_core::error::Error;

/// Makes the next call of a fetch.
fn make(asked: PendingCallback<'_>, spare: Metric<'_>, agent: Option<Ext<'_>>) -> FetchAnswer {
    if let Some(callback) = asked.callback {
        let inst = asked.inst as c_uint;
        // Zero before each call (F-9).
        let mut atom = pmAtomValue::zeroed();
        // SAFETY: the callback was read from the agent's own structure, whose view demands that it
        // does what its type says, and it gets what it expects (FETCH-22): the atom is ours.
        let returned = unsafe { callback(asked.metric.as_ptr(), inst, &raw mut atom) };
        // SAFETY: zero, or what the callback has stored for a metric of this encoding.
        return FetchAnswer::Value(unsafe { Atom::new(atom, asked.encoding, returned) });
    }
    if let Some((method, wanted)) = asked.method {
        // SAFETY: the method was read from the agent's own structure, whose view demands that it
        // does what its type says, and the description is ours to be written.
        unsafe { method(wanted.0, spare.desc_place(), agent) };
    }
    FetchAnswer::Described
}

/// Fetches the values of metrics through the agent's fetch callback.
///
/// # Returns
/// 0, whatever became of each metric, with `*resp` set to a result that the library keeps and uses
/// again: the caller frees its value sets, not the result. Negative when there is no memory or no
/// callback; `*resp` is untouched then.
///
/// # Safety
/// `pmidlist` is valid for reads of `numpmid` elements. `resp` is NULL or valid for one write.
/// `pmda` is NULL or valid, with its tables, profile and callback.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaFetch(
    numpmid: c_int,
    pmidlist: *mut pmID,
    resp: Out<'_, *mut pmdaResult>,
    pmda: Option<Ext<'_>>,
) -> c_int {
    // SAFETY: the list is as long as the caller says for the time of the call.
    let list = unsafe { Array::new(pmidlist, numpmid) };
    returned(fetch(list, resp, pmda, None))
}

/// The body of `pmdaFetch`. With an arena, the result and all its parts are there.
pub(crate) fn fetch(
    list: Array<'_, pmID>,
    resp: Out<'_, *mut pmdaResult>,
    pmda: Option<Ext<'_>>,
    arena: Option<&mut Arena>,
) -> Guarded<c_int> {
    // A callback may leave with longjmp.
    const { assert!(!std::mem::needs_drop::<Fetch<'_>>()) };
    let mut spare = pmdaMetric::zeroed();
    let spare = Metric::in_frame(&mut spare);
    let mut place = None;
    let (fetch, mut is_asking) = try_guarded(|token| {
        let is_list = list.count() == 0 || (list.count() > 0 && !list.first().is_null());
        let (true, Some(ext), false) = (is_list, pmda, resp.is_null()) else {
            return Err(Error::EINVAL);
        };
        let agent = agent::of_any(token, ext)?;
        let memory = arena.map_or(ResultMemory::Malloc(&agent.results), ResultMemory::Arena);
        let fetch = place.insert(Fetch::new(token, ext, agent, list, resp, memory, spare)?);
        let is_asking = fetch.start(token);
        Ok((fetch, is_asking))
    })?;
    while is_asking {
        let answer = make(fetch.asked(), spare, pmda);
        is_asking = guarded(|token| fetch.resume(token, answer))?;
    }
    Ok(fetch.outcome.into_c())
}
