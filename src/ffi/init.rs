//! `pmdaInit`: the agent's tables are checked and stamped, its help opened, its metric lookup chosen.

use std::ffi::{c_int, c_void};
use std::fmt::Display;

use super::arg::{self, Pointer};
use super::describe::pmdaText;
use super::fetch::pmdaFetch;
use super::guard::guard;
use super::types::{pmdaExt, pmdaIndom, pmdaInterface, pmdaMetric};
use super::{help, private};
use crate::abi::ext::Ext;
use crate::abi::table::MetricTable;
use crate::agent::lookup;
use crate::error::Error;
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::Part::{Raw, Show};
use crate::log::{Bytes, Growing, Level, Part};
use crate::setup::{self, Mapping, Serials};

/// `PMDA_EXT_FLAG_DIRECT`, `PMDA_EXT_FLAG_HASHED`.
const DIRECT: u32 = 1 << 0;
const HASHED: u32 = 1 << 1;

/// Gives an agent its instance domains and metrics; the tables stay the agent's and in use for ever.
///
/// The agent's domain is put into every identifier of both tables. `dispatch->status` is 0 afterwards (or what the agent
/// has put into `e_status`), or `PM_ERR_GENERIC` with a line in the log.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` or `pmdaDSO` has set up; `indoms` and `metrics` are each NULL or
/// valid for reads and writes of as many elements as the counts say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaInit(
    dispatch: *mut pmdaInterface,
    indoms: *mut pmdaIndom,
    nindoms: c_int,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) {
    guard(|| {
        if dispatch.is_null() {
            return;
        }
        // SAFETY: not NULL; the rest is the contract above.
        unsafe {
            let tables = Tables {
                indoms,
                nindoms,
                metrics,
                nmetrics,
            };
            if let Err(Said) = init(dispatch, &tables) {
                (*dispatch).status = Error::GENERIC.code();
            }
        }
    });
}

/// What the agent gave.
struct Tables {
    indoms: *mut pmdaIndom,
    nindoms: c_int,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
}

/// A failure that the log tells.
struct Said;

/// # Safety
/// As `pmdaInit`; `dispatch` is not NULL.
unsafe fn init(dispatch: *mut pmdaInterface, tables: &Tables) -> Result<(), Said> {
    // SAFETY: the contract above.
    unsafe {
        let ext = (*dispatch).ext;
        check(dispatch, ext, tables)?;
        private::refresh(dispatch);
        (*ext).e_indoms = tables.indoms;
        (*ext).e_nindoms = tables.nindoms;
        (*ext).e_metrics = tables.metrics;
        (*ext).e_nmetrics = tables.nmetrics;
        stamp(ext, (*dispatch).domain as u32, tables)?;
        open_help(dispatch, ext);
        choose_lookup(ext, tables);
        if log::debug(Debug::Libpmda) {
            summary(dispatch, ext);
        }
        (*dispatch).status = (*ext).e_status;
        Ok(())
    }
}

/// The name of the agent.
///
/// # Safety
/// `ext` is valid, and its name is NULL or a C string that stays unchanged for `'a`.
unsafe fn name<'a>(ext: *const pmdaExt) -> &'a [u8] {
    // SAFETY: the contract above.
    unsafe { arg::bytes((*ext).e_name) }.unwrap_or_default()
}

/// Logs `pmdaInit: PMDA NAME: TEXT`: the set-up has failed.
///
/// # Safety
/// As [`name`].
unsafe fn failed(ext: *const pmdaExt, text: &dyn Display) -> Said {
    // SAFETY: the contract is the same.
    let name = unsafe { name(ext) };
    let parts = [Raw(b"pmdaInit: PMDA "), Raw(name), Raw(b": "), Show(text)];
    log::notify_parts(Level::Crit, &parts);
    Said
}

