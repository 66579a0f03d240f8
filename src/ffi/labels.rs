//! Labels: `pmdaLabel`, `pmdaAddLabelFlags`, and what is behind `pmdaAddLabels` and `pmdaAddNotes` of `capi/shim.c`.

use std::ffi::{c_char, c_int};

use super::guard::{guard, inner};
use super::types::{pmLabelSet, pmdaExt};
use super::{label_request, label_set};
use crate::error::Result;
use crate::libpcp::log::{self, Debug};
use crate::log::Level;
use crate::log::Part::{Raw, Show};

/// `PM_LABEL_OPTIONAL`: the flag of notes.
const OPTIONAL: u8 = 0x80;

/// `pmdaAddLabels` after formatting: adds the labels of `text` (LABEL-31). The shim has marked the thread as inside.
///
/// # Safety
/// As [`add`].
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcp_pmda_add_labels(sets: *mut *mut pmLabelSet, text: *const c_char, length: usize) -> c_int {
    // SAFETY: as the contract above says.
    inner(|| unsafe { add("pmdaAddLabels", sets, text, length, 0) })
}

/// `pmdaAddNotes` after formatting: adds the labels of `text` as optional ones (LABEL-31).
///
/// # Safety
/// As [`add`].
#[doc(hidden)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcp_pmda_add_notes(sets: *mut *mut pmLabelSet, text: *const c_char, length: usize) -> c_int {
    // SAFETY: as the contract above says.
    inner(|| unsafe { add("pmdaAddNotes", sets, text, length, OPTIONAL) })
}

/// Adds labels and says what went wrong (LABEL-39).
///
/// # Safety
/// `sets` is valid for reads and writes, and `*sets` is NULL or a valid set from the heap; `text` has `length` bytes.
unsafe fn add(
    caller: &str,
    sets: *mut *mut pmLabelSet,
    text: *const c_char,
    length: usize,
    flags: u8,
) -> Result<c_int> {
    // SAFETY: as the contract above says; the text is used only during the call.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    if log::debug(Debug::Labels) {
        log::trace_parts(&[Show(&caller), Raw(b": "), Raw(text), Raw(b"\n")]);
    }
    // SAFETY: as the contract above says.
    let added = unsafe { label_set::add(sets, text, flags) };
    if let Err(error) = added {
        let reason = log::errstr(error);
        let parts = [
            Show(&caller),
            Raw(b": "),
            Raw(text),
            Raw(b" ("),
            Show(&reason),
            Raw(b")"),
        ];
        log::notify_parts(Level::Err, &parts);
    }
    added
}

/// Gives the labels of a context, a domain, an instance domain, a cluster, an item, or the instances of a domain: the default
/// method for label requests.
///
/// # Returns
/// The number of sets in `*lpp`; `PM_ERR_TYPE` for what is no type; `-EINVAL` when `lpp` or `pmda` is NULL; other
/// negative codes (LABEL-10 to LABEL-20).
///
/// # Safety
/// `lpp` is NULL or valid for reads and writes; `*lpp` is NULL or a valid label set, or anything for a request for
/// instances, which replaces it. `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaLabel(ident: c_int, kind: c_int, lpp: *mut *mut pmLabelSet, pmda: *mut pmdaExt) -> c_int {
    // SAFETY: as the contract above says.
    guard(|| unsafe { label_request::request(ident as u32, kind, lpp, pmda) })
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
    // SAFETY: NULL or valid, as the contract above says.
    guard(|| unsafe { label_set::add_flags(set, flags as u8) })
}
