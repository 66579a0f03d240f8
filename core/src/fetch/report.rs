//! What a fetch says in the log (section 4 of the specification: the log table).

use std::fmt::Display;

use super::type_name;
use crate::error::Error;
use crate::ident::MetricId;
use crate::log::{Journal, Level};

/// Which generation of PCP is spoken, and whether `-Dlibpmda` is on.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Since PCP 6.0.5 unknown instances are reported always, as a warning; before, only under
    /// `-Dlibpmda`.
    pub revised: bool,
    /// `-Dlibpmda`.
    pub debug: bool,
}

/// An unknown metric, for agents of interface 2 and 3 (FETCH-23, FETCH-80).
pub fn undefined(journal: &mut Journal, function: &str, pmid: MetricId) {
    journal.notify(
        Level::Err,
        format_args!("{function}: Requested metric {pmid} is not defined"),
    );
}

/// A callback that failed. `text` gives the text of the error, and is asked only when it is needed.
pub fn callback_failed<T: Display>(
    journal: &mut Journal,
    style: Style,
    pmid: MetricId,
    inst: i32,
    error: Error,
    text: impl FnOnce(Error) -> T,
) {
    match error {
        Error::PMID => journal.notify(
            Level::Err,
            format_args!("pmdaFetch: PMID {pmid} not handled by fetch callback"),
        ),
        Error::INST if style.revised || style.debug => journal.notify(
            if style.revised { Level::Warning } else { Level::Err },
            format_args!("pmdaFetch: Instance {inst} of PMID {pmid} not handled by fetch callback"),
        ),
        Error::INST => {}
        _ if is_usual(error) && !style.debug => {}
        _ => {
            let why = text(error);
            if style.revised && is_usual(error) {
                journal.debug(format_args!(
                    "Fetch callback error from metric PMID {pmid}[{inst}]: {why}"
                ));
            } else {
                journal.notify(
                    Level::Err,
                    format_args!("pmdaFetch: Fetch callback error from metric PMID {pmid}[{inst}]: {why}"),
                );
            }
        }
    }
}

/// Whether agents return the error in normal operation, so that it is shown under `-Dlibpmda` only.
fn is_usual(error: Error) -> bool {
    matches!(
        error,
        Error::VALUE | Error::APPVERSION | Error::PERMISSION | Error::AGAIN | Error::NYI
    )
}

/// A value that could not be put into the result; memory that has run out is not reported
/// (FETCH-53).
pub fn value_failed(journal: &mut Journal, pmid: MetricId, inst: i32, kind: i32, error: Error) {
    match error {
        Error::TYPE => journal.notify(
            Level::Err,
            format_args!(
                "pmdaFetch: Descriptor type ({}) for metric {pmid} is bad",
                type_name(kind)
            ),
        ),
        Error::VALUE => journal.notify(
            Level::Err,
            format_args!("pmdaFetch: No usable value from fetch callback for metric PMID {pmid}[{inst}]"),
        ),
        Error::TOOBIG => journal.notify(
            Level::Err,
            format_args!("pmdaFetch: Value too big from fetch callback for metric PMID {pmid}[{inst}]"),
        ),
        _ => {}
    }
}

/// A value that was to be freed, but is of a type that has nothing to free (FETCH-42).
pub fn not_freed(journal: &mut Journal, pmid: MetricId, kind: i32) {
    let kind = type_name(kind);
    journal.notify(
        Level::Warning,
        format_args!("pmdaFetch: Attempt to free value for metric {pmid} of wrong type {kind}"),
    );
}

/// There is nothing to call (F-7).
pub fn no_callback(journal: &mut Journal) {
    journal.notify(Level::Err, "pmdaFetch: fetch callback not set");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Message;

    fn said(revised: bool, debug: bool, error: Error) -> Option<(Level, String)> {
        let mut journal = Journal::new();
        let style = Style { revised, debug };
        callback_failed(&mut journal, style, MetricId(0x3e80_0401), -1, error, |_| {
            "why".to_owned()
        });
        journal.messages.drain(..).next().map(|message| match message {
            Message::Notify(level, text) => (level, String::from_utf8(text).expect("ASCII")),
            Message::Debug(text) => (Level::Debug, String::from_utf8(text).expect("ASCII")),
            Message::Trace(_) => unreachable!("nothing is traced here"),
        })
    }

    /// FETCH-41, FETCH-45: the log table, for both generations.
    #[test]
    fn log_table() {
        let unknown = "pmdaFetch: Instance -1 of PMID 250.1.1 not handled by fetch callback".to_owned();
        assert_eq!(said(true, false, Error::INST), Some((Level::Warning, unknown.clone())));
        assert_eq!(said(false, true, Error::INST), Some((Level::Err, unknown)));
        assert_eq!(said(false, false, Error::INST), None);
        let metric = "pmdaFetch: PMID 250.1.1 not handled by fetch callback".to_owned();
        assert_eq!(said(false, false, Error::PMID), Some((Level::Err, metric)));
        let other = "pmdaFetch: Fetch callback error from metric PMID 250.1.1[-1]: why".to_owned();
        assert_eq!(said(false, false, Error::GENERIC), Some((Level::Err, other.clone())));
        for quiet in [
            Error::VALUE,
            Error::APPVERSION,
            Error::PERMISSION,
            Error::AGAIN,
            Error::NYI,
        ] {
            let debug = other.trim_start_matches("pmdaFetch: ").to_owned();
            assert_eq!(said(true, false, quiet), None);
            assert_eq!(said(true, true, quiet), Some((Level::Debug, debug)));
            assert_eq!(said(false, false, quiet), None);
            assert_eq!(said(false, true, quiet), Some((Level::Err, other.clone())));
        }
    }
}
