//! `pmdaInit`: checks the agent's tables, puts its domain into them, opens its help database, and
//! chooses how metrics are looked up.

use std::ffi::c_int;
use std::fmt::{self, Display};

use crate::dynamic::rehash;
use crate::help;
use crate::open::is_supported;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{SINCE_6_0_2, SINCE_6_0_5};
use crate::sys::lock::Token;
use crate::view::arg::{Pointer, Shown};
use crate::view::interface::{Dispatch, Ext, pmdaInterface};
use crate::view::memory::Lasting;
use crate::view::table::{IndomTable, MetricTable};
use crate::view::types::{pmdaIndom, pmdaMetric};
use pmda_core::constants::{PMDA_EXT_FLAG_DIRECT, PMDA_EXT_FLAG_HASHED};
use pmda_core::error::Error;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::{Level, PathBytes};

/// A failure that was logged.
struct Reported;

/// Sets the tables of an agent, and the status of its dispatch table.
pub(crate) fn init(
    token: &mut Token,
    dispatch: Dispatch<'_>,
    indoms: Lasting<pmdaIndom>,
    metrics: Lasting<pmdaMetric>,
    defaults: &pmdaInterface,
) {
    let status = set_up(token, dispatch, indoms, metrics, defaults);
    dispatch.set_status(status.unwrap_or(Error::GENERIC.code()));
}

/// The body of [`init`]. Returns the agent's own status.
///
/// # Errors
/// A failure that was logged.
fn set_up(
    token: &mut Token,
    dispatch: Dispatch<'_>,
    indoms: Lasting<pmdaIndom>,
    metrics: Lasting<pmdaMetric>,
    defaults: &pmdaInterface,
) -> Result<c_int, Reported> {
    // Also where the set-up fails then: pmcd goes on with what is there.
    state::note_dispatch(token, dispatch);
    let ext = check(token, dispatch, indoms, metrics, defaults)?;
    ext.set_indoms(indoms);
    ext.set_metrics(metrics);
    let domain = dispatch.domain() as u32;
    stamp(token, ext, domain, indoms.view(), metrics.view())?;
    open_help(token, ext, dispatch.has_text_of(defaults));
    choose_lookup(token, ext, metrics);
    if log::debug(Debug::Libpmda) {
        summary(token, dispatch, ext);
    }
    Ok(ext.status())
}

fn name(ext: Ext<'_>) -> Shown<'_> {
    Shown(ext.name())
}

/// Logs `pmdaInit: PMDA NAME: TEXT`, a failure.
fn failed(token: &mut Token, ext: Ext<'_>, why: fmt::Arguments<'_>) -> Reported {
    log::notify!(token, Level::Crit, "pmdaInit: PMDA {}: {why}", name(ext));
    Reported
}

/// Checks the arguments of `pmdaInit`, in the order of the C library (INIT-40). Returns the
/// extension.
///
/// # Errors
/// The first check that fails, which is logged.
fn check<'call>(
    token: &mut Token,
    dispatch: Dispatch<'call>,
    indoms: Lasting<pmdaIndom>,
    metrics: Lasting<pmdaMetric>,
    defaults: &pmdaInterface,
) -> Result<Ext<'call>, Reported> {
    if !is_supported(token, dispatch, "pmdaInit") {
        return Err(Reported);
    }
    let Some(ext) = dispatch.ext() else {
        log::notify!(
            token,
            Level::Crit,
            "pmdaInit: need to call pmdaDaemon() or pmdaDSO() first"
        );
        return Err(Reported);
    };
    if dispatch.has_fetch_of(defaults) && ext.fetch_callback().is_none() {
        return Err(failed(
            token,
            ext,
            format_args!("using pmdaFetch() but fetch call back not set"),
        ));
    }
    for (field, count) in [("nmetrics", metrics.view().count()), ("nindoms", indoms.view().count())] {
        if count < 0 {
            return Err(failed(
                token,
                ext,
                format_args!("{field} ({count}) should be non-negative"),
            ));
        }
    }
    consistent(
        token,
        ext,
        "metrics",
        &Pointer(metrics.view().first()),
        metrics.view().count(),
    )?;
    consistent(
        token,
        ext,
        "indoms",
        &Pointer(indoms.view().first()),
        indoms.view().count(),
    )?;
    Ok(ext)
}

