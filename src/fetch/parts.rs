//! The state of a fetch, and of the metric that it is at.

use std::ffi::c_int;

use pmda_core::fetch::Encoding;
use pmda_core::ident::MetricId;

/// The next step of a fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With the value of an instance.
    Value,
    /// With the description of a metric that is not in the table.
    Describe,
    /// With the next metric.
    Metric,
    /// With the end of the list.
    Finish,
    /// Not at all.
    End,
}

/// Per-metric state of a fetch.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) pmid: MetricId,
    pub(super) kind: c_int,
    pub(super) encoding: Encoding,
    /// Whether it has one value and no instances.
    pub(super) singular: bool,
}
