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
pub(crate) use crate::dynamic::rebuild::{Rebuild, registrations};
use crate::view::arg::Out;
use crate::view::ext::Ext;
use crate::view::methods::Function;
use crate::view::table::MetricTable;
use crate::view::tree::TreePlace;
use crate::view::types::{
    pmdaCountMetrics, pmdaMetric, pmdaNameSpace, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText,
};
use pmda_core::dynamic::{Counts, List, Walk};
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
    pub(crate) metrics: MetricTable,
    /// Where the agent keeps its tree.
    pub(crate) tree: TreePlace,
}

/// The registrations of one agent, or those of the process.
pub(crate) type Registrations = List<Callbacks>;

/// A call to one of the callbacks.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// Brings a tree up to date; the answer tells whether metrics have changed (DYN-5).
    Update(Function<pmdaUpdatePMNS>, Ext, *mut *mut pmdaNameSpace),
    /// Asks for the numbers of metrics and of copies (DYN-20).
    Count(Function<pmdaCountMetrics>),
    /// Fills in the copy of a metric with the given number (DYN-21).
    Copy(Function<pmdaUpdateMetric>, *mut pmdaMetric, *mut pmdaMetric, c_int),
    /// Asks for a help text of a kind, which is stored; no machine asks for it.
    Text(Function<pmdaUpdateText>, Ext, MetricId, c_int, Out<*mut c_char>),
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
    /// What the callback has returned.
    Text(c_int),
}

/// The next registration's call to bring its tree up to date; one without that callback has nothing
/// to do.
fn next_update(walk: &mut Walk<Callbacks>, ext: Ext) -> Option<Call> {
    walk.find_map(|entry| update(&entry.calls, ext))
}

fn update(callbacks: &Callbacks, ext: Ext) -> Option<Call> {
    callbacks
        .update
        .map(|update| Call::Update(update, ext, callbacks.tree.as_ptr()))
}
