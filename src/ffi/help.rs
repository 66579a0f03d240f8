//! The help database: `pmdaOpenHelp`, `pmdaCloseHelp`, `pmdaGetHelp`, `pmdaGetInDomHelp`,
//! `__pmdaHelpTab`.

use std::ffi::{c_char, c_int, c_void};

use super::guard::guard;
use super::types::{pmID, pmInDom};
use crate::abi::arg::CText;
use crate::agent::help;
use pmda_core::error::Error;
use pmda_core::help::Entry;
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
pub unsafe extern "C" fn pmdaOpenHelp(fname: Option<CText>) -> c_int {
    guard(|| help::open(fname.ok_or(Error::INVAL)?.bytes()))
}

/// Closes a help database and releases its texts; other handles do nothing (HELP-12).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCloseHelp(handle: c_int) {
    guard(|| help::close(handle));
}

/// Looks up a text of a metric: the one-line text when bit `PM_TEXT_ONELINE` is set in `kind`, else
/// the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-25,
/// HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetHelp(handle: c_int, pmid: pmID, kind: c_int) -> *mut c_char {
    guard(|| help::text(handle, Entry::Metric(MetricId(pmid)), kind))
}

/// Looks up a text of an instance domain: the one-line text when bit `PM_TEXT_ONELINE` is set in
/// `kind`, else the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-26,
/// HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetInDomHelp(handle: c_int, indom: pmInDom, kind: c_int) -> *mut c_char {
    guard(|| help::text(handle, Entry::InDom(InDom(indom)), kind))
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
