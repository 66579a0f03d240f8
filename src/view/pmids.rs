//! The metrics that a fetch is asked for.

use crate::view::array::Array;
use crate::view::types::pmID;
use pmda_core::ident::MetricId;

/// Metrics that are fetched one after the other.
pub(crate) trait List {
    /// How many there are.
    fn len(&self) -> usize;

    /// One of them.
    fn pmid(&self, place: usize) -> MetricId;
}

/// A list of metrics that C has handed over; its elements are read when they are needed.
#[derive(Clone, Copy)]
pub(crate) struct PmidList<'call>(Array<'call, pmID>);

impl<'call> PmidList<'call> {
    /// The metrics of an array; `None` when its count is negative, or nothing is there.
    pub(crate) fn new(metrics: Array<'call, pmID>) -> Option<PmidList<'call>> {
        let is_there = metrics.count() == 0 || (metrics.count() > 0 && !metrics.first().is_null());
        is_there.then_some(PmidList(metrics))
    }
}

impl List for PmidList<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn pmid(&self, place: usize) -> MetricId {
        self.0.get(place).map_or(MetricId::NULL, MetricId)
    }
}
