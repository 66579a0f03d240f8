//! What is known about a metric: `pmdaDesc` and `pmdaText`.

use std::ffi::{c_char, c_int};
use std::ptr;

use super::guard::guard;
use super::metric;
use super::types::{pmDesc, pmID, pmdaExt};
use super::{arg, fetch_state, help, private};
use crate::context;
use crate::error::{Error, Result};
use crate::fetch::report;
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::log::Journal;

/// From this interface version on unknown metrics are not reported (FETCH-23, FETCH-80).
pub(super) const QUIET_SINCE: u32 = 4;

/// `PM_TEXT_PMID`: the identifier is a metric's. Without it, it is that of an instance domain (FETCH-91).
const OF_METRIC: c_int = 4;

/// Makes the context of the request known to the agent, from interface 5 on (FETCH-80, MAIN-25).
///
/// # Safety
/// `ext` is valid.
pub(super) unsafe fn enter_context(ext: *const pmdaExt, interface: u32) {
    if interface >= 5 {
        // SAFETY: valid by the contract above.
        context::set_current(unsafe { (*ext).e_context });
    }
}

/// Describes a metric of the table.
///
/// # Returns
/// 0, or `PM_ERR_PMID` when the table has no such metric; `desc` is untouched then.
///
/// # Safety
/// `desc` is NULL or valid for one write. `pmda` is NULL or valid, with its metric table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDesc(pmid: pmID, desc: *mut pmDesc, pmda: *mut pmdaExt) -> c_int {
    guard(|| {
        if pmda.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: not NULL, hence valid by the contract above.
        unsafe { describe(MetricId(pmid), desc, pmda) }
    })
}

/// The body of `pmdaDesc` (FETCH-80, FETCH-81).
///
/// # Safety
/// As `pmdaDesc`, and `ext` is not NULL.
unsafe fn describe(pmid: MetricId, desc: *mut pmDesc, ext: *mut pmdaExt) -> Result<()> {
    // SAFETY: valid by the contract above.
    let (interface, found) = unsafe {
        let interface = private::interface(ext);
        enter_context(ext, interface);
        (interface, metric::find(fetch_state::of(ext), ext, pmid))
    };
    let mut journal = Journal::new();
    if !found.metric.is_null() {
        // SAFETY: an entry of the agent's table; `desc` as the contract says.
        unsafe { arg::store(desc, (*found.metric).m_desc) };
    } else if interface < QUIET_SINCE {
        report::undefined(&mut journal, "pmdaDesc", pmid);
    }
    if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
        let outcome = if found.metric.is_null() { "fail" } else { "success" };
        journal.trace(format_args!(
            "pmdaDesc({pmid}, ...) method={} {outcome}\n",
            found.method.name()
        ));
    }
    log::flush(&mut journal);
    if found.metric.is_null() {
        Err(Error::PMID)
    } else {
        Ok(())
    }
}

/// Gives the help text of a metric or an instance domain.
///
/// # Returns
/// 0 with `*buffer` set to a text that stays until the database is closed and must not be changed or freed;
/// `PM_ERR_TEXT` when there is none, with `*buffer` set to NULL.
///
/// # Safety
/// `buffer` is NULL or valid for one write. `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaText(ident: c_int, kind: c_int, buffer: *mut *mut c_char, pmda: *mut pmdaExt) -> c_int {
    guard(|| -> Result<()> {
        if pmda.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: not NULL, hence valid by the contract above.
        let handle = unsafe {
            enter_context(pmda, private::interface(pmda));
            (*pmda).e_help
        };
        let ident = ident as u32;
        let text = match handle {
            ..0 => ptr::null_mut(),
            _ if kind & OF_METRIC != 0 => help::metric_text(handle, MetricId(ident), kind),
            _ => help::indom_text(handle, InDom(ident), kind),
        };
        // SAFETY: NULL or valid for one write by the contract above.
        unsafe { arg::store(buffer, text) };
        if text.is_null() { Err(Error::TEXT) } else { Ok(()) }
    })
}
