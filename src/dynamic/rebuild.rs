//! Metric tables with copies of what was registered: the work behind `pmdaDynamicMetricTable`.

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

/// A new metric table: the metrics of the first registration, and behind them the copies that all
/// registrations ask for.
pub(crate) struct NewTable {
    /// The metrics that are in the table in any case.
    fixed: Lasting<pmdaMetric>,
    /// The metrics that each registration adds, in their order.
    counts: NoDropCell<Vec<Counts>>,
    table: NoDropCell<CVec<pmdaMetric>>,
    /// The number of entries that were announced. Agents have been seen to fill in more, and less
    /// (N-6).
    announced: usize,
}

impl NewTable {
    /// One that begins with the metrics of the first registration.
    pub(crate) fn new(first: &Callbacks) -> NewTable {
        NewTable {
            fixed: first.metrics,
            counts: NoDropCell::new(Vec::new()),
            table: NoDropCell::none(),
            announced: 0,
        }
    }

    /// Notes what the next registration wants to add.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn note(&mut self, counts: Counts) -> Result<()> {
        let all = self.counts.get().ok_or(Error::GENERIC)?;
        all.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        all.push(counts);
        Ok(())
    }

    /// Makes the table with the fixed entries, and room for what was announced. There is none when
    /// nothing is to be added (DYN-20).
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

    /// The number of copies of its metrics that a registration wants, by its place.
    pub(crate) fn copies(&self, place: usize) -> c_int {
        let counts = self.counts.peek().and_then(|counts| counts.get(place));
        counts.map_or(0, |counts| counts.trees)
    }

    /// Gives the table to an agent: the one that was made, or, when there is nothing to add or no
    /// memory, the fixed entries alone. The old table, if it was made here, is to be freed: it is
    /// out of use now (N-17).
    pub(crate) fn finish(&mut self, token: &mut Token, ext: Ext<'_>, is_filled: bool) -> Option<MadeTable> {
        let made = self.table.take().filter(|_| is_filled);
        let made = made.and_then(|mut table| {
            // What was announced and not filled in is zero.
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

/// The copies of one registration's metrics: all copies of one metric come before the next
/// (DYN-21). Metrics that the tree has no name for are left out.
pub(crate) struct Copies {
    from: &'static Callbacks,
    /// The place of the metric in the registered table.
    metric: usize,
    /// The number of the next copy; the first one has number 1.
    copy: c_int,
    copies: c_int,
}

/// The arguments of a callback that copies.
type CopyCall = (Function<pmdaUpdateMetric>, *mut pmdaMetric, *mut pmdaMetric, c_int);

impl Copies {
    /// So many copies of each metric.
    pub(crate) fn new(from: &'static Callbacks, copies: c_int) -> Copies {
        Copies {
            from,
            metric: 0,
            copy: 1,
            copies,
        }
    }

    /// The next copy: the callback, the metric, where the copy goes, and its number. The callback
    /// may change the registered table and the tree.
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
