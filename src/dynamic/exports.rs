//! Dynamic metrics: `pmdaDynamic*` and `pmdaExtDynamicPMNS`.
//!
//! The trees belong to the agent: it stores and exchanges the pointer that its update callback is
//! given (DYN-4).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use crate::drive::{drive, guard};
use crate::dynamic::{Call, Callbacks, DynamicAnswer, Found, Lookup, LookupKey, Rebuild, Registrations, Walk};
use crate::sys::libpcp::log;
use crate::view::agent::Ext;
use crate::view::arg::{CText, Out};
use crate::view::memory::Lasting;
use crate::view::names::{Tree, TreePlace};
use crate::view::types::{
    pmID, pmdaCountMetrics, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use crate::{library, record};
use pmda_core::dynamic::Counts;
use pmda_core::error::Error;
use pmda_core::ident::MetricId;
use pmda_core::log::Level;

/// `ENOENT`: no registration knows the metric.
const NOENT: Error = Error::os(libc::ENOENT);

/// The registrations that count for an agent.
fn registered(ext: Ext<'_>) -> Walk {
    Walk::new(record::of(ext).map(|record| &record.dynamic))
}

/// Makes the calls of a machine. Each callback was registered with its type, by an agent that has
/// promised that it follows its contract: that is what each call relies on.
#[inline(always)]
fn make(call: Call<'_>) -> DynamicAnswer {
    match call {
        // SAFETY: the place holds NULL or the agent's tree.
        Call::Update(update, ext, tree) => DynamicAnswer::Updated(unsafe { update(ext.as_ptr(), tree) }),
        Call::Count(count) => {
            let mut counts = Counts::default();
            // SAFETY: the counts live in this frame.
            unsafe { count(&raw mut counts.metrics, &raw mut counts.trees) };
            DynamicAnswer::Counted(counts)
        }
        Call::Copy(copy, source, target, number) => {
            // SAFETY: a metric of the registered table, and one of the table that is being made.
            unsafe { copy(source, target, number) };
            DynamicAnswer::Done
        }
        Call::Free(table) => {
            // SAFETY: the machine has no view of the table, and its agent has another one (N-17).
            unsafe { table.free() };
            DynamicAnswer::Done
        }
    }
}

/// Registers a tree of dynamic names, for all agents of the process that have none of their own.
///
/// `update` brings the tree up to date and tells whether metrics have changed, `text` gives help,
/// `metric` fills in copies of `metrics`, `counts` tells how many. Each may be NULL. `prefix` names
/// the registration for `pmdaDynamicSetClusterMask`; `clusters` is not looked at.
///
/// # Safety
/// `prefix` is NULL or a C string; `metrics` is NULL or has `nmetrics` entries that are never
/// freed; the callbacks have these types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicPMNS(
    prefix: Option<CText<'_>>,
    clusters: *mut c_int,
    nclusters: c_int,
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) {
    let _ = (clusters, nclusters);
    // SAFETY: the caller promises `nmetrics` entries that are never freed.
    let metrics = unsafe { Lasting::new(metrics, nmetrics) };
    let callbacks = callbacks(update, text, metric, counts, metrics);
    guard(|| register("pmdaDynamicPMNS", None, prefix, callbacks));
}

/// Registers a tree of dynamic names for one agent, which then does not see those of
/// `pmdaDynamicPMNS` any more.
///
/// # Safety
/// As `pmdaDynamicPMNS`; `ext` is NULL or was set up by `pmdaDaemon` or `pmdaDSO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtDynamicPMNS(
    prefix: Option<CText<'_>>,
    clusters: *mut c_int,
    nclusters: c_int,
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
    ext: Option<Ext<'_>>,
) {
    let _ = (clusters, nclusters);
    // SAFETY: the caller promises `nmetrics` entries that are never freed.
    let metrics = unsafe { Lasting::new(metrics, nmetrics) };
    let callbacks = callbacks(update, text, metric, counts, metrics);
    guard(|| match ext.and_then(record::of) {
        Some(record) => register("pmdaExtDynamicPMNS", Some(&record.dynamic), prefix, callbacks),
        None => log::notify!(
            Level::Err,
            "pmdaExtDynamicPMNS: the agent was not set up by pmdaDaemon or pmdaDSO"
        ),
    });
}

/// Appends a registration, or says that there is no memory for it.
fn register(caller: &str, own: Option<&Registrations>, prefix: Option<CText<'_>>, callbacks: Callbacks) {
    let prefix = prefix.as_ref().map(CText::bytes);
    let done = match own {
        Some(own) => own.lock().add(prefix, callbacks),
        None => library::lock().and_then(|mut library| library.dynamic.add(prefix, callbacks)),
    };
    if let Err(error) = done {
        let reason = log::errstr(error);
        log::notify!(Level::Err, "{caller}: {reason}");
    }
}

