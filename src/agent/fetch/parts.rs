//! What a fetch keeps in hand.

use std::ffi::c_int;

use crate::agent::iterate::{Ordinal, Steps};
use crate::agent::lookup::MetricsAhead;
use crate::fetch::Encoding;
use crate::ident::MetricId;

/// What a fetch works with, and does not need after it: kept apart, so that a
/// [`Fetch`](super::Fetch) is small.
pub(crate) struct Scratch {
    pub(super) metrics: MetricsAhead,
    pub(super) steps: Steps,
}

impl Scratch {
    /// Nothing yet.
    pub(crate) const fn new() -> Scratch {
        Scratch {
            metrics: MetricsAhead::new(),
            steps: Steps::new(Ordinal::Any),
        }
    }
}

/// What is known of the metric that is being fetched.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) pmid: MetricId,
    pub(super) kind: c_int,
    pub(super) encoding: Encoding,
    /// Whether it has one value and no instances.
    pub(super) singular: bool,
}
