//! What is known about a metric: `pmdaDesc` and `pmdaText`.

use std::ffi::{c_char, c_int};

use super::guard::guard;
use super::types::{pmDesc, pmID};
use crate::abi::arg::Out;
use crate::abi::ext::Ext;
use crate::abi::table::Metric;
use crate::agent::{fetch, help, lookup, record};
use crate::libpcp::log::{self, Debug};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::report;
use pmda_core::help::Entry;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Journal;

/// `PM_TEXT_PMID`: the identifier is a metric's. Without it, it is that of an instance domain
/// (FETCH-91).
const OF_METRIC: c_int = 4;

/// Describes a metric of the table.
///
/// # Returns
/// 0, or `PM_ERR_PMID` when the table has no such metric; `desc` is untouched then.
///
/// # Safety
/// `desc` is NULL or valid for one write. `pmda` is NULL or valid, with its metric table.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDesc(pmid: pmID, desc: Out<pmDesc>, pmda: Option<Ext>) -> c_int {
    guard(|| {
        desc.set(describe(MetricId(pmid), pmda.ok_or(Error::INVAL)?)?);
        Ok(())
    })
}

/// The body of `pmdaDesc` (FETCH-80, FETCH-81).
fn describe(pmid: MetricId, ext: Ext) -> Result<pmDesc> {
    let interface = record::interface(ext);
    fetch::enter_context(ext, interface);
    let (metric, method) = lookup::find(record::fetch_state(ext)?, ext, pmid);
    let mut journal = Journal::new();
    if metric.is_none() && !interface.has_names() {
        report::undefined(&mut journal, "pmdaDesc", pmid);
    }
    if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
        let outcome = if metric.is_none() { "fail" } else { "success" };
        let method = method.name();
        journal.trace(format_args!("pmdaDesc({pmid}, ...) method={method} {outcome}\n"));
    }
    log::flush(&mut journal);
    metric.map(Metric::desc).ok_or(Error::PMID)
}

/// Gives the help text of a metric or an instance domain.
///
/// # Returns
/// 0 with `*buffer` set to a text that stays until the database is closed and must not be changed
/// or freed; `PM_ERR_TEXT` when there is none, with `*buffer` set to NULL.
///
/// # Safety
/// `buffer` is NULL or valid for one write. `pmda` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaText(
    ident: c_int,
    kind: c_int,
    buffer: Out<*mut c_char>,
    pmda: Option<Ext>,
) -> c_int {
    guard(|| -> Result<()> {
        let ext = pmda.ok_or(Error::INVAL)?;
        fetch::enter_context(ext, record::interface(ext));
        let handle = ext.help();
        let ident = ident as u32;
        let entry = if kind & OF_METRIC != 0 {
            Entry::Metric(MetricId(ident))
        } else {
            Entry::InDom(InDom(ident))
        };
        let text = help::text(handle, entry, kind);
        buffer.set(text);
        if text.is_null() { Err(Error::TEXT) } else { Ok(()) }
    })
}
