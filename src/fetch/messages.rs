//! What a fetch says in the log.

use std::ffi::c_int;

use crate::fetch::{Current, List};
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use pmda_core::error::Error;
use pmda_core::fetch::report::{self, Style};
use pmda_core::ident::MetricId;
use pmda_core::log::Journal;

/// Debug output for a call (FETCH-110).
#[cold]
pub(super) fn trace_call(list: &impl List) {
    match list.len() {
        0 => log::trace!("pmdaFetch(0, ...) called\n"),
        1 => log::trace!("pmdaFetch(1, pmid[0] {}, ...) called\n", list.pmid(0)),
        count => {
            let (first, end, last) = (list.pmid(0), count - 1, list.pmid(count - 1));
            log::trace!("pmdaFetch({count}, pmid[0] {first}... pmid[{end}] {last}, ...) called\n");
        }
    }
}

/// Debug output for changes that are reported with the values (FETCH-60).
#[cold]
#[inline(never)]
pub(super) fn trace_report(flags: u32, report: u8) {
    if log::debug(Debug::Libpmda) {
        log::trace!("pmdaFetch flags pmda=0x{flags:x} to pmcd=0x{report:x}\n");
    }
}

#[cold]
fn write(message: impl FnOnce(&mut Journal)) {
    let mut journal = Journal::new();
    message(&mut journal);
    log::flush(&mut journal);
}

#[cold]
pub(super) fn undefined(pmid: MetricId) {
    write(|journal| report::undefined(journal, "pmdaFetch", pmid));
}

#[cold]
pub(super) fn no_callback() {
    write(report::no_callback);
}

#[cold]
pub(super) fn callback_failed(metric: Current, inst: c_int, error: Error) {
    let style = Style {
        revised: SINCE_6_0_5,
        debug: log::debug(Debug::Libpmda),
    };
    write(|journal| report::callback_failed(journal, style, metric.pmid, inst, error, log::errstr));
}

#[cold]
pub(super) fn value_failed(metric: Current, inst: c_int, error: Error) {
    write(|journal| report::value_failed(journal, metric.pmid, inst, metric.kind, error));
}

#[cold]
pub(super) fn not_freed(metric: Current) {
    write(|journal| report::not_freed(journal, metric.pmid, metric.kind));
}
