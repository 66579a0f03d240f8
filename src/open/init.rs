//! `pmdaInit`: the agent's tables are checked and stamped, its help opened, its metric lookup
//! chosen.

use std::ffi::c_int;
use std::fmt::{self, Display};

use crate::fetch::lookup::rehash;
use crate::help;
use crate::open::text;
use crate::record;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::view::arg::{CText, Pointer};
use crate::view::dispatch::Dispatch;
use crate::view::ext::Ext;
use crate::view::flags::ExtFlags;
use crate::view::table::{IndomTable, MetricTable};
use crate::view::types::{pmdaIndom, pmdaInterface, pmdaMetric};
use pmda_core::error::Error;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Level;
use pmda_core::setup::{self, Mapping, Serials};

/// A failure that the log tells.
struct Reported;

/// Gives an agent its instance domains and metrics; the status says whether that was possible.
pub(crate) fn init(dispatch: Dispatch, indoms: IndomTable, metrics: MetricTable, defaults: &pmdaInterface) {
    let status = set_up(dispatch, indoms, metrics, defaults);
    dispatch.set_status(status.unwrap_or(Error::GENERIC.code()));
}

fn set_up(
    dispatch: Dispatch,
    indoms: IndomTable,
    metrics: MetricTable,
    defaults: &pmdaInterface,
) -> Result<c_int, Reported> {
    let ext = check(dispatch, indoms, metrics, defaults)?;
    record::refresh(dispatch);
    ext.set_indoms(indoms.first(), indoms.count());
    ext.set_metrics(metrics);
    let domain = dispatch.domain() as u32;
    indoms.with_entries(|indoms| metrics.with_entries(|metrics| stamp(ext, domain, indoms, metrics)))?;
    open_help(ext, dispatch.has_text_of(defaults));
    choose_lookup(ext, metrics);
    if log::debug(Debug::Libpmda) {
        summary(dispatch, ext);
    }
    Ok(ext.status())
}

/// The name of the agent, for messages.
struct Name(Option<CText>);

impl Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        text(self.0.as_ref()).fmt(out)
    }
}

fn name(ext: Ext) -> Name {
    Name(ext.name())
}

/// Logs `pmdaInit: PMDA NAME: TEXT`: the agent setup has failed.
fn failed(ext: Ext, why: fmt::Arguments<'_>) -> Reported {
    log::notify!(Level::Crit, "pmdaInit: PMDA {}: {why}", name(ext));
    Reported
}

/// The checks in the C library's order (INIT-40).
fn check(
    dispatch: Dispatch,
    indoms: IndomTable,
    metrics: MetricTable,
    defaults: &pmdaInterface,
) -> Result<Ext, Reported> {
    let (interface, domain) = (dispatch.interface(), dispatch.domain());
    if !interface.is_supported() {
        log::notify!(
            Level::Crit,
            "pmdaInit: PMDA interface version {} not supported (domain={domain})",
            interface.0
        );
        return Err(Reported);
    }
    let Some(ext) = dispatch.ext() else {
        log::notify!(Level::Crit, "pmdaInit: need to call pmdaDaemon() or pmdaDSO() first");
        return Err(Reported);
    };
    if dispatch.has_fetch_of(defaults) && ext.fetch_callback().is_none() {
        return Err(failed(
            ext,
            format_args!("using pmdaFetch() but fetch call back not set"),
        ));
    }
    for (field, count) in [("nmetrics", metrics.count()), ("nindoms", indoms.count())] {
        if count < 0 {
            return Err(failed(ext, format_args!("{field} ({count}) should be non-negative")));
        }
    }
    consistent(ext, "metrics", &Pointer(metrics.first()), metrics.count())?;
    consistent(ext, "indoms", &Pointer(indoms.first()), indoms.count())?;
    Ok(ext)
}

/// A table has entries, or neither an address nor a count.
fn consistent<T>(ext: Ext, table: &str, first: &Pointer<T>, count: c_int) -> Result<(), Reported> {
    if first.0.is_null() == (count == 0) {
        return Ok(());
    }
    Err(failed(
        ext,
        format_args!("{table} ({first}) not consistent with n{table} ({count})"),
    ))
}

