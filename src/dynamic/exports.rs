//! Dynamic metrics: `pmdaDynamic*` and `pmdaExtDynamicPMNS`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use crate::agent::{Callbacks, Registrations};
use crate::boundary::{Guarded, guard, guarded, try_guarded};
use crate::dynamic::{CallbacksIter, LookupKey, search};
use crate::dynamic::{Copies, NewTable};
use crate::state;
use crate::sys::libpcp::log;
use crate::sys::lock::Token;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, Out};
use crate::view::interface::Ext;
use crate::view::memory::Lasting;
use crate::view::names::{Tree, TreeCell};
use crate::view::types::{
    pmID, pmdaCountMetrics, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use pmda_core::dynamic::Counts;
use pmda_core::error::Error;
use pmda_core::ident::MetricId;
use pmda_core::log::Level;

/// `ENOENT`: no registration knows the metric.
const NOENT: Error = Error::os(libc::ENOENT);

/// A walk over the registrations that serve an agent.
fn registered(token: &mut Token, ext: Ext<'_>) -> CallbacksIter {
    let agent = state::agent(token, ext);
    CallbacksIter::new(token, agent.map(|record| &record.dynamic))
}

/// Has the agent update a tree. Returns whether metrics have changed (DYN-5).
fn update(ext: Ext<'_>, callbacks: &Callbacks) -> bool {
    let Some(update) = callbacks.update else { return false };
    // SAFETY: the agent has registered the callback, and promised that it does what its type says.
    // The extension is valid. The place is static, and holds NULL or what this callback has stored
    // there.
    unsafe { update(ext.as_ptr(), callbacks.tree.as_ptr()) != 0 }
}

/// A lookup: has all trees updated, makes a new metric table if metrics have changed (DYN-10), and
/// searches the trees. Without an agent nothing is found.
///
/// # Errors
/// Those of [`guarded`].
fn lookup(ext: Option<Ext<'_>>, key: LookupKey<'_>) -> Guarded<Option<&'static Callbacks>> {
    let Some(ext) = ext else { return Ok(None) };
    let registrations = guarded(|token| registered(token, ext))?;
    let (mut walk, mut has_changed) = (registrations, false);
    while let Some(callbacks) = guarded(|token| walk.next(token))? {
        has_changed |= update(ext, callbacks);
    }
    if has_changed {
        rebuild(ext, registrations)?;
    }
    guarded(|token| search(token, registrations, key))
}

/// Makes a new metric table for an agent, and frees the old one if it was made here.
///
/// # Errors
/// Those of [`guarded`].
fn rebuild(ext: Ext<'_>, registrations: CallbacksIter) -> Guarded<()> {
    let new = guarded(|token| { registrations }.next(token).map(NewTable::new))?;
    let Some(mut table) = new else { return Ok(()) };
    let filled = fill(&mut table, ext, registrations);
    if let Some(old) = guarded(|token| table.finish(token, ext, filled.is_ok()))? {
        // SAFETY: `finish` has given the agent another table (N-17). Views of the old one end with
        // the call that they came in by, and this step has none.
        unsafe { old.free() };
    }
    Ok(())
}

/// Asks all registrations for their counts (DYN-20). If a count is above 0, makes the table; each
/// registration then updates its tree once more and fills in its copies.
///
/// # Errors
/// Those of [`guarded`]; `-ENOMEM`.
fn fill(table: &mut NewTable, ext: Ext<'_>, registrations: CallbacksIter) -> Guarded<()> {
    let mut walk = registrations;
    while let Some(callbacks) = guarded(|token| walk.next(token))? {
        let mut counts = Counts::default();
        if let Some(count) = callbacks.counts {
            // SAFETY: the agent has registered the callback, and promised that it does what its
            // type says: it writes two numbers. They are in this frame.
            unsafe { count(&raw mut counts.metrics, &raw mut counts.trees) };
        }
        try_guarded(|_| table.note(counts))?;
    }
    if !try_guarded(|_| table.make())? {
        return Ok(());
    }
    walk = registrations;
    for registration in 0.. {
        let Some(callbacks) = guarded(|token| walk.next(token))? else {
            break;
        };
        let mut copies = Copies::new(callbacks, table.copies(registration));
        update(ext, callbacks);
        while let Some((copy, source, target, number)) = try_guarded(|_| copies.next(table))? {
            // SAFETY: the agent has registered the callback, and promised that it does what its
            // type says: it reads a metric of the registered table, which is valid, and writes an
            // entry of the new table, which nobody else uses until the next step.
            unsafe { copy(source, target, number) };
        }
    }
    Ok(())
}

