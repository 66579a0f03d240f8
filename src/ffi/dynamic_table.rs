//! Metric tables with copies of what was registered: the work behind `pmdaDynamicMetricTable`.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::Ordering;

use super::dynamic::{Calls, registrations};
use super::lock::{Mutex, const_mutex, room};
use super::mark::outside;
use super::memory::Block;
use super::types::{pmdaExt, pmdaMetric};
use super::{arg, metric};
use crate::dynamic::{self, Snapshot};
use crate::error::{Error, Result};
use crate::ident::MetricId;

/// The addresses of the tables that `pmdaDynamicMetricTable` has made and not freed yet. A table that an agent has
/// put into `e_metrics` itself is not ours to free (N-7).
static TABLES: Mutex<Vec<usize>, { room::DYNAMIC_TABLES }> = const_mutex(Vec::new());

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
                    let slot = self.slot()?;
                    outside(|| copy(source, slot, id));
                }
            }
        }
        Ok(())
    }
}

impl Table {
    /// Hands the table over, with the number of its entries.
    fn into_raw(self) -> Result<(*mut pmdaMetric, c_int)> {
        let mut tables = TABLES.lock();
        tables.try_reserve(1).map_err(|_| Error::NOMEM)?;
        tables.push(self.block.as_ptr().addr());
        let count = c_int::try_from(self.counted.max(self.used)).unwrap_or(c_int::MAX);
        Ok((self.block.into_raw(), count))
    }
}

/// Whether a table was made here and not freed yet; now it counts as freed.
fn forget(table: *mut pmdaMetric) -> bool {
    let mut tables = TABLES.lock();
    let place = tables.iter().position(|address| *address == table.addr());
    place.is_some_and(|place| tables.swap_remove(place) == table.addr())
}

/// The table with the copies of all registrations; `None` when there is nothing to copy (DYN-20).
///
/// # Safety
/// As `up_to_date`; the registered metrics are valid.
unsafe fn grown(
    ext: *mut pmdaExt,
    all: &Snapshot<'_, Calls>,
    fixed: *const pmdaMetric,
    count: c_int,
) -> Result<Option<Table>> {
    let mut counts = Vec::new();
    counts.try_reserve_exact(all.len()).map_err(|_| Error::NOMEM)?;
    counts.extend(all.iter().map(|entry| entry.calls.counts()));
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
pub(super) unsafe fn metric_table(ext: *mut pmdaExt) {
    // SAFETY: `ext` is valid.
    let all = unsafe { registrations(ext) };
    let Some(first) = all.iter().next() else { return };
    let (fixed, count) = (first.calls.metrics.load(Ordering::Relaxed), first.calls.nmetrics);
    // SAFETY: the contract above.
    let grown = unsafe { grown(ext, &all, fixed, count) };
    let (table, count) = match grown.and_then(|table| table.map(Table::into_raw).transpose()) {
        Ok(Some(table)) => table,
        // Nothing to add, or no memory: the fixed part alone (DYN-20).
        Ok(None) | Err(_) => (fixed, count),
    };
    // SAFETY: `ext` is valid, and so is the table that it gets. The old one is freed only after it is out of use (N-17),
    // and only if it was made here.
    unsafe {
        let old = (*ext).e_metrics;
        metric::rehash(ext, table, count);
        if old != table && forget(old) {
            libc::free(old.cast());
        }
    }
}
