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
pub(crate) struct PmidList(Array<pmID>);

impl PmidList {
    /// The metrics of an array; `None` when its count is negative, or nothing is there.
    pub(crate) fn new(metrics: Array<pmID>) -> Option<PmidList> {
        let is_there = metrics.count() == 0 || (metrics.count() > 0 && !metrics.first().is_null());
        is_there.then_some(PmidList(metrics))
    }
}

impl List for PmidList {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn pmid(&self, place: usize) -> MetricId {
        self.0
            .entries()
            .get(place)
            .map_or(MetricId::NULL, |pmid| MetricId(*pmid))
    }
}
