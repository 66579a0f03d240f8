//! The filter of a client for a queue.

use crate::view::arg::Cookie;
use crate::view::types::{pmdaEventApplyFilterCallBack, pmdaEventReleaseFilterCallBack};

/// A filter as the agent gave it.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    /// The argument of its functions.
    pub(crate) data: Cookie,
    /// Decides about an event; anything but 0 drops it.
    pub(crate) apply: pmdaEventApplyFilterCallBack,
    /// Frees the filter.
    pub(crate) release: pmdaEventReleaseFilterCallBack,
}
