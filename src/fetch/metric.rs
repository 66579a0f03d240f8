//! The metrics of a fetch: the list, and the one whose turn it is.

use std::ffi::c_int;

use crate::view::memory::Array;
use crate::view::types::pmID;
use pmda_core::ident::MetricId;

/// Metrics that are fetched one after the other.
pub(crate) trait MetricList {
    fn len(&self) -> usize;

    /// One of them.
    fn pmid(&self, place: usize) -> MetricId;
}

/// A list that C has handed over; its elements are read when they are needed.
impl MetricList for Array<'_, pmID> {
    #[inline(always)]
    fn len(&self) -> usize {
        (*self).len()
    }

    #[inline(always)]
    fn pmid(&self, place: usize) -> MetricId {
        self.get(place).map_or(MetricId::NULL, MetricId)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) pmid: MetricId,
    pub(super) kind: c_int,
    /// True if it has one value and no instances.
    pub(super) singular: bool,
}
