//! Dynamic metrics: trees of names that the agent updates, and the metric tables that are made of
//! them.
//!
//! The trees belong to the agent: its update callback gets the address of the pointer to a tree,
//! and stores the tree there or exchanges it (DYN-4). Lookups by name, by identifier and of help
//! texts have all trees updated first.

pub(crate) mod exports;

use std::ffi::c_int;

use crate::agent::{Callbacks, HashedTable, Registrations};
use crate::boundary::NoDropCell;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::arg::{CText, Shown};
use crate::view::interface::{Ext, Function};
use crate::view::memory::{AnyBytes, CVec, Lasting};
use crate::view::table::{MadeTable, Metric};
use crate::view::types::{pmdaMetric, pmdaUpdateMetric};
use pmda_core::constants::PMDA_EXT_FLAG_HASHED;
use pmda_core::dynamic::{self, Counts};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::log::Level;
use pmda_core::table_index::Hashed;

/// A walk over the registrations that serve an agent: its own, or those of the process if it has
/// none (DYN-3). It ends with the registration that was the last one at its start: callbacks may
/// register more meanwhile (N-9).
#[derive(Clone, Copy)]
pub(crate) struct CallbacksIter {
    /// The agent's own registrations, if it has any.
    own: Option<&'static Registrations>,
    /// The place of the next registration.
    next: usize,
    /// The number of registrations at the start.
    end: usize,
}

impl CallbacksIter {
    /// A walk over the registrations of an agent whose own ones are these.
    pub(crate) fn new(token: &mut Token, own: Option<&'static Registrations>) -> CallbacksIter {
        let own = own
            .map(|own| (own, own.lock(token).len()))
            .filter(|(_, count)| *count > 0);
        let of_process = || state::peek(token).map_or(0, |globals| globals.dynamic.len());
        CallbacksIter {
            own: own.map(|(own, _)| own),
            next: 0,
            end: own.map_or_else(of_process, |(_, count)| count),
        }
    }

    /// The callbacks of the next registration. A registration is never removed, so they stay.
    pub(crate) fn next(&mut self, token: &mut Token) -> Option<&'static Callbacks> {
        let index = self.next;
        if index == self.end {
            return None;
        }
        self.next += 1;
        let registration = match self.own {
            Some(own) => own.lock(token).get(index),
            None => state::peek(token)?.dynamic.get(index),
        };
        registration.map(|registration| &registration.calls)
    }
}

/// The key of a lookup in the trees.
#[derive(Clone, Copy)]
pub(crate) enum LookupKey<'call> {
    /// A name; `None`, for a NULL name, is found in no tree.
    Name(Option<CText<'call>>),
    /// A metric that has a name.
    Metric(MetricId),
}

/// The callbacks of the first registration whose tree has the key.
fn search(token: &mut Token, mut registrations: CallbacksIter, key: LookupKey<'_>) -> Option<&'static Callbacks> {
    let has = |callbacks: &Callbacks| {
        callbacks.tree.tree().is_some_and(|tree| match &key {
            LookupKey::Name(name) => name.is_some_and(|name| tree.find(name.bytes()).is_some()),
            LookupKey::Metric(pmid) => tree.knows(*pmid),
        })
    };
    loop {
        let callbacks = registrations.next(token)?;
        if has(callbacks) {
            return Some(callbacks);
        }
    }
}

/// A metric table that is being made: the metrics of the first registration, followed by the copies
/// that all registrations ask for.
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
        let fixed = self.fixed.view();
        self.announced = fixed.len().saturating_add(extra);
        c_int::try_from(self.announced).map_err(|_| Error::ENOMEM)?;
        let mut table = CVec::with_capacity(self.announced)?;
        for entry in fixed.entries() {
            table.push(entry)?;
        }
        self.table.set(table);
        Ok(true)
    }

    /// The number of copies that a registration asks for, by the index of the registration.
    pub(crate) fn copies(&self, registration: usize) -> c_int {
        let counts = self.counts.peek().and_then(|counts| counts.get(registration));
        counts.map_or(0, |counts| counts.trees)
    }

    /// Gives the agent the table that was made or, without copies or memory, the fixed entries
    /// alone. Returns the agent's old table if it was made here: nobody uses it any more, and the
    /// caller frees it (N-17).
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
        if old.first() == new.view().first() {
            return None;
        }
        state::peek(token)?.made_tables.take(old)
    }
}

/// The copies of one registration's metrics: all copies of one metric, then those of the next
/// (DYN-21). Metrics without a name in the tree are left out.
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
        while let Some(metric) = self.from.metrics.view().entry(self.metric) {
            let is_named = self.copy > 1 || self.from.tree.tree().is_some_and(|tree| tree.knows(metric.pmid()));
            if is_named && self.copy <= self.copies {
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

/// The body of `pmdaRehash`: builds the hash over a metric table, which the agent uses from now on.
/// `pmdaInit` and dynamic metrics use it as well (INIT-44, INIT-46). If there is no memory, the
/// table is searched, and the log says so.
pub(crate) fn rehash(token: &mut Token, ext: Ext<'_>, lasting: Lasting<pmdaMetric>) {
    let table = lasting.view();
    let built = state::any_agent(token, ext).and_then(|agent| {
        let pmids = (0..table.len()).map(|position| table.pmid(position));
        let (new, outcome) = match Hashed::build(pmids) {
            Ok(index) => (HashedTable { index, table: lasting }, Ok(())),
            Err(error) => (HashedTable::default(), Err(error)),
        };
        let old = std::mem::replace(&mut *agent.hash.lock(token), new);
        drop(old);
        outcome
    });
    ext.set_direct(0);
    ext.set_metrics(lasting);
    if built.is_ok() {
        ext.add_flags(PMDA_EXT_FLAG_HASHED);
    } else {
        ext.clear_flags(PMDA_EXT_FLAG_HASHED);
    }
    let name = Shown(ext.name());
    if built.is_err() {
        // Only a table with entries fails, so the table has a first entry.
        let pmid = table.entry(0).map_or(MetricId::NULL, Metric::pmid);
        log::notify!(
            token,
            Level::Warning,
            "pmdaRehash: PMDA {name}: Hashed mapping for metrics disabled @ metric[0] {pmid}"
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_line!(token, "pmdaRehash: PMDA {name}: successful rebuild");
    }
}
