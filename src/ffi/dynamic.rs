//! Dynamic metrics: `pmdaDynamic*` and `pmdaExtDynamicPMNS`.
//!
//! The trees belong to the agent: it stores and exchanges the pointer that its update callback is given (DYN-4).

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::lock::Mutex;

use super::arg;
use super::guard::guard;
use super::memory::Block;
use super::metric;
use super::private;
use super::tree;
use super::types::{
    pmID, pmdaCountMetrics, pmdaExt, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use crate::dynamic::{self, Counts, List, Snapshot};
use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::libpcp::log;
use crate::log::Level;

/// `ENOENT`: no registration knows the metric.
const NOENT: Error = Error::os(libc::ENOENT);

/// What an agent registers: callbacks, the metrics that they copy, and the place of its tree.
pub(crate) struct Calls {
    update: pmdaUpdatePMNS,
    text: pmdaUpdateText,
    metric: pmdaUpdateMetric,
    counts: pmdaCountMetrics,
    metrics: AtomicPtr<pmdaMetric>,
    nmetrics: c_int,
    tree: AtomicPtr<pmdaNameSpace>,
}

impl Calls {
    /// Asks the agent to bring its tree up to date; tells whether metrics have changed (DYN-5).
    ///
    /// # Safety
    /// `ext` is what the agent expects in its callback.
    unsafe fn update(&self, ext: *mut pmdaExt) -> bool {
        // SAFETY: the callback has this type and gets the place of its own tree, which never moves.
        self.update
            .is_some_and(|update| unsafe { update(ext, self.tree.as_ptr()) } != 0)
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        if let Some(ask) = self.counts {
            // SAFETY: the callback has this type; both places are valid for writes.
            unsafe { ask(&raw mut counts.metrics, &raw mut counts.trees) };
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
    unsafe fn knows(&self, pmid: MetricId) -> bool {
        // SAFETY: the contract is the same.
        unsafe { tree::knows(self.tree(), pmid) }
    }
}

/// The registrations of one agent, in its private record.
pub(crate) type Registrations = List<Calls>;

/// The registrations that serve every agent without its own (DYN-3).
static GLOBAL: Registrations = List::new();

/// The addresses of the tables that [`pmdaDynamicMetricTable`] has made and not freed yet. A table that an agent has
/// put into `e_metrics` itself is not ours to free (N-7).
static TABLES: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The registrations that count for `ext`: its own, else the global ones (DYN-3).
///
/// # Safety
/// As [`private::of`].
unsafe fn registrations(ext: *mut pmdaExt) -> Snapshot<Calls> {
    // SAFETY: the contract is the same.
    let own = unsafe { private::of(ext) }.and_then(|record| record.dynamic.snapshot());
    own.or_else(|| GLOBAL.snapshot()).unwrap_or_default()
}

/// How every lookup begins: all trees are brought up to date, and the metric table if need be (DYN-10).
///
/// # Safety
/// `ext` is not NULL and valid.
unsafe fn up_to_date(ext: *mut pmdaExt) -> Snapshot<Calls> {
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

/// A metric table that grows: agents have been seen to count less than they fill in (N-6).
struct Table {
    block: Block<pmdaMetric>,
    capacity: usize,
    used: usize,
    counted: usize,
}

impl Table {
    /// A table with the fixed entries in front, and places for `extra` more, all zero.
    fn new(fixed: &[pmdaMetric], extra: usize) -> Result<Table> {
        let capacity = fixed.len().saturating_add(extra);
        c_int::try_from(capacity).map_err(|_| Error::NOMEM)?;
        let block = Block::zeroed(capacity)?;
        // SAFETY: the new block has room for the fixed entries, and cannot overlap with them.
        unsafe { ptr::copy_nonoverlapping(fixed.as_ptr(), block.as_ptr(), fixed.len()) };
        Ok(Table {
            block,
            capacity,
            used: fixed.len(),
            counted: capacity,
        })
    }

    /// The next free entry, zero.
    fn slot(&mut self) -> Result<*mut pmdaMetric> {
        if self.used == self.capacity {
            let capacity = self.capacity.saturating_mul(2).max(8);
            c_int::try_from(capacity).map_err(|_| Error::NOMEM)?;
            let larger = Block::zeroed(capacity)?;
            // SAFETY: the larger block has room for all entries of the old one.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.used) };
            self.block = larger;
            self.capacity = capacity;
        }
        self.used += 1;
        // SAFETY: the block has `capacity` entries, of which fewer than that were used.
        Ok(unsafe { self.block.as_ptr().add(self.used - 1) })
    }

    /// Lets the callback of a registration copy its metrics, all copies of one before the next one (DYN-21).
    ///
    /// # Safety
    /// The registered metrics and the tree are valid, as registering asks of the agent.
    unsafe fn fill(&mut self, calls: &Calls, copies: c_int) -> Result<()> {
        let Some(copy) = calls.metric else { return Ok(()) };
        for number in 0..usize::try_from(calls.nmetrics).unwrap_or(0) {
            // SAFETY: within the registered table. The callback may change it, so no reference is kept; it gets a free
            // entry of the new table, which lives until the callback is back.
            unsafe {
                let source = calls.metrics.load(Ordering::Relaxed).add(number);
                if !calls.knows(MetricId((*source).m_desc.pmid)) {
                    continue;
                }
                for id in 1..=copies {
                    copy(source, self.slot()?, id);
                }
            }
        }
        Ok(())
    }
}

/// The table with the copies of all registrations; `None` when there is nothing to copy (DYN-20).
///
/// # Safety
/// As [`up_to_date`]; the registered metrics are valid.
unsafe fn grown(
    ext: *mut pmdaExt,
    all: &Snapshot<Calls>,
    fixed: *const pmdaMetric,
    count: c_int,
) -> Result<Option<Table>> {
    let counts: Vec<_> = all.iter().map(|entry| entry.calls.counts()).collect();
    let extra = dynamic::extra(counts.iter().copied());
    if extra == 0 {
        return Ok(None);
    }
    // SAFETY: the registered metrics are valid. The slice is copied at once, before any callback runs.
    let mut table = Table::new(unsafe { arg::slice(fixed, count) }, extra)?;
    for (entry, counts) in all.iter().zip(counts) {
        // SAFETY: `ext` and what was registered are valid.
        unsafe {
            entry.calls.update(ext);
            table.fill(&entry.calls, counts.trees)?;
        }
    }
    Ok(Some(table))
}

/// The body of `pmdaDynamicMetricTable`.
///
/// # Safety
/// `ext` is not NULL and valid; what was registered for it is valid.
unsafe fn metric_table(ext: *mut pmdaExt) {
    // SAFETY: `ext` is valid.
    let all = unsafe { registrations(ext) };
    let Some(first) = all.first() else { return };
    let (fixed, count) = (first.calls.metrics.load(Ordering::Relaxed), first.calls.nmetrics);
    // SAFETY: the contract above.
    let (table, count) = match unsafe { grown(ext, &all, fixed, count) } {
        Ok(Some(table)) => {
            let count = c_int::try_from(table.counted.max(table.used)).unwrap_or(c_int::MAX);
            let table = table.block.into_raw();
            TABLES.lock().insert(table.addr());
            (table, count)
        }
        // Nothing to add, or no memory: the fixed part alone (DYN-20).
        Ok(None) | Err(_) => (fixed, count),
    };
    // SAFETY: `ext` is valid, and so is the table that it gets. The old one is freed only after it is out of use (N-17),
    // and only if it was made here.
    unsafe {
        let old = (*ext).e_metrics;
        metric::rehash(ext, table, count);
        if old != table && TABLES.lock().remove(&old.addr()) {
            libc::free(old.cast());
        }
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
    guard(|| {
        let _ = (clusters, nclusters);
        let calls = calls(update, text, metric, counts, metrics, nmetrics);
        // SAFETY: NULL or a C string, as the contract above says.
        GLOBAL.add(unsafe { arg::bytes(prefix) }, calls);
    });
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
    guard(|| {
        let _ = (clusters, nclusters);
        // SAFETY: NULL or set up by this library, as the contract above says.
        let Some(record) = (unsafe { private::of(ext) }) else {
            log::notify(
                Level::Err,
                b"pmdaExtDynamicPMNS: the agent was not set up by pmdaDaemon or pmdaDSO",
            );
            return;
        };
        let calls = calls(update, text, metric, counts, metrics, nmetrics);
        // SAFETY: NULL or a C string, as the contract above says.
        record.dynamic.add(unsafe { arg::bytes(prefix) }, calls);
    });
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
        Ok(unsafe { text(pmda, pmid, r#type, buf) })
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
