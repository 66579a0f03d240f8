//! The help databases: `pmdaOpenHelp`, `pmdaCloseHelp`, `pmdaGetHelp`, `pmdaGetInDomHelp`,
//! `__pmdaHelpTab`; and the default method for help texts, `pmdaText`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::boundary::guard;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, Out};
use crate::view::interface::Ext;
use crate::view::types::{pmID, pmInDom};
use crate::{fetch, help, state};
use pmda_core::constants::PM_TEXT_PMID;
use pmda_core::error::Error;
use pmda_core::help::HelpKey;
use pmda_core::ident::{InDom, MetricId};

/// Opens the help database that consists of the files `fname`.dir and `fname`.pag.
///
/// # Returns
/// A handle, 0 or more; `-errno` when a file cannot be read, `-EINVAL` when it is no help database
/// of version 2, is damaged, or `fname` is NULL (HELP-10, HELP-20, HELP-30).
///
/// # Safety
/// `fname` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaOpenHelp(fname: Option<CText<'_>>) -> c_int {
    guard(|token| -> Refusable<c_int> { Ok(help::open(token, fname.needed(&"fname")?.bytes())?) })
}

/// Closes a help database and releases its texts; other handles do nothing (HELP-12).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCloseHelp(handle: c_int) {
    guard(|token| help::close(token, handle));
}

/// Looks up a text of a metric: the one-line text when bit `PM_TEXT_ONELINE` is set in `kind`, else
/// the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-25,
/// HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetHelp(handle: c_int, pmid: pmID, kind: c_int) -> *mut c_char {
    guard(|token| help::text(token, handle, HelpKey::Metric(MetricId(pmid)), kind))
}

/// Looks up a text of an instance domain: the one-line text when bit `PM_TEXT_ONELINE` is set in
/// `kind`, else the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-26,
/// HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetInDomHelp(handle: c_int, indom: pmInDom, kind: c_int) -> *mut c_char {
    guard(|token| help::text(token, handle, HelpKey::InDom(InDom(indom)), kind))
}

/// The table of open help databases, for `chkhelp`.
///
/// # Returns
/// The first slot, NULL before the first open; it may move when another database is opened
/// (HELP-40, HELP-43).
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaHelpTab() -> *mut c_void {
    guard(help::table)
}

/// The entry of a metric or an instance domain: the latter without `PM_TEXT_PMID` (FETCH-91).
#[inline(always)]
fn key(ident: c_int, kind: c_int) -> HelpKey {
    let ident = ident as u32;
    if kind & PM_TEXT_PMID != 0 {
        HelpKey::Metric(MetricId(ident))
    } else {
        HelpKey::InDom(InDom(ident))
    }
}

/// Returns the help text of a metric or an instance domain: the default method for help texts.
///
/// # Returns
/// 0 with `*buffer` set to a text that stays until the database is closed and must not be changed
/// or freed; `PM_ERR_TEXT` when there is none, with `*buffer` set to NULL; `-EINVAL` when `pmda` is
/// NULL.
///
/// # Safety
/// `buffer` is NULL or valid for one write. `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaText(
    ident: c_int,
    kind: c_int,
    buffer: Out<'_, *mut c_char>,
    pmda: Option<Ext<'_>>,
) -> c_int {
    guard(|token| -> Refusable<()> {
        let ext = pmda.needed(&"pmda")?;
        fetch::enter_context(ext, state::interface(token, ext));
        let text = help::text(token, ext.help(), key(ident, kind), kind);
        // SAFETY: NULL, or the address of a text that ends in a NUL (`help::text`), in the memory of
        // an open database. That memory does not move or change until an agent closes the database
        // (`pmdaCloseHelp`), which is how long the text is promised for; C must not write to it.
        unsafe { buffer.set_pointer(text) };
        if text.is_null() {
            Err(Error::TEXT.into())
        } else {
            Ok(())
        }
    })
}