/// The checks in the C library's order (INIT-40).
///
/// # Safety
/// As `pmdaInit`; `dispatch` is not NULL.
unsafe fn check(dispatch: *const pmdaInterface, ext: *const pmdaExt, tables: &Tables) -> Result<(), Said> {
    // SAFETY: the contract above.
    unsafe {
        let (interface, domain) = ((*dispatch).comm.interface(), (*dispatch).domain);
        if !setup::supported(interface) {
            log::notify_parts(
                Level::Crit,
                &[Show(&format_args!(
                    "pmdaInit: PMDA interface version {interface} not supported (domain={domain})"
                ))],
            );
            return Err(Said);
        }
        if ext.is_null() {
            log::notify(Level::Crit, b"pmdaInit: need to call pmdaDaemon() or pmdaDSO() first");
            return Err(Said);
        }
        let stock = (*dispatch)
            .fetch
            .is_some_and(|method| method as usize == pmdaFetch as *const () as usize);
        if stock && (*ext).e_fetchCallBack.is_none() {
            return Err(failed(ext, &"using pmdaFetch() but fetch call back not set"));
        }
        for (what, count) in [("nmetrics", tables.nmetrics), ("nindoms", tables.nindoms)] {
            if count < 0 {
                return Err(failed(ext, &format_args!("{what} ({count}) should be non-negative")));
            }
        }
        let pairs: [(&str, *const c_void, c_int); 2] = [
            ("metrics", tables.metrics.cast::<c_void>().cast_const(), tables.nmetrics),
            ("indoms", tables.indoms.cast::<c_void>().cast_const(), tables.nindoms),
        ];
        for (what, first, count) in pairs {
            if first.is_null() != (count == 0) {
                let first = Pointer(first);
                return Err(failed(
                    ext,
                    &format_args!("{what} ({first}) not consistent with n{what} ({count})"),
                ));
            }
        }
        Ok(())
    }
}

/// Puts the domain into every identifier, and checks that each metric's instance domain exists (INIT-41, INIT-42).
///
/// # Safety
/// As `pmdaInit`, after [`check`].
unsafe fn stamp(ext: *const pmdaExt, domain: u32, tables: &Tables) -> Result<(), Said> {
    // SAFETY: the tables are valid for reads and writes, and nobody else uses them during set-up: no C code runs here.
    let (indoms, metrics) = unsafe {
        (
            arg::slice_mut(tables.indoms, tables.nindoms),
            arg::slice_mut(tables.metrics, tables.nmetrics),
        )
    };
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
            // SAFETY: the extension is valid.
            return Err(unsafe {
                failed(
                    ext,
                    &format_args!(
                        "Undefined instance domain serial ({serial}) specified for metric {pmid} (e_metrics[{place}])"
                    ),
                )
            });
        };
        if trace {
            if SINCE_6_0_5 {
                log::debug_parts(&[
                    Raw(b"pmid "),
                    Show(&format_args!("{pmid}({place}) matched to indom {indom}({found})")),
                ]);
            } else {
                // SAFETY: the extension is valid.
                let name = unsafe { name(ext) };
                log::debug_parts(&[
                    Raw(b"pmdaInit: PMDA "),
                    Raw(name),
                    Raw(b": Metric "),
                    Show(&format_args!("{pmid}({place}) matched to indom {indom}({found})")),
                ]);
            }
        }
    }
    Ok(())
}