/// Checks that a table has entries, or neither an address nor a count.
///
/// # Errors
/// A table with one of the two, which is logged.
fn consistent<T>(
    token: &mut Token,
    ext: Ext<'_>,
    table: &str,
    first: &Pointer<T>,
    count: c_int,
) -> Result<(), Reported> {
    if first.0.is_null() == (count == 0) {
        return Ok(());
    }
    Err(failed(
        token,
        ext,
        format_args!("{table} ({first}) not consistent with n{table} ({count})"),
    ))
}

/// Puts the agent's domain into all identifiers of its tables, and looks up the instance domain of
/// each metric (INIT-41, INIT-42).
///
/// # Errors
/// A metric with an unknown instance domain, which is logged.
fn stamp(
    token: &mut Token,
    ext: Ext<'_>,
    domain: u32,
    indoms: IndomTable<'_>,
    metrics: MetricTable<'_>,
) -> Result<(), Reported> {
    let (mut ascending, mut next) = (true, 0);
    for (position, mut indom) in indoms.entries().enumerate() {
        let serial = InDom(indom.it_indom).serial();
        indom.it_indom = InDom::new(domain, serial).0;
        indoms.put(position, indom);
        ascending &= serial >= next;
        next = serial + 1;
    }
    for (position, mut metric) in metrics.entries().enumerate() {
        let desc = &mut metric.m_desc;
        desc.pmid = MetricId(desc.pmid).in_domain(domain).0;
        let indom = InDom(desc.indom);
        if !indom.is_null() {
            desc.indom = InDom::new(domain, indom.serial()).0;
        }
        metrics.put(position, metric);
    }
    if indoms.is_empty() {
        return Ok(());
    }
    let serial_at = |index| indoms.indom(index).serial();
    let trace = log::debug(Debug::Libpmda);
    for (position, metric) in metrics.entries().enumerate() {
        let desc = metric.m_desc;
        let (pmid, indom) = (MetricId(desc.pmid), InDom(desc.indom));
        if indom.is_null() {
            continue;
        }
        let serial = indom.serial();
        let Some(entry) = position_of(serial, indoms.len(), ascending, serial_at) else {
            let mut fail = |metric: fmt::Arguments<'_>| {
                failed(
                    token,
                    ext,
                    format_args!("Undefined instance domain serial ({serial}) specified {metric}"),
                )
            };
            return Err(if SINCE_6_0_2 {
                fail(format_args!("for metric {pmid} (e_metrics[{position}])"))
            } else {
                fail(format_args!("in metric {pmid}({position})"))
            });
        };
        if trace {
            log_match(token, ext, (pmid, position), (indom, entry));
        }
    }
    Ok(())
}

/// Logs which instance domain belongs to a metric, for `-Dlibpmda`.
#[cold]
fn log_match(token: &mut Token, ext: Ext<'_>, (pmid, position): (MetricId, usize), (indom, entry): (InDom, usize)) {
    if SINCE_6_0_5 {
        log::debug_line!(token, "pmid {pmid}({position}) matched to indom {indom}({entry})");
    } else {
        log::debug_line!(
            token,
            "pmdaInit: PMDA {}: Metric {pmid}({position}) matched to indom {indom}({entry})",
            name(ext)
        );
    }
}