/// Puts the agent's domain into all identifiers, and finds the instance domain of each metric
/// (INIT-41, INIT-42).
fn stamp(ext: Ext, domain: u32, indoms: &mut [pmdaIndom], metrics: &mut [pmdaMetric]) -> Result<(), Reported> {
    let (mut ascending, mut next) = (true, 0);
    for indom in indoms.iter_mut() {
        let serial = InDom(indom.it_indom).serial();
        indom.it_indom = InDom::new(domain, serial).0;
        ascending &= serial >= next;
        next = serial + 1;
    }
    for metric in metrics.iter_mut() {
        let desc = &mut metric.m_desc;
        desc.pmid = setup::stamp_metric(MetricId(desc.pmid), domain).0;
        desc.indom = setup::stamp_indom_of_metric(InDom(desc.indom), domain).0;
    }
    if indoms.is_empty() {
        return Ok(());
    }
    let mut serials = Serials::new(indoms.len(), ascending, |place| InDom(indoms[place].it_indom).serial());
    let trace = log::debug(Debug::Libpmda);
    for (place, metric) in metrics.iter().enumerate() {
        let (pmid, indom) = (MetricId(metric.m_desc.pmid), InDom(metric.m_desc.indom));
        if indom.is_null() {
            continue;
        }
        let Some(found) = serials.place(indom) else {
            let serial = indom.serial();
            return Err(failed(
                ext,
                format_args!(
                    "Undefined instance domain serial ({serial}) specified for metric {pmid} (e_metrics[{place}])"
                ),
            ));
        };
        if trace {
            say_match(ext, (pmid, place), (indom, found));
        }
    }
    Ok(())
}

#[cold]
fn say_match(ext: Ext, (pmid, place): (MetricId, usize), (indom, found): (InDom, usize)) {
    if SINCE_6_0_5 {
        log::debug_line!("pmid {pmid}({place}) matched to indom {indom}({found})");
    } else {
        log::debug_line!(
            "pmdaInit: PMDA {}: Metric {pmid}({place}) matched to indom {indom}({found})",
            name(ext)
        );
    }
}

/// Opens the help database, if there is one; a failure is no failure of the agent setup (INIT-43,
/// HELP-14).
fn open_help(ext: Ext, has_default_text: bool) {
    let name = name(ext);
    if let Some(path) = ext.helptext() {
        let outcome = help::open(path.bytes());
        let path = text(Some(&path));
        match outcome {
            Ok(handle) => {
                ext.set_help(handle);
                if log::debug(Debug::Libpmda) {
                    log::debug_line!("pmdaInit: PMDA {name}: help file {path} opened");
                }
            }
            Err(error) => {
                ext.set_help(error.code());
                let reason = log::errstr(error);
                log::notify!(
                    Level::Warning,
                    "pmdaInit: PMDA {name}: Unable to open help text file(s) from \"{path}\": {reason}"
                );
            }
        }
    } else if has_default_text {
        log::notify!(
            Level::Warning,
            "pmdaInit: PMDA {name}: No help text file specified for pmdaText"
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_line!("pmdaInit: PMDA {name}: No help text path specified");
    }
}

/// Chooses how metrics are looked up (INIT-44).
fn choose_lookup(ext: Ext, metrics: MetricTable) {
    if ext.has(ExtFlags::HASHED) {
        return rehash(ext, metrics);
    }
    match lookup_of(metrics) {
        Mapping::Direct => ext.set_direct(1),
        Mapping::Linear(place) => {
            ext.set_direct(0);
            if ext.has(ExtFlags::DIRECT) || log::debug(Debug::Libpmda) {
                log::notify!(
                    Level::Warning,
                    "pmdaDirect: PMDA {}: Direct mapping for metrics disabled @ metrics[{place}] {}",
                    name(ext),
                    metrics.pmid(place)
                );
            }
        }
    }
}

/// How the metrics of a table without a hash are looked up.
fn lookup_of(metrics: MetricTable) -> Mapping {
    metrics.with_entries(|metrics| setup::mapping(metrics.iter().map(|metric| MetricId(metric.m_desc.pmid))))
}

/// What was set up, for `-Dlibpmda`, in the C library's words.
fn summary(dispatch: Dispatch, ext: Ext) {
    let map = if ext.has(ExtFlags::HASHED) {
        "hashed"
    } else if ext.direct() != 0 {
        "direct"
    } else {
        "linear"
    };
    let say = |before: &str, since: &str, value: &dyn Display| {
        if SINCE_6_0_5 {
            log::debug_line!("pmdaInit: {since} {value}");
        } else {
            log::notify!(Level::Info, "{before}= {value}");
        }
    };
    let hex = |before: &str, since: &str, flags: u32| {
        if SINCE_6_0_5 {
            say(before, since, &log::hex(flags));
        } else {
            say(before, since, &format_args!("{flags:x}"));
        }
    };
    say("name        ", "name", &name(ext));
    say("domain      ", "domain", &dispatch.domain());
    let comm = dispatch.comm().flags();
    if comm != 0 {
        hex("comm flags  ", "comm flags", comm);
    }
    hex("ext flags  ", "ext flags", ext.flags());
    say("num metrics ", "num metrics", &ext.metrics().count());
    say("num indom   ", "num indom", &ext.indoms().count());
    say("metric map  ", "metric map", &map);
}
