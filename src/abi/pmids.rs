//! The metrics that a fetch is asked for.

use std::ffi::c_int;
use std::ptr::NonNull;

use super::types::pmID;
use crate::ident::MetricId;

/// Metrics that are fetched one after the other.
pub(crate) trait List {
    /// How many there are.
    fn len(&self) -> usize;

    /// One of them.
    fn pmid(&self, place: usize) -> MetricId;
}

/// A list of metrics that C has handed over; its elements are read when they are needed.
#[derive(Clone, Copy)]
pub(crate) struct PmidList {
    first: NonNull<pmID>,
    len: usize,
}

impl PmidList {
    /// The list of `count` metrics from `first` on; `None` when the count is negative, or nothing is there.
    ///
    /// # Safety
    /// `first` is NULL or valid for reads of `count` elements until the list was used for the last time.
    pub(crate) unsafe fn new(first: *mut pmID, count: c_int) -> Option<PmidList> {
        let len = usize::try_from(count).ok()?;
        let first = match NonNull::new(first) {
            None if len > 0 => return None,
            first => first.unwrap_or(NonNull::dangling()),
        };
        Some(PmidList { first, len })
    }
}

impl List for PmidList {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn pmid(&self, place: usize) -> MetricId {
        if place >= self.len {
            return MetricId::NULL;
        }
        // SAFETY: a place in the list, which is valid by the contract of `new`.
        MetricId(unsafe { self.first.add(place).read() })
    }
}
