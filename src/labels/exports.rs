//! Labels: `pmdaLabel`, `pmdaAddLabelFlags`, and the function that `pmdaAddLabels` and
//! `pmdaAddNotes` of `capi/shim.c` call.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::boundary::{Guarded, guard, returned, try_guarded};
use crate::labels::{InstanceLabels, LabelAnswer, add};
use crate::sys::refusal::Refusable;
use crate::view::arg::Needed;
use crate::view::buffer::CBytes;
use crate::view::interface::Ext;
use crate::view::label_set::{LabelSet, LabelSets};
use pmda_core::constants::PM_LABEL_OPTIONAL;
use pmda_core::error::Error;

/// The work of `pmdaAddLabels` and `pmdaAddNotes` after formatting, for `capi/shim.c`: adds the
/// labels of `text`, with the flag of optional ones if `notes` is not 0 (LABEL-31).
///
/// # Returns
/// The number of labels in the set afterwards; `-EINVAL` when `sets` is NULL; other negative codes
/// as `pmdaAddLabels`.
///
/// # Safety
/// `sets` is NULL or valid, and `*sets` is NULL or a valid set from the heap; `text` has `length`
/// bytes.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcp_pmda_add(
    sets: Option<LabelSets<'_>>,
    text: *const c_char,
    length: usize,
    notes: c_int,
) -> c_int {
    // SAFETY: the text has `length` bytes, as the caller promises: the shim has written it on its
    // stack, where it stays until this call returns.
    let text = unsafe { CBytes::with_len(text, length) };
    let (caller, flags) = if notes == 0 {
        ("pmdaAddLabels", 0)
    } else {
        ("pmdaAddNotes", PM_LABEL_OPTIONAL as u8)
    };
    guard(|token| add(token, caller, sets.ok_or(Error::EINVAL)?, text.bytes(), flags))
}

/// Returns the labels of a context, a domain, an instance domain, a cluster, an item, or the
/// instances of a domain: the default method for label requests.
///
/// # Returns
/// The number of sets in `*lpp`; `PM_ERR_TYPE` for an unknown type; `-EINVAL` when `lpp` or `pmda`
/// is NULL; other negative codes (LABEL-10 to LABEL-20).
///
/// # Safety
/// `lpp` is NULL or valid for reads and writes; `*lpp` is NULL or a valid label set, or anything
/// for a request for instances, which replaces it. `pmda` is NULL or valid; its label callback
/// stores blocks from malloc in the set that it gets.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaLabel(
    ident: c_int,
    kind: c_int,
    lpp: Option<LabelSets<'_>>,
    pmda: Option<Ext<'_>>,
) -> c_int {
    let (sets, ext) = match (lpp, pmda) {
        (Some(sets), Some(ext)) => (sets, ext),
        (lpp, pmda) => {
            return guard(|_| -> Refusable<()> {
                lpp.needed(&"lpp")?;
                pmda.needed(&"pmda").map(drop)
            });
        }
    };
    let label = || -> Guarded<c_int> {
        let begun = try_guarded(
            |token| match InstanceLabels::new(token, ident as u32, kind, sets, ext) {
                Ok(labels) => Ok(Ok(labels)),
                Err(outcome) => outcome.map(Err),
            },
        )?;
        let mut labels = match begun {
            Ok(labels) => labels,
            Err(count) => return Ok(count),
        };
        let mut answer = None;
        while let Some(call) = try_guarded(|token| labels.step(token, answer))? {
            let mut set = call.set;
            // SAFETY: the callback was read from the agent's extension, whose contract says that it
            // does what its type says. It gets the address of an empty set of ours, which stays
            // until the next step. This frame has nothing to drop.
            let status = unsafe { (call.callback)(call.indom.0, call.inst as u32, &raw mut set) };
            let other = status > 0 && set != call.set;
            // SAFETY: a callback that returns a positive status has stored NULL or a valid set.
            // It is read, and neither changed nor freed, before any other code runs.
            let replacement = other.then(|| unsafe { LabelSet::shared(set) }).flatten();
            answer = Some(LabelAnswer { status, replacement });
        }
        Ok(labels.count)
    };
    returned(label())
}

/// Sets flags in every label of a set.
///
/// # Returns
/// 1, or 0 when `set` is NULL (LABEL-45).
///
/// # Safety
/// `set` is NULL or a valid label set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaAddLabelFlags(set: Option<&mut LabelSet>, flags: c_int) -> c_int {
    guard(|_| {
        set.map_or(0, |set| {
            set.add_flags(flags as u8);
            1
        })
    })
}
