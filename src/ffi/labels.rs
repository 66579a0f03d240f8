//! Labels: `pmdaLabel`, `pmdaAddLabelFlags`, and what is behind `pmdaAddLabels` and `pmdaAddNotes`
//! of `capi/shim.c`.

use std::ffi::{c_char, c_int};

use super::drive::drive;
use super::guard::{guard, inner};

use super::types::{pmLabelSet, pmdaExt};
use crate::abi::buffer::CBytes;
use crate::abi::ext::Ext;
use crate::abi::label_set::{LabelSet, LabelSets};
use crate::agent::label_request::{Answer, Call, Request};
use crate::agent::labels::add;

/// `PM_LABEL_OPTIONAL`: the flag of notes.
const OPTIONAL: u8 = 0x80;

/// `pmdaAddLabels` after formatting: adds the labels of `text` (LABEL-31). The shim has marked the
/// thread as inside.
///
/// # Safety
/// `sets` is valid for reads and writes, and `*sets` is NULL or a valid set from the heap; `text`
/// has `length` bytes.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcp_pmda_add_labels(sets: *mut *mut pmLabelSet, text: *const c_char, length: usize) -> c_int {
    // SAFETY: the shim has checked `sets`, whose set is the agent's, and has written the text,
    // which it frees later.
    let (sets, text) = unsafe { (LabelSets::new(sets), CBytes::with_len(text, length)) };
    inner(|| add("pmdaAddLabels", sets, text.bytes(), 0))
}

/// `pmdaAddNotes` after formatting: adds the labels of `text` as optional ones (LABEL-31).
///
/// # Safety
/// As `pcp_pmda_add_labels`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcp_pmda_add_notes(sets: *mut *mut pmLabelSet, text: *const c_char, length: usize) -> c_int {
    // SAFETY: the shim has checked `sets`, whose set is the agent's, and has written the text,
    // which it frees later.
    let (sets, text) = unsafe { (LabelSets::new(sets), CBytes::with_len(text, length)) };
    inner(|| add("pmdaAddNotes", sets, text.bytes(), OPTIONAL))
}

/// Gives the labels of a context, a domain, an instance domain, a cluster, an item, or the
/// instances of a domain: the default method for label requests.
///
/// # Returns
/// The number of sets in `*lpp`; `PM_ERR_TYPE` for what is no type; `-EINVAL` when `lpp` or `pmda`
/// is NULL; other negative codes (LABEL-10 to LABEL-20).
///
/// # Safety
/// `lpp` is NULL or valid for reads and writes; `*lpp` is NULL or a valid label set, or anything
/// for a request for instances, which replaces it. `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaLabel(
    ident: c_int,
    kind: c_int,
    lpp: *mut *mut pmLabelSet,
    pmda: *mut pmdaExt,
) -> c_int {
    // SAFETY: NULL, or the caller's place for sets, and the agent that is asked. The callback is
    // the agent's: it gets an empty set of the machine's, and what it stores with a positive status
    // is NULL or a set.
    unsafe {
        let (sets, ext) = (LabelSets::at(lpp), Ext::new(pmda));
        drive(
            || Request::new(ident as u32, kind, sets, ext),
            |call: Call| {
                let mut place = call.set.as_ptr();
                let status = (call.callback)(call.indom.0, call.inst as u32, &raw mut place);
                let given = if status > 0 { LabelSet::new(place) } else { None };
                Answer { status, given }
            },
        )
    }
}

/// Sets flags in every label of a set.
///
/// # Returns
/// 1, or 0 when `set` is NULL (LABEL-45).
///
/// # Safety
/// `set` is NULL or a valid label set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaAddLabelFlags(set: *mut pmLabelSet, flags: c_int) -> c_int {
    // SAFETY: the caller gives NULL or a set; no C code runs while the view is in use.
    let set = unsafe { LabelSet::new(set) };
    guard(|| {
        set.map_or(0, |set| {
            set.add_flags(flags as u8);
            1
        })
    })
}
