//! Dynamic metrics: trees of names that the agent keeps up to date, and the metric tables made of
//! them.
//!
//! The trees belong to the agent: it stores and exchanges the pointer that its update callback is
//! given (DYN-4).

pub(crate) mod exports;
mod lookup;
mod rebuild;

use std::ffi::{c_char, c_int};

pub(crate) use crate::dynamic::lookup::{Found, Lookup, LookupKey};
pub(crate) use crate::dynamic::rebuild::Rebuild;
use crate::library;
use crate::sys::lock::Mutex;
use crate::view::arg::Out;
use crate::view::array::Lasting;
use crate::view::ext::Ext;
use crate::view::methods::Function;
use crate::view::table::MadeTable;
use crate::view::tree::TreePlace;
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
    /// Asks for a help text of a kind, which is stored; no machine asks for it.
    Text(
        Function<pmdaUpdateText>,
        Ext<'call>,
        MetricId,
        c_int,
        Out<'call, *mut c_char>,
    ),
}

/// What comes back from a [`Call`].
#[derive(Clone, Copy)]
pub(crate) enum DynamicAnswer {
    /// Not 0 when metrics have changed.
    Updated(c_int),
    /// What is to be copied.
    Counted(Counts),
    /// The copy is there.
    Copied,
    /// The table is gone.
    Freed,
    /// What the callback has returned.
    Text(c_int),
}

/// The next registration's call to bring its tree up to date; one without that callback has nothing
/// to do.
fn next_update<'call>(walk: &mut Walk, ext: Ext<'call>) -> Option<Call<'call>> {
    walk.find_map(|entry| update(&entry.calls, ext))
}

fn update<'call>(callbacks: &Callbacks, ext: Ext<'call>) -> Option<Call<'call>> {
    callbacks
        .update
        .map(|update| Call::Update(update, ext, callbacks.tree.as_ptr()))
}
