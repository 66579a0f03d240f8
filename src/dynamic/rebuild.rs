//! Metric tables with copies of registered metrics: the work of `pmdaDynamicMetricTable`.

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

/// A metric table that is being made: the metrics of the first registration, and behind them the
/// copies that all registrations ask for.
pub(crate) struct NewTable {
    /// The metrics of the first registration, which are in the table in any case.
    fixed: Lasting<pmdaMetric>,
    /// The number of metrics and copies that each registration announces, in the order of the
    /// registrations.
    counts: NoDropCell<Vec<Counts>>,
    /// The entries so far.
    table: NoDropCell<CVec<pmdaMetric>>,
    /// The number of entries that were announced. Agents fill in more, or fewer (N-6).
    announced: usize,
}

impl NewTable {
    /// A table that begins with the metrics of the first registration.
    pub(crate) fn new(first: &Callbacks) -> NewTable {
        NewTable {
            fixed: first.metrics,
            counts: NoDropCell::new(Vec::new()),
            table: NoDropCell::none(),
            announced: 0,
        }
    }

    /// Notes what the next registration announces.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn note(&mut self, counts: Counts) -> Result<()> {
        let all = self.counts.get().ok_or(Error::GENERIC)?;
        all.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        all.push(counts);
        Ok(())
    }

    /// Makes the table with the fixed entries, and room for the announced ones. Returns false, and
    /// makes none, if nothing is announced (DYN-20).
    ///
    /// # Errors
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

    /// The number of copies that a registration asks for, by the place of the registration.
    pub(crate) fn copies(&self, place: usize) -> c_int {
        let counts = self.counts.peek().and_then(|counts| counts.get(place));
        counts.map_or(0, |counts| counts.trees)
    }

    /// Gives the agent the table that was made; or the fixed entries alone, if there are no copies
    /// or no memory. Returns the agent's old table if it was made here: nobody uses it any more,
    /// and the caller frees it (N-17).
    pub(crate) fn finish(&mut self, token: &mut Token, ext: Ext<'_>, is_filled: bool) -> Option<MadeTable> {
        let table = self.table.take().filter(|_| is_filled);
        let table = table.and_then(|mut table| {
            // Entries that were announced and not filled in are zero.
            while table.len() < self.announced {
                table.push(pmdaMetric::zeroed()).ok()?;
            }
            state::lock(token).ok()?.made_tables.hand_over(table).ok()
        });
        drop(self.counts.take());
        let (old, new) = (ext.metrics(), table.unwrap_or(self.fixed));
        rehash(token, ext, new);
        if old.first() == new.seen().first() {
            return None;
        }
        state::peek(token)?.made_tables.take(old)
    }
}

/// The copies of one registration's metrics: all copies of one metric, then those of the next
/// (DYN-21). Metrics of which the tree has no name are left out.
pub(crate) struct Copies {
    from: &'static Callbacks,
    /// The place of the metric in the registered table.
    metric: usize,
    /// The number of the next copy; the first one has number 1.
    copy: c_int,
    /// The number of copies of each metric.
    copies: c_int,
}

/// A call of a registration's `metric` callback: function, metric to copy, place of the copy,
/// number of the copy.
type CopyCall = (Function<pmdaUpdateMetric>, *mut pmdaMetric, *mut pmdaMetric, c_int);

impl Copies {
    /// As many copies of each metric.
    pub(crate) fn new(from: &'static Callbacks, copies: c_int) -> Copies {
        Copies {
            from,
            metric: 0,
            copy: 1,
            copies,
        }
    }

    /// The call for the next copy, or `None` at the end. The place of the copy is an entry of the
    /// new table, which is zero, and stays where it is until the next step. The callback may change
    /// the registered table and the tree meanwhile.
    ///
    /// # Errors
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
