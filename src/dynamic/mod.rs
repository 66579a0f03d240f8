//! Dynamic metrics: trees of names that the agent keeps up to date, and the metric tables made of
//! them.
//!
//! The trees belong to the agent: it stores and exchanges the pointer that its update callback is
//! given (DYN-4). The lookups, by name, by identifier, and for help, bring all trees up to date
//! first.

pub(crate) mod exports;
mod rebuild;

use std::ffi::c_int;

use crate::drive::{Machine, Step};
pub(crate) use crate::dynamic::rebuild::Rebuild;
use crate::library;
use crate::sys::lock::Mutex;
use crate::tree::SharedIndexes;
use crate::view::agent::{Ext, Function};
use crate::view::arg::CText;
use crate::view::memory::Lasting;
use crate::view::names::TreePlace;
use crate::view::table::MadeTable;
use crate::view::types::{
    pmdaCountMetrics, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use pmda_core::dynamic::{Counts, List, Registration};
use pmda_core::ident::MetricId;

/// What an agent registers: callbacks, the metrics that they copy, and the place of its tree.
pub(crate) struct Callbacks {
    /// Brings the tree up to date.
    pub(crate) update: pmdaUpdatePMNS,
    /// Gives the help text of a metric.
    pub(crate) text: pmdaUpdateText,
    /// Fills in the copy of a metric.
    pub(crate) metric: pmdaUpdateMetric,
    /// Tells how many copies there will be.
    pub(crate) counts: pmdaCountMetrics,
    /// The metrics to copy.
    pub(crate) metrics: Lasting<pmdaMetric>,
    /// Where the agent keeps its tree.
    pub(crate) tree: TreePlace,
}

/// The registrations of one agent.
pub(crate) type Registrations = Mutex<List<Callbacks>>;

/// A walk over the registrations that count for an agent: its own, else those of the process
/// (DYN-3). It goes as far as there were some at its start: callbacks may register more meanwhile
/// (N-9).
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    own: Option<&'static Registrations>,
    next: usize,
    end: usize,
}

impl Walk {
    /// Over those of an agent.
    pub(crate) fn new(own: Option<&'static Registrations>) -> Walk {
        let own = own.map(|own| (own, own.lock().len())).filter(|(_, count)| *count > 0);
        let of_process = || library::peek().map_or(0, |library| library.dynamic.len());
        Walk {
            own: own.map(|(own, _)| own),
            next: 0,
            end: own.map_or_else(of_process, |(_, count)| count),
        }
    }
}

impl Iterator for Walk {
    type Item = &'static Registration<Callbacks>;

    fn next(&mut self) -> Option<&'static Registration<Callbacks>> {
        let place = self.next;
        if place == self.end {
            return None;
        }
        self.next += 1;
        match self.own {
            Some(own) => own.lock().get(place),
            None => library::peek()?.dynamic.get(place),
        }
    }
}

/// A call to one of the callbacks.
pub(crate) enum Call<'call> {
    /// Brings a tree up to date; the answer tells whether metrics have changed (DYN-5).
    Update(Function<pmdaUpdatePMNS>, Ext<'call>, *mut *mut pmdaNameSpace),
    /// Asks for the numbers of metrics and of copies (DYN-20).
    Count(Function<pmdaCountMetrics>),
    /// Fills in the copy of a metric with the given number (DYN-21).
    Copy(Function<pmdaUpdateMetric>, *mut pmdaMetric, *mut pmdaMetric, c_int),
    /// Frees a metric table that the agent does not use any more.
    Free(MadeTable),
}

/// What comes back from a [`Call`].
#[derive(Clone, Copy)]
pub(crate) enum DynamicAnswer {
    /// Not 0 when metrics have changed.
    Updated(c_int),
    /// What is to be copied.
    Counted(Counts),
    /// The copy is there, or the table is gone.
    Done,
}

/// The call to bring the tree of a registration up to date; one without that callback has nothing
/// to do.
fn update<'call>(callbacks: &Callbacks, ext: Ext<'call>) -> Option<Call<'call>> {
    callbacks
        .update
        .map(|update| Call::Update(update, ext, callbacks.tree.as_ptr()))
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) enum LookupKey<'call> {
    /// The tree that has a name, or `None` for no name at all.
    Name(Option<CText<'call>>),
    /// The tree that has a name for a metric.
    Metric(MetricId),
}

/// The callbacks whose tree has what was looked for.
pub(crate) type Found = Option<&'static Callbacks>;

/// A lookup: all trees are brought up to date, and the metric table if need be (DYN-10); then the
/// trees are searched.
pub(crate) struct Lookup<'call> {
    ext: Ext<'call>,
    key: LookupKey<'call>,
    registrations: Walk,
    updates: Walk,
    changed: bool,
    rebuild: Option<Rebuild<'call>>,
}

impl<'call> Lookup<'call> {
    /// A lookup for an agent in what is registered.
    pub(crate) fn new(ext: Ext<'call>, registrations: Walk, key: LookupKey<'call>) -> Lookup<'call> {
        Lookup {
            ext,
            key,
            registrations,
            updates: registrations,
            changed: false,
            rebuild: None,
        }
    }

    /// The next update, or the new metric table behind the last one.
    fn step(&mut self) -> Step<Call<'call>, Found> {
        if let Some(call) = self.updates.find_map(|entry| update(&entry.calls, self.ext)) {
            return Step::Call(call);
        }
        if std::mem::take(&mut self.changed) {
            self.rebuild = Rebuild::new(self.ext, self.registrations);
        }
        match self.rebuild.as_mut().map(Machine::start) {
            Some(Step::Call(call)) => Step::Call(call),
            _ => self.search(),
        }
    }

    /// The first registration whose tree has what was looked for.
    fn search(&self) -> Step<Call<'call>, Found> {
        let has = |callbacks: &&Callbacks| {
            let tree = callbacks.tree.tree();
            tree.is_some_and(|tree| match &self.key {
                LookupKey::Name(name) => name.is_some_and(|name| tree.find(name.bytes(), &SharedIndexes).is_some()),
                LookupKey::Metric(pmid) => tree.knows(*pmid),
            })
        };
        Step::Done({ self.registrations }.map(|entry| &entry.calls).find(has))
    }
}

impl<'call> Machine for Lookup<'call> {
    type Call = Call<'call>;
    type Answer = DynamicAnswer;
    type Done = Found;

    fn start(&mut self) -> Step<Call<'call>, Found> {
        self.step()
    }

    fn resume(&mut self, answer: DynamicAnswer) -> Step<Call<'call>, Found> {
        let Some(rebuild) = &mut self.rebuild else {
            if let DynamicAnswer::Updated(status) = answer {
                self.changed |= status != 0;
            }
            return self.step();
        };
        match rebuild.resume(answer) {
            Step::Call(call) => Step::Call(call),
            Step::Done(()) => self.search(),
        }
    }
}
