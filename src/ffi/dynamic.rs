//! Dynamic metrics: `pmdaDynamic*` and `pmdaExtDynamicPMNS`.
//!
//! The trees belong to the agent: it stores and exchanges the pointer that its update callback is given (DYN-4).

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::arg;
use super::dynamic_table::metric_table;
use super::guard::guard;
use super::mark::outside;
use super::private;
use super::tree;
use super::types::{
    pmID, pmdaCountMetrics, pmdaExt, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use crate::dynamic::{Counts, List, Snapshot};
use crate::error::Error;
use crate::ident::MetricId;
use crate::libpcp::log;
use crate::log::Level;
use crate::log::Part::Show;

/// `ENOENT`: no registration knows the metric.
const NOENT: Error = Error::os(libc::ENOENT);

/// What an agent registers: callbacks, the metrics that they copy, and the place of its tree.
pub(crate) struct Calls {
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    pub(super) metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    pub(super) metrics: AtomicPtr<pmdaMetric>,
    pub(super) nmetrics: c_int,
    tree: AtomicPtr<pmdaNameSpace>,
}

impl Calls {
    /// Asks the agent to bring its tree up to date; tells whether metrics have changed (DYN-5).
    ///
    /// # Safety
    /// `ext` is what the agent expects in its callback.
    pub(super) unsafe fn update(&self, ext: *mut pmdaExt) -> bool {
        // SAFETY: the callback has this type and gets the place of its own tree, which never moves.
        self.update
            .is_some_and(|update| outside(|| unsafe { update(ext, self.tree.as_ptr()) }) != 0)
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        if let Some(ask) = self.counts {
            // SAFETY: the callback has this type; both places are valid for writes.
            outside(|| unsafe { ask(&raw mut counts.metrics, &raw mut counts.trees) });
        }
        counts
    }

    /// The tree that the agent has stored; NULL while there is none (N-4).
    fn tree(&self) -> *mut pmdaNameSpace {
        self.tree.load(Ordering::Relaxed)
    }

    /// Whether the tree has a name for `pmid`.
    ///
    /// # Safety
    /// The tree is NULL or valid, as DYN-4 asks of the agent.
    pub(super) unsafe fn knows(&self, pmid: MetricId) -> bool {
        // SAFETY: the contract is the same.
        unsafe { tree::knows(self.tree(), pmid) }
    }
}

/// The registrations of one agent, in its private record.
pub(crate) type Registrations = List<Calls>;

/// The registrations that serve every agent without its own (DYN-3).
static GLOBAL: Registrations = List::new();

/// The registrations that count for `ext`: its own, else the global ones (DYN-3).
///
/// # Safety
/// As [`private::of`].
pub(super) unsafe fn registrations(ext: *mut pmdaExt) -> Snapshot<'static, Calls> {
    // SAFETY: the contract is the same.
    let own = unsafe { private::of(ext) }.map(|record| record.dynamic.snapshot());
    own.filter(|own| !own.is_empty()).unwrap_or_else(|| GLOBAL.snapshot())
}

/// How every lookup begins: all trees are brought up to date, and the metric table if need be (DYN-10).
///
/// # Safety
/// `ext` is not NULL and valid.
unsafe fn up_to_date(ext: *mut pmdaExt) -> Snapshot<'static, Calls> {
    // SAFETY: `ext` is valid.
    unsafe {
        let all = registrations(ext);
        let mut changed = false;
        for entry in all.iter() {
            changed |= entry.calls.update(ext);
        }
        if changed {
            metric_table(ext);
        }
        all
    }
}

/// Registers a tree of dynamic names, for all agents of the process that have none of their own.
///
/// `update` brings the tree up to date and tells whether metrics have changed, `text` gives help, `metric` fills in
/// copies of `metrics`, `counts` tells how many. Each may be NULL. `prefix` names the registration for
/// `pmdaDynamicSetClusterMask`; `clusters` is not looked at.
///
/// # Safety
/// `prefix` is NULL or a C string; `metrics` is NULL or has `nmetrics` entries, for ever; the callbacks have these types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicPMNS(
    prefix: *const c_char,
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
    let calls = calls(update, text, metric, counts, metrics, nmetrics);
    // SAFETY: the contract is the same.
    guard(|| unsafe { register("pmdaDynamicPMNS", &GLOBAL, prefix, calls) });
}

/// Registers a tree of dynamic names for one agent, which then does not see those of `pmdaDynamicPMNS` any more.
///
/// # Safety
/// As `pmdaDynamicPMNS`; `ext` is NULL or was set up by `pmdaDaemon` or `pmdaDSO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaExtDynamicPMNS(
    prefix: *const c_char,
    clusters: *mut c_int,
    nclusters: c_int,
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
    ext: *mut pmdaExt,
) {
    let _ = (clusters, nclusters);
    let calls = calls(update, text, metric, counts, metrics, nmetrics);
    // SAFETY: the contract is the same.
    guard(|| match unsafe { private::of(ext) } {
        // SAFETY: the contract is the same.
        Some(record) => unsafe { register("pmdaExtDynamicPMNS", &record.dynamic, prefix, calls) },
        None => log::notify(
            Level::Err,
            b"pmdaExtDynamicPMNS: the agent was not set up by pmdaDaemon or pmdaDSO",
        ),
    });
}

