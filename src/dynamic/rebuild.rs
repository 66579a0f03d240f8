//! Metric tables with copies of what was registered: the work behind `pmdaDynamicMetricTable`.

use std::ffi::c_int;

use crate::drive::{Machine, NoDropCell, Step};
use crate::dynamic::Call;
use crate::dynamic::Callbacks;
use crate::dynamic::DynamicAnswer;
use crate::dynamic::Walk;
use crate::dynamic::update;
use crate::fetch::lookup::rehash;
use crate::library;
use crate::view::agent::{Ext, Function};
use crate::view::memory::{AnyBytes, CVec, Lasting};
use crate::view::types::{pmdaMetric, pmdaUpdateMetric};
use pmda_core::dynamic::{self, Counts};
use pmda_core::error::{Error, Result};

/// Gives an agent a new metric table: the metrics of the first registration, and behind them the
/// copies that all registrations ask for.
pub(crate) struct Rebuild<'call> {
    ext: Ext<'call>,
    /// The metrics that are in the table in any case.
    fixed: Lasting<pmdaMetric>,
    registrations: Walk,
    /// What each registration wants to add, in their order.
    counts: NoDropCell<Vec<Counts>>,
    table: NoDropCell<CVec<pmdaMetric>>,
    /// The number of entries that were announced. Agents have been seen to fill in more, and less
    /// (N-6).
    announced: usize,
    position: Position,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Position {
    /// To ask the registrations for their counts.
    Count(Walk),
    /// To have the trees of the registrations brought up to date once more, and their metrics
    /// copied.
    Update(Walk, usize),
    /// To have the metrics of one registration copied.
    Copy(Copying),
    /// To have the old table freed.
    Free,
}

/// The copies of one registration's metrics: all copies of one metric come before the next
/// (DYN-21).
#[derive(Clone, Copy)]
struct Copying {
    from: &'static Callbacks,
    /// The place of the metric in the registered table.
    metric: usize,
    /// The number of the next copy; the first one has number 1.
    copy: c_int,
    copies: c_int,
    later: Walk,
    /// The place of the next registration.
    next: usize,
}

impl<'call> Rebuild<'call> {
    /// Prepares a new table for an agent; `None` when nothing is registered.
    pub(crate) fn new(ext: Ext<'call>, registrations: Walk) -> Option<Rebuild<'call>> {
        let first = { registrations }.next()?;
        Some(Rebuild {
            ext,
            fixed: first.calls.metrics,
            registrations,
            counts: NoDropCell::new(Vec::new()),
            table: NoDropCell::none(),
            announced: 0,
            position: Position::Count(registrations),
        })
    }

    /// Goes on to the next call; `None` when all copies are made.
    fn advance(&mut self) -> Result<Option<Call<'call>>> {
        loop {
            match &mut self.position {
                Position::Count(walk) => match walk.next().map(|entry| entry.calls.counts) {
                    Some(Some(count)) => return Ok(Some(Call::Count(count))),
                    Some(None) => self.note(Counts::default())?,
                    None => {
                        if !self.make_table()? {
                            return Ok(None);
                        }
                        self.position = Position::Update(self.registrations, 0);
                    }
                },
                Position::Update(walk, place) => {
                    let Some(entry) = walk.next() else { return Ok(None) };
                    let copies = self.counts.get().and_then(|counts| counts.get(*place));
                    let copying = Copying {
                        from: &entry.calls,
                        metric: 0,
                        copy: 1,
                        copies: copies.map_or(0, |counts| counts.trees),
                        later: *walk,
                        next: *place + 1,
                    };
                    self.position = Position::Copy(copying);
                    if let Some(call) = update(&entry.calls, self.ext) {
                        return Ok(Some(call));
                    }
                }
                Position::Copy(copying) => match copying.next() {
                    Some((copy, source, number)) => {
                        let table = self.table.get().ok_or(Error::GENERIC)?;
                        let target = table.push(pmdaMetric::zeroed())?;
                        return Ok(Some(Call::Copy(copy, source, target, number)));
                    }
                    None => self.position = Position::Update(copying.later, copying.next),
                },
                Position::Free => return Ok(None),
            }
        }
    }

