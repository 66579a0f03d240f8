//! The calls that a fetch asks for, and what comes back from them.

use std::ffi::c_int;

use crate::view::dispatch::DescMethod;
use crate::view::table::Metric;
use crate::view::types::pmdaFetchCallBack;
use crate::view::value::Atom;
use pmda_core::ident::MetricId;

/// What comes back from a call.
pub(crate) enum FetchAnswer {
    /// What the callback has returned and stored.
    Value(c_int, Atom),
    /// The desc method has run. Its status is ignored: only a PMID in the description counts
    /// (F-13).
    Described,
}

/// The arguments of the next call into the agent. The driver reads them from the machine when it
/// makes the call; the step itself says only that there is one.
#[derive(Clone, Copy)]
pub(crate) struct PendingCallback<'call> {
    /// The fetch callback is asked for a value; without it, the desc method for a description,
    /// which goes into the spare metric.
    pub(crate) callback: pmdaFetchCallBack,
    /// The metric that a value is asked for. Only its place goes to the agent again: the agent may
    /// move or free its table while it gives a value (F-14).
    pub(crate) metric: Metric<'call>,
    /// The instance that a value is asked for, -1 for a metric that has none.
    pub(crate) inst: c_int,
    /// The method that a description is asked for, and the metric as the list has it.
    pub(crate) method: Option<(DescMethod, MetricId)>,
}