/// Appends a registration, or says that there is no memory for it.
///
/// # Safety
/// `prefix` is NULL or a C string.
unsafe fn register(caller: &str, list: &Registrations, prefix: *const c_char, calls: Calls) {
    // SAFETY: the contract is the same.
    if let Err(error) = list.add(unsafe { arg::bytes(prefix) }, calls) {
        let reason = log::errstr(error);
        log::notify_parts(Level::Err, &[Show(&format_args!("{caller}: {reason}"))]);
    }
}

fn calls(
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: *mut pmdaMetric,
    nmetrics: c_int,
) -> Calls {
    Calls {
        update,
        text,
        metric,
        counts,
        metrics: AtomicPtr::new(metrics),
        nmetrics: if metrics.is_null() { 0 } else { nmetrics },
        tree: AtomicPtr::new(ptr::null_mut()),
    }
}

/// Records a mask for the cluster numbers below a prefix that was registered with `pmdaDynamicPMNS`. It has no effect.
///
/// # Returns
/// 0; `-EINVAL` when the prefix is not registered or NULL.
///
/// # Safety
/// `prefix` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicSetClusterMask(prefix: *const c_char, mask: c_uint) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string, as the contract above says.
        let prefix = unsafe { arg::bytes(prefix) }.ok_or(Error::INVAL)?;
        if GLOBAL.set_mask(prefix, mask) {
            Ok(())
        } else {
            Err(Error::INVAL)
        }
    })
}

/// Finds the tree that has `name`, after all trees were brought up to date.
///
/// # Returns
/// The first such tree, which belongs to the agent, or NULL. Branches are found as well as leaves.
///
/// # Safety
/// `pmda` is NULL or valid, `name` NULL or a C string; the trees that the callbacks give are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicLookupName(pmda: *mut pmdaExt, name: *const c_char) -> *mut pmdaNameSpace {
    guard(|| {
        if pmda.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the contract above.
        let all = unsafe { up_to_date(pmda) };
        // SAFETY: the contract above.
        let found = all
            .iter()
            .map(|entry| entry.calls.tree())
            .find(|tree| unsafe { tree::find(*tree, name) }.is_some());
        found.unwrap_or(ptr::null_mut())
    })
}

/// Finds the tree that has a name for `pmid`, after all trees were brought up to date.
///
/// # Returns
/// The first such tree, which belongs to the agent, or NULL.
///
/// # Safety
/// `pmda` is NULL or valid; the trees that the callbacks give are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicLookupPMID(pmda: *mut pmdaExt, pmid: pmID) -> *mut pmdaNameSpace {
    guard(|| {
        if pmda.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the contract above.
        let all = unsafe { up_to_date(pmda) };
        // SAFETY: the contract above.
        let found = all.iter().find(|entry| unsafe { entry.calls.knows(MetricId(pmid)) });
        found.map_or(ptr::null_mut(), |entry| entry.calls.tree())
    })
}

/// Asks the text callback of the first registration that has a name for `pmid`, after all trees were brought up to date.
///
/// # Returns
/// What the callback returns; `-ENOENT` when no registration has the metric, or it has no such callback; `-EINVAL` when
/// `buf` or `pmda` is NULL. The text at `buf` is the agent's.
///
/// # Safety
/// `buf` is NULL or valid for one write, `pmda` NULL or valid; the trees that the callbacks give are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicLookupText(
    pmid: pmID,
    r#type: c_int,
    buf: *mut *mut c_char,
    pmda: *mut pmdaExt,
) -> c_int {
    guard(|| {
        if pmda.is_null() || buf.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: the contract above.
        let all = unsafe { up_to_date(pmda) };
        // SAFETY: the contract above.
        let found = all.iter().find(|entry| unsafe { entry.calls.knows(MetricId(pmid)) });
        let text = found.and_then(|entry| entry.calls.text).ok_or(NOENT)?;
        // SAFETY: the callback has this type, and the arguments that it was registered for.
        Ok(outside(|| unsafe { text(pmda, pmid, r#type, buf) }))
    })
}

/// Gives an agent a new metric table: the metrics of the first registration, and behind them the copies that the
/// registrations ask for. The table belongs to the library until the next call.
///
/// # Safety
/// `pmda` is NULL or valid; what was registered, and the trees that the callbacks give, are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaDynamicMetricTable(pmda: *mut pmdaExt) {
    guard(|| {
        if !pmda.is_null() {
            // SAFETY: the contract above.
            unsafe { metric_table(pmda) };
        }
    });
}