    /// Notes what a registration wants to add.
    fn note(&mut self, counts: Counts) -> Result<()> {
        let all = self.counts.get().ok_or(Error::GENERIC)?;
        all.try_reserve(1).map_err(|_| Error::NOMEM)?;
        all.push(counts);
        Ok(())
    }

    /// Makes the table with the fixed entries, and room for what was announced. There is none when
    /// nothing is to be added (DYN-20).
    fn make_table(&mut self) -> Result<bool> {
        let counts = self.counts.get().ok_or(Error::GENERIC)?;
        let extra = dynamic::extra(counts.iter().copied());
        if extra == 0 {
            return Ok(false);
        }
        let fixed = self.fixed.seen();
        self.announced = fixed.len().saturating_add(extra);
        c_int::try_from(self.announced).map_err(|_| Error::NOMEM)?;
        let mut table = CVec::with_capacity(self.announced)?;
        for entry in fixed.entries() {
            table.push(entry.get())?;
        }
        self.table.set(table);
        Ok(true)
    }

    /// Takes the table into use: the one that was made, or, when there is nothing to add or no
    /// memory, the fixed entries alone. The old table is freed only after it is out of use (N-17).
    fn finish(&mut self, outcome: Result<()>) -> Step<Call<'call>, ()> {
        let made = self.table.take().filter(|_| outcome.is_ok());
        let made = made.and_then(|mut table| {
            // What was announced and not filled in is zero.
            while table.len() < self.announced {
                table.push(pmdaMetric::zeroed()).ok()?;
            }
            library::lock().ok()?.made_tables.hand_over(table).ok()
        });
        let old = self.ext.metrics();
        let new = made.unwrap_or(self.fixed);
        rehash(self.ext, new);
        drop(self.counts.take());
        self.position = Position::Free;
        let replaced = old.first() != new.seen().first();
        let replaced = replaced.then(library::peek).flatten();
        match replaced.and_then(|mut library| library.made_tables.take(old)) {
            Some(table) => Step::Call(Call::Free(table)),
            None => Step::Done(()),
        }
    }

    fn step(&mut self) -> Step<Call<'call>, ()> {
        if let Position::Free = self.position {
            return Step::Done(());
        }
        match self.advance() {
            Ok(Some(call)) => Step::Call(call),
            outcome => self.finish(outcome.map(drop)),
        }
    }
}

impl<'call> Machine for Rebuild<'call> {
    type Call = Call<'call>;
    type Answer = DynamicAnswer;
    type Done = ();

    fn start(&mut self) -> Step<Call<'call>, ()> {
        self.step()
    }

    fn resume(&mut self, answer: DynamicAnswer) -> Step<Call<'call>, ()> {
        if let DynamicAnswer::Counted(counts) = answer {
            if self.note(counts).is_err() {
                return self.finish(Err(Error::NOMEM));
            }
        }
        self.step()
    }
}

impl Copying {
    /// The next copy: the callback, the metric, and the number of the copy. Metrics that the tree
    /// has no name for are left out. The callback may change the registered table and the tree.
    fn next(&mut self) -> Option<(Function<pmdaUpdateMetric>, *mut pmdaMetric, c_int)> {
        let copy = self.from.metric?;
        loop {
            let metric = self.from.metrics.seen().entry(self.metric)?;
            let known = self.copy > 1 || self.from.tree.tree().is_some_and(|tree| tree.knows(metric.pmid()));
            if known && self.copy <= self.copies {
                self.copy += 1;
                return Some((copy, metric.as_ptr(), self.copy - 1));
            }
            self.metric += 1;
            self.copy = 1;
        }
    }
}
