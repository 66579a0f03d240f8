//! `pmdaFetch`: the default method for fetches, and the calls into the agent that a fetch consists
//! of.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};

use crate::boundary::{CReturn, Guarded, guard, guarded, returned, try_guarded};
use crate::fetch::{Fetch, FetchAnswer, PendingCallback};
use crate::state;
use crate::sys::refusal::{Refusable, Refusal};
use crate::view::arg::{Needed, Out};
use crate::view::interface::Ext;
use crate::view::memory::{AnyBytes, Array};
use crate::view::result_block::Arena;
use crate::view::result_block::ResultMemory;
use crate::view::table::Metric;
use crate::view::types::{pmAtomValue, pmID, pmdaMetric, pmdaResult};
use crate::view::value::Atom;
use pmda_core::error::Error;

/// Makes the next call of a fetch: of the fetch callback for a value, or of the `desc` method for a
/// description, which goes into `spare`.
fn make(pending: PendingCallback<'_>, spare: Metric<'_>, agent: Option<Ext<'_>>) -> FetchAnswer {
    if let Some(callback) = pending.callback {
        let inst = pending.inst as c_uint;
        // Zero before each call (F-9).
        let mut atom = pmAtomValue::zeroed();
        // SAFETY: the callback was read from the agent's extension, whose contract says that it
        // does what its type says. It gets a metric of the agent's table, or ours, and an atom in
        // this frame (FETCH-22). This frame has nothing to drop.
        let returned = unsafe { callback(pending.metric.as_ptr(), inst, &raw mut atom) };
        // SAFETY: the atom was zero. The callback has stored nothing, or what its type demands for
        // a metric with this type of values, and `returned` says whether it is from malloc.
        return FetchAnswer::Value(unsafe { Atom::new(atom, pending.encoding, returned) });
    }
    if let Some((method, wanted)) = pending.method {
        // SAFETY: the method was read from the agent's dispatch table, whose contract says that it
        // does what its type says. The description is in a frame of ours.
        unsafe { method(wanted.0, spare.desc_out(), agent) };
    }
    FetchAnswer::Described
}

/// Fetches the values of metrics by calls of the agent's fetch callback.
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
    // SAFETY: a list of that length for the time of the call, as the caller promises.
    let list = unsafe { Array::new(pmidlist, numpmid) };
    let is_whole = !resp.is_null() && (numpmid <= 0 || !pmidlist.is_null());
    let Some(ext) = pmda.filter(|_| is_whole) else {
        // A step of its own, which has the name of this function for the line about the argument.
        return guard(|_| -> Refusable<c_int> {
            resp.needed(&"resp")?;
            pmda.needed(&"pmda")?;
            Err(Refusal::of(&"pmidlist", Error::EINVAL))
        });
    };
    returned(fetch(list, resp, ext, None))
}

/// The body of `pmdaFetch`: the steps of a fetch, and the calls between them. With an arena, the
/// result and all its parts are in that.
///
/// # Errors
/// Those of [`guarded`], `-EINVAL` for a negative number of metrics, `-ENOMEM`.
pub(crate) fn fetch(
    list: Array<'_, pmID>,
    resp: Out<'_, *mut pmdaResult>,
    ext: Ext<'_>,
    arena: Option<&mut Arena>,
) -> Guarded<c_int> {
    // A callback may leave by longjmp.
    const { assert!(!std::mem::needs_drop::<Fetch<'_>>()) };
    let mut spare = pmdaMetric::zeroed();
    let spare = Metric::in_frame(&mut spare);
    let mut frame = None;
    let (fetch, mut is_asking) = try_guarded(|token| {
        if list.count() < 0 {
            return Err(Error::EINVAL);
        }
        let agent = state::any_agent(token, ext)?;
        let memory = arena.map_or(ResultMemory::Malloc(&agent.results), ResultMemory::Arena);
        let fetch = frame.insert(Fetch::new(token, ext, agent, list, resp, memory, spare)?);
        let is_asking = fetch.start(token);
        Ok((fetch, is_asking))
    })?;
    while is_asking {
        let answer = make(fetch.pending(), spare, Some(ext));
        is_asking = guarded(|token| fetch.resume(token, answer))?;
    }
    Ok(fetch.outcome.into_c())
}
