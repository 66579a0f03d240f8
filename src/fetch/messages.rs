//! The messages of a fetch: text and severity of each (the log table in `docs/spec/fetch.md`,
//! section 4).

use std::ffi::c_int;

use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::memory::Array;
use crate::view::types::pmID;
use pmda_core::error::Error;
use pmda_core::fetch::type_name;
use pmda_core::ident::MetricId;
use pmda_core::log::Level;

/// Shows the call, with the first and the last metric of the list (FETCH-110).
#[cold]
pub(super) fn trace_call(token: &mut Token, list: Array<'_, pmID>) {
    let pmid = |index| MetricId(list.at(index));
    match list.len() {
        0 => log::trace!(token, "pmdaFetch(0, ...) called\n"),
        1 => log::trace!(token, "pmdaFetch(1, pmid[0] {}, ...) called\n", pmid(0)),
        count => {
            let (first, end, last) = (pmid(0), count - 1, pmid(count - 1));
            log::trace!(
                token,
                "pmdaFetch({count}, pmid[0] {first}... pmid[{end}] {last}, ...) called\n"
            );
        }
    }
}

/// Shows which changes are reported with the values (FETCH-60).
#[cold]
pub(super) fn trace_report(token: &mut Token, flags: u32, report: u8) {
    if log::debug(Debug::Libpmda) {
        log::trace!(token, "pmdaFetch flags pmda=0x{flags:x} to pmcd=0x{report:x}\n");
    }
}

/// Logs that a metric is unknown, for agents of interface 2 and 3 (FETCH-23, FETCH-80).
#[cold]
pub(crate) fn undefined(token: &mut Token, function: &str, pmid: MetricId) {
    log::notify!(token, Level::Err, "{function}: Requested metric {pmid} is not defined");
}

/// Logs that the agent has no fetch callback (F-7).
#[cold]
pub(super) fn no_callback(token: &mut Token) {
    log::notify!(token, Level::Err, "pmdaFetch: fetch callback not set");
}

/// Logs an error that the fetch callback has returned.
#[cold]
pub(super) fn callback_failed(token: &mut Token, pmid: MetricId, inst: c_int, error: Error) {
    let Some(level) = level(error, SINCE_6_0_5, log::debug(Debug::Libpmda)) else {
        return;
    };
    match error {
        Error::PMID => log::notify!(token, level, "pmdaFetch: PMID {pmid} not handled by fetch callback"),
        Error::INST => log::notify!(
            token,
            level,
            "pmdaFetch: Instance {inst} of PMID {pmid} not handled by fetch callback"
        ),
        _ => {
            let why = log::errstr(error);
            if level == Level::Debug {
                log::debug_line!(token, "Fetch callback error from metric PMID {pmid}[{inst}]: {why}");
            } else {
                log::notify!(
                    token,
                    level,
                    "pmdaFetch: Fetch callback error from metric PMID {pmid}[{inst}]: {why}"
                );
            }
        }
    }
}

/// The severity of a callback's error, if it is logged: `revised` since PCP 6.0.5, `debug` with
/// `-Dlibpmda` (FETCH-41, FETCH-45).
fn level(error: Error, revised: bool, debug: bool) -> Option<Level> {
    // Errors that agents return in normal operation.
    let is_usual = matches!(
        error,
        Error::VALUE | Error::APPVERSION | Error::PERMISSION | Error::AGAIN | Error::NYI
    );
    match error {
        Error::INST if revised => Some(Level::Warning),
        Error::INST if !debug => None,
        _ if is_usual && !debug => None,
        _ if is_usual && revised => Some(Level::Debug),
        _ => Some(Level::Err),
    }
}

/// Logs why a value was not put into the result. Nothing is logged when memory has run out
/// (FETCH-53).
#[cold]
pub(super) fn value_failed(token: &mut Token, pmid: MetricId, kind: c_int, inst: c_int, error: Error) {
    match error {
        Error::TYPE => log::notify!(
            token,
            Level::Err,
            "pmdaFetch: Descriptor type ({}) for metric {pmid} is bad",
            type_name(kind)
        ),
        Error::VALUE => log::notify!(
            token,
            Level::Err,
            "pmdaFetch: No usable value from fetch callback for metric PMID {pmid}[{inst}]"
        ),
        Error::TOOBIG => log::notify!(
            token,
            Level::Err,
            "pmdaFetch: Value too big from fetch callback for metric PMID {pmid}[{inst}]"
        ),
        _ => {}
    }
}

/// Logs that a value was to be freed (`PMDA_FETCH_DYNAMIC`) whose type has nothing to free
/// (FETCH-42).
#[cold]
pub(super) fn not_freed(token: &mut Token, pmid: MetricId, kind: c_int) {
    let kind = type_name(kind);
    log::notify!(
        token,
        Level::Warning,
        "pmdaFetch: Attempt to free value for metric {pmid} of wrong type {kind}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The severity of each error, in both generations and with and without debug output (FETCH-41,
    /// FETCH-45).
    #[test]
    fn log_table() {
        assert_eq!(level(Error::INST, true, false), Some(Level::Warning));
        assert_eq!(level(Error::INST, false, true), Some(Level::Err));
        assert_eq!(level(Error::INST, false, false), None);
        assert_eq!(level(Error::PMID, false, false), Some(Level::Err));
        assert_eq!(level(Error::GENERIC, false, false), Some(Level::Err));
        for quiet in [
            Error::VALUE,
            Error::APPVERSION,
            Error::PERMISSION,
            Error::AGAIN,
            Error::NYI,
        ] {
            assert_eq!(level(quiet, true, false), None);
            assert_eq!(level(quiet, true, true), Some(Level::Debug));
            assert_eq!(level(quiet, false, false), None);
            assert_eq!(level(quiet, false, true), Some(Level::Err));
        }
    }
}