/// Opens the help database, if the agent names one. If it cannot be opened, that is logged, and the
/// setup succeeds all the same (INIT-43, HELP-14).
fn open_help(token: &mut Token, ext: Ext<'_>, has_default_text: bool) {
    let name = name(ext);
    if let Some(path) = ext.helptext() {
        let outcome = help::open(token, path.bytes());
        let path = PathBytes(path.bytes());
        match outcome {
            Ok(handle) => {
                ext.set_help(handle);
                if log::debug(Debug::Libpmda) {
                    log::debug_line!(token, "pmdaInit: PMDA {name}: help file {path} opened");
                }
            }
            Err(error) => {
                ext.set_help(error.code());
                let reason = log::errstr(error);
                log::notify!(
                    token,
                    Level::Warning,
                    "pmdaInit: PMDA {name}: Unable to open help text file(s) from \"{path}\": {reason}"
                );
            }
        }
    } else if has_default_text {
        log::notify!(
            token,
            Level::Warning,
            "pmdaInit: PMDA {name}: No help text file specified for pmdaText"
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_line!(token, "pmdaInit: PMDA {name}: No help text path specified");
    }
}

/// Chooses how metrics are looked up: by a hash, if the agent has asked for one; else directly, if
/// the item of each metric is its position in the table; else by a search (INIT-44).
fn choose_lookup(token: &mut Token, ext: Ext<'_>, table: Lasting<pmdaMetric>) {
    if ext.has(PMDA_EXT_FLAG_HASHED) {
        return rehash(token, ext, table);
    }
    let metrics = table.view();
    // The first metric that is not at the position that is its item.
    let other = (0..metrics.len()).find(|position| *position != metrics.pmid(*position).item() as usize);
    ext.set_direct(c_int::from(other.is_none()));
    if let Some(position) = other.filter(|_| ext.has(PMDA_EXT_FLAG_DIRECT) || log::debug(Debug::Libpmda)) {
        log::notify!(
            token,
            Level::Warning,
            "pmdaDirect: PMDA {}: Direct mapping for metrics disabled @ metrics[{position}] {}",
            name(ext),
            metrics.pmid(position)
        );
    }
}

/// Logs the setup, for `-Dlibpmda`.
fn summary(token: &mut Token, dispatch: Dispatch<'_>, ext: Ext<'_>) {
    let map = if ext.has(PMDA_EXT_FLAG_HASHED) {
        "hashed"
    } else if ext.direct() != 0 {
        "direct"
    } else {
        "linear"
    };
    say(token, "name        ", "name", &name(ext));
    say(token, "domain      ", "domain", &dispatch.domain());
    let comm = dispatch.comm().flags;
    if comm != 0 {
        say_hex(token, "comm flags  ", "comm flags", comm.into());
    }
    say_hex(token, "ext flags  ", "ext flags", ext.flags());
    say(token, "num metrics ", "num metrics", &ext.metrics().count());
    say(token, "num indom   ", "num indom", &ext.indoms().count());
    say(token, "metric map  ", "metric map", &map);
}

/// A line of the summary: with the text `before` PCP 6.0.5, or `since`.
fn say(token: &mut Token, before: &str, since: &str, value: &dyn Display) {
    if SINCE_6_0_5 {
        log::debug_line!(token, "pmdaInit: {since} {value}");
    } else {
        log::notify!(token, Level::Info, "{before}= {value}");
    }
}

fn say_hex(token: &mut Token, before: &str, since: &str, flags: u32) {
    if SINCE_6_0_5 {
        say(token, before, since, &log::hex(flags));
    } else {
        say(token, before, since, &format_args!("{flags:x}"));
    }
}

/// The position of the first of `len` instance domains with a serial (INIT-42). `ascending`: each
/// serial of the table is higher than the one before, as in nearly all agents.
fn position_of(serial: u32, len: usize, ascending: bool, serial_at: impl Fn(usize) -> u32) -> Option<usize> {
    if !ascending {
        return (0..len).find(|position| serial_at(*position) == serial);
    }
    let (mut from, mut to) = (0, len);
    while from < to {
        let middle = from.midpoint(to);
        if serial_at(middle) < serial {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    (from < len && serial_at(from) == serial).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of domains with equal serials the first one is found, whatever the order of the table
    /// (INIT-42).
    #[test]
    fn serials() {
        for table in [
            vec![],
            vec![3],
            vec![3, 1, 3],
            vec![1, 1, 2],
            (0..100).collect(),
            (0..100).map(|position| position * 7 + 2).collect(),
            (0..100).rev().collect(),
        ] {
            let ascending = table.is_sorted_by(|one, next| one < next);
            let asked = table.iter().copied().chain([0, 0x3f_ffff]);
            for serial in asked.flat_map(|serial: u32| [serial, serial + 1, serial.saturating_sub(1)]) {
                let first = table.iter().position(|other| *other == serial);
                let position = position_of(serial, table.len(), ascending, |position| table[position]);
                assert_eq!(position, first, "{serial} in {table:?}");
            }
        }
    }
}