/// Registers a tree of dynamic names, for all agents of the process that have none of their own.
///
/// `update` updates the tree and returns whether metrics have changed, `text` returns help texts,
/// `metric` fills in copies of `metrics`, `counts` returns how many. Each may be NULL. `prefix`
/// names the registration for `pmdaDynamicSetClusterMask`; `clusters` is ignored.
///
/// # Safety
/// `prefix` is NULL or a C string; `metrics` is NULL or has `nmetrics` entries that are never
/// freed. The callbacks may be called for as long as the process runs, and do what their types say:
/// `update` stores NULL or a tree at the place that it gets; the tree stays valid for as long as it
/// is stored there.
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
    // SAFETY: NULL, or `nmetrics` entries that are never freed, as the caller promises.
    let metrics = unsafe { Lasting::new(metrics, nmetrics) };
    let callbacks = callbacks(update, text, metric, counts, metrics);
    guard(|token| register(token, "pmdaDynamicPMNS", None, prefix, callbacks));
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
    // SAFETY: as in `pmdaDynamicPMNS`.
    let metrics = unsafe { Lasting::new(metrics, nmetrics) };
    let callbacks = callbacks(update, text, metric, counts, metrics);
    guard(|token| match ext.and_then(|ext| state::agent(token, ext)) {
        Some(record) => register(token, "pmdaExtDynamicPMNS", Some(&record.dynamic), prefix, callbacks),
        None => log::notify!(
            token,
            Level::Err,
            "pmdaExtDynamicPMNS: the agent was not set up by pmdaDaemon or pmdaDSO"
        ),
    });
}

/// Appends a registration, or logs why not.
fn register(
    token: &mut Token,
    caller: &str,
    own: Option<&Registrations>,
    prefix: Option<CText<'_>>,
    callbacks: Callbacks,
) {
    let prefix = prefix.as_ref().map(CText::bytes);
    let done = match own {
        Some(own) => own.lock(token).add(prefix, callbacks),
        None => state::lock(token).and_then(|globals| globals.dynamic.add(prefix, callbacks)),
    };
    if let Err(error) = done {
        let reason = log::errstr(error);
        log::notify!(token, Level::Err, "{caller}: {reason}");
    }
}

/// A registration whose place for a tree is still empty.
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
        metrics: if metrics.view().first().is_null() {
            Lasting::EMPTY
        } else {
            metrics
        },
        tree: TreeCell::new(),
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
    guard(|token| -> Refusable<()> {
        let prefix = prefix.needed(&"prefix")?;
        match state::peek(token) {
            Some(globals) if globals.dynamic.has(prefix.bytes()) => Ok(()),
            _ => Err(Error::EINVAL.into()),
        }
    })
}

/// The tree that a lookup has found, for C; NULL without one.
fn tree_of(lookup: Guarded<Option<&Callbacks>>) -> *mut pmdaNameSpace {
    let tree = lookup.ok().flatten().and_then(|callbacks| callbacks.tree.tree());
    tree.map_or(ptr::null_mut(), Tree::as_ptr)
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
    tree_of(lookup(pmda, LookupKey::Name(name)))
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
    tree_of(lookup(pmda, LookupKey::Metric(MetricId(pmid))))
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
        return Error::EINVAL.code();
    };
    let callbacks = lookup(pmda, LookupKey::Metric(MetricId(pmid))).ok().flatten();
    let Some(text) = callbacks.and_then(|callbacks| callbacks.text) else {
        return NOENT.code();
    };
    // SAFETY: the agent has registered the callback, and promised that it does what its type says.
    // The extension is valid, and `buf` is the caller's. This frame has nothing to drop.
    unsafe { text(ext.as_ptr(), pmid, r#type, buf.as_ptr()) }
}

/// Makes a new metric table for an agent: the metrics of the first registration, followed by the
/// copies that the registrations ask for. The table belongs to the library, which frees it when the
/// agent gets another one.
///
/// # Safety
/// `pmda` is NULL or valid; what was registered, and the trees that the callbacks give, are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaDynamicMetricTable(pmda: Option<Ext<'_>>) {
    if let Some(ext) = pmda {
        // The function returns nothing, so a failure cannot be reported.
        let _ = guarded(|token| registered(token, ext)).and_then(|registrations| rebuild(ext, registrations));
    }
}
