//! Metric tables with copies: the work of `pmdaDynamicMetricTable`.

use std::ffi::c_int;

use crate::agent::lookup::rehash;
use crate::boundary::NoDropCell;
use crate::state;
use crate::state::callbacks::Callbacks;
use crate::sys::lock::Token;
use crate::view::interface::{Ext, Function};
use crate::view::memory::{AnyBytes, CVec, Lasting};
use crate::view::table::MadeTable;
use crate::view::types::{pmdaMetric, pmdaUpdateMetric};
use pmda_core::dynamic::{self, Counts};
use pmda_core::error::{Error, Result};

/// A new metric table: the metrics of the first registration, and the copies of all registrations.
pub(crate) struct NewTable {
    /// The metrics of the first registration.
    fixed: Lasting<pmdaMetric>,
    /// The counts of each registration.
    counts: NoDropCell<Vec<Counts>>,
    table: NoDropCell<CVec<pmdaMetric>>,
    /// The number of announced entries. Agents fill in more, or less (N-6).
    announced: usize,
}

impl NewTable {
    pub(crate) fn new(first: &Callbacks) -> NewTable {
        NewTable {
            fixed: first.metrics,
            counts: NoDropCell::new(Vec::new()),
            table: NoDropCell::none(),
            announced: 0,
        }
    }

    /// Notes the counts of the next registration.
    pub(crate) fn note(&mut self, counts: Counts) -> Result<()> {
        let all = self.counts.get().ok_or(Error::GENERIC)?;
        all.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        all.push(counts);
        Ok(())
    }

    /// Makes the table with the fixed entries, and room for the announced ones; returns false if
    /// there are none (DYN-20).
    /// `-ENOMEM`.
    pub(crate) fn make(&mut self) -> Result<bool> {
        let counts = self.counts.get().ok_or(Error::GENERIC)?;
        let extra = dynamic::extra(counts.iter().copied());
        if extra == 0 {
            return Ok(false);
        }
        let fixed = self.fixed.seen();
        self.announced = fixed.len().saturating_add(extra);
        c_int::try_from(self.announced).map_err(|_| Error::ENOMEM)?;
        let mut table = CVec::with_capacity(self.announced)?;
        for entry in fixed.entries() {
            table.push(entry.get())?;
        }
        self.table.set(table);
        Ok(true)
    }

    /// The number of copies of a registration's metrics.
    pub(crate) fn copies(&self, place: usize) -> c_int {
        let counts = self.counts.peek().and_then(|counts| counts.get(place));
        counts.map_or(0, |counts| counts.trees)
    }

    /// Gives the table to an agent, or the fixed entries alone without copies or memory. Returns
    /// the old table, if it was made here, to be freed (N-17).
    pub(crate) fn finish(&mut self, token: &mut Token, ext: Ext<'_>, is_filled: bool) -> Option<MadeTable> {
        let made = self.table.take().filter(|_| is_filled);
        let made = made.and_then(|mut table| {
            // Zeros for missing copies.
            while table.len() < self.announced {
                table.push(pmdaMetric::zeroed()).ok()?;
            }
            state::lock(token).ok()?.made_tables.hand_over(table).ok()
        });
        drop(self.counts.take());
        let (old, new) = (ext.metrics(), made.unwrap_or(self.fixed));
        rehash(token, ext, new);
        if old.first() == new.seen().first() {
            return None;
        }
        state::peek(token)?.made_tables.take(old)
    }
}

/// The copies of one registration's metrics, metric by metric (DYN-21), without those that the tree
/// has no name for.
pub(crate) struct Copies {
    from: &'static Callbacks,
    /// The place of the metric in the registered table.
    metric: usize,
    /// The number of the next copy, from 1.
    copy: c_int,
    copies: c_int,
}

/// The arguments of a copy callback.
type CopyCall = (Function<pmdaUpdateMetric>, *mut pmdaMetric, *mut pmdaMetric, c_int);

impl Copies {
    pub(crate) fn new(from: &'static Callbacks, copies: c_int) -> Copies {
        Copies {
            from,
            metric: 0,
            copy: 1,
            copies,
        }
    }

    /// The next copy: callback, metric, place of the copy, and number. The callback may change the
    /// registered table and the tree.
    /// `-ENOMEM`.
    pub(crate) fn next(&mut self, new: &mut NewTable) -> Result<Option<CopyCall>> {
        let Some(copy) = self.from.metric else { return Ok(None) };
        while let Some(metric) = self.from.metrics.seen().entry(self.metric) {
            let known = self.copy > 1 || self.from.tree.tree().is_some_and(|tree| tree.knows(metric.pmid()));
            if known && self.copy <= self.copies {
                let table = new.table.get().ok_or(Error::GENERIC)?;
                let target = table.push(pmdaMetric::zeroed())?;
                self.copy += 1;
                return Ok(Some((copy, metric.as_ptr(), target, self.copy - 1)));
            }
            self.metric += 1;
            self.copy = 1;
        }
        Ok(None)
    }
}