/// What is registered.
fn callbacks(
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: Lasting<pmdaMetric>,
) -> Callbacks {
    Callbacks {
        update,
        text,
        metric,
        counts,
        // A count without a table counts nothing.
        metrics: if metrics.seen().first().is_null() {
            Lasting::EMPTY
        } else {
            metrics
        },
        tree: TreePlace::new(),
    }
}

/// Meant to record a mask for the cluster numbers below a prefix that was registered with
/// `pmdaDynamicPMNS`, which nothing reads (DYN-30).
///
/// # Returns
/// 0; `-EINVAL` when the prefix is not registered or NULL.
///
/// # Safety
/// `prefix` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicSetClusterMask(prefix: Option<CText<'_>>, mask: c_uint) -> c_int {
    let _ = mask;
    guard(|| {
        let prefix = prefix.ok_or(Error::INVAL)?;
        match library::peek() {
            Some(library) if library.dynamic.has(prefix.bytes()) => Ok(()),
            _ => Err(Error::INVAL),
        }
    })
}

/// A lookup in what is registered for an agent; for no agent nothing is found.
fn lookup<'call>(ext: Option<Ext<'call>>, key: LookupKey<'call>) -> Result<Lookup<'call>, Found> {
    let ext = ext.ok_or(None)?;
    Ok(Lookup::new(ext, registered(ext), key))
}

/// The tree of a registration as C gets it.
fn tree_of(callbacks: &Callbacks) -> *mut pmdaNameSpace {
    callbacks.tree.tree().map_or(ptr::null_mut(), Tree::as_ptr)
}

/// Finds the tree that has `name`, after all trees were brought up to date.
///
/// # Returns
/// The first such tree, which belongs to the agent, or NULL. Branches are found as well as leaves.
///
/// # Safety
/// `pmda` is NULL or valid, `name` NULL or a C string; the trees that the callbacks give are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDynamicLookupName(
    pmda: Option<Ext<'_>>,
    name: Option<CText<'_>>,
) -> *mut pmdaNameSpace {
    let found = drive(|| lookup(pmda, LookupKey::Name(name)), make);
    found.map_or(ptr::null_mut(), tree_of)
}

/// Finds the tree that has a name for `pmid`, after all trees were brought up to date.
///
/// # Returns
/// The first such tree, which belongs to the agent, or NULL.
///
/// # Safety
/// `pmda` is NULL or valid; the trees that the callbacks give are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDynamicLookupPMID(pmda: Option<Ext<'_>>, pmid: pmID) -> *mut pmdaNameSpace {
    let found = drive(|| lookup(pmda, LookupKey::Metric(MetricId(pmid))), make);
    found.map_or(ptr::null_mut(), tree_of)
}

/// Asks the text callback of the first registration that has a name for `pmid`, after all trees
/// were brought up to date.
///
/// # Returns
/// What the callback returns; `-ENOENT` when no registration has the metric, or it has no such
/// callback; `-EINVAL` when `buf` or `pmda` is NULL. The text at `buf` is the agent's.
///
/// # Safety
/// `buf` is NULL or valid for one write, `pmda` NULL or valid; the trees that the callbacks give
/// are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDynamicLookupText(
    pmid: pmID,
    r#type: c_int,
    buf: Out<'_, *mut c_char>,
    pmda: Option<Ext<'_>>,
) -> c_int {
    let Some(ext) = pmda.filter(|_| !buf.is_null()) else {
        return Error::INVAL.code();
    };
    let found = drive(|| lookup(pmda, LookupKey::Metric(MetricId(pmid))), make);
    let Some(text) = found.and_then(|callbacks| callbacks.text) else {
        return NOENT.code();
    };
    // SAFETY: the callback was registered with its type, by an agent that has promised that it
    // follows its contract; the extension is valid, and the place C's own, as the caller promises.
    unsafe { text(ext.as_ptr(), pmid, r#type, buf.as_ptr()) }
}

/// Gives an agent a new metric table: the metrics of the first registration, and behind them the
/// copies that the registrations ask for. The table belongs to the library until the next call.
///
/// # Safety
/// `pmda` is NULL or valid; what was registered, and the trees that the callbacks give, are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDynamicMetricTable(pmda: Option<Ext<'_>>) {
    drive(
        || pmda.and_then(|ext| Rebuild::new(ext, registered(ext))).ok_or(()),
        make,
    );
}