/// Opens the help database, if there is one; a failure is no failure of the set-up (INIT-43, HELP-14).
///
/// # Safety
/// `dispatch` and `ext` are valid.
unsafe fn open_help(dispatch: *const pmdaInterface, ext: *mut pmdaExt) {
    // SAFETY: the contract above; the path is NULL or a C string.
    unsafe {
        let name = name(ext);
        let warn = |text: &[Part<'_>]| {
            let mut line = Growing::default();
            line.add(&[Raw(b"pmdaInit: PMDA "), Raw(name), Raw(b": ")]);
            line.add(text);
            if let Some(line) = line.whole() {
                log::notify(Level::Warning, &line);
            }
        };
        if let Some(path) = arg::bytes((*ext).e_helptext) {
            match help::open(path) {
                Ok(handle) => {
                    (*ext).e_help = handle;
                    if log::debug(Debug::Libpmda) {
                        let (name, path) = (Bytes(name), Bytes(path));
                        log::debug_line!("pmdaInit: PMDA {name}: help file {path} opened");
                    }
                }
                Err(error) => {
                    (*ext).e_help = error.code();
                    let reason = log::errstr(error);
                    warn(&[
                        Raw(b"Unable to open help text file(s) from \""),
                        Raw(path),
                        Raw(b"\": "),
                        Show(&reason),
                    ]);
                }
            }
        } else if (*dispatch)
            .text
            .is_some_and(|method| method as usize == pmdaText as *const () as usize)
        {
            warn(&[Raw(b"No help text file specified for pmdaText")]);
        } else if log::debug(Debug::Libpmda) {
            log::debug_line!("pmdaInit: PMDA {}: No help text path specified", Bytes(name));
        }
    }
}

/// Chooses how metrics are looked up (INIT-44).
///
/// # Safety
/// `ext` is valid; tables as `pmdaInit`.
unsafe fn choose_lookup(ext: *mut pmdaExt, tables: &Tables) {
    // SAFETY: the contract above.
    unsafe {
        if (*ext).e_flags & HASHED != 0 {
            if let Some(ext) = Ext::new(ext) {
                lookup::rehash(ext, MetricTable::new(tables.metrics, tables.nmetrics));
            }
            return;
        }
        let metrics = arg::slice(tables.metrics, tables.nmetrics);
        match setup::mapping(metrics.iter().map(|metric| MetricId(metric.m_desc.pmid))) {
            Mapping::Direct => (*ext).e_direct = 1,
            Mapping::Linear(place) => {
                (*ext).e_direct = 0;
                if (*ext).e_flags & DIRECT != 0 || log::debug(Debug::Libpmda) {
                    let pmid = MetricId(metrics[place].m_desc.pmid);
                    log::notify_parts(
                        Level::Warning,
                        &[
                            Raw(b"pmdaDirect: PMDA "),
                            Raw(name(ext)),
                            Raw(b": "),
                            Show(&format_args!(
                                "Direct mapping for metrics disabled @ metrics[{place}] {pmid}"
                            )),
                        ],
                    );
                }
            }
        }
    }
}

/// What was set up, for `-Dlibpmda`, in the C library's words.
///
/// # Safety
/// `dispatch` and `ext` are valid.
unsafe fn summary(dispatch: *const pmdaInterface, ext: *const pmdaExt) {
    // SAFETY: the contract above.
    let (comm, flags, direct, metrics, indoms, domain, name) = unsafe {
        (
            (*dispatch).comm.flags(),
            (*ext).e_flags,
            (*ext).e_direct,
            (*ext).e_nmetrics,
            (*ext).e_nindoms,
            (*dispatch).domain,
            name(ext),
        )
    };
    let map = if flags & HASHED != 0 {
        "hashed"
    } else if direct != 0 {
        "direct"
    } else {
        "linear"
    };
    let say = |before: &str, since: &str, value: Part<'_>| {
        if SINCE_6_0_5 {
            log::debug_parts(&[Raw(b"pmdaInit: "), Show(&since), Raw(b" "), value]);
        } else {
            log::notify_parts(Level::Info, &[Show(&before), Raw(b"= "), value]);
        }
    };
    let hex = |before: &str, since: &str, flags: u32| {
        if SINCE_6_0_5 {
            say(before, since, Show(&log::hex(flags)));
        } else {
            say(before, since, Show(&format_args!("{flags:x}")));
        }
    };
    say("name        ", "name", Raw(name));
    say("domain      ", "domain", Show(&domain));
    if comm != 0 {
        hex("comm flags  ", "comm flags", comm);
    }
    hex("ext flags  ", "ext flags", flags);
    say("num metrics ", "num metrics", Show(&metrics));
    say("num indom   ", "num indom", Show(&indoms));
    say("metric map  ", "metric map", Show(&map));
}
