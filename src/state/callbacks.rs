//! The callbacks of dynamic metrics.

use crate::sys::lock::Mutex;
use crate::view::memory::Lasting;
use crate::view::names::TreePlace;
use crate::view::types::{pmdaCountMetrics, pmdaMetric, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText};
use pmda_core::dynamic::RegistrationList;

/// An agent's registration: callbacks, the metrics that they copy, and the place of its tree.
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
    /// The place of the agent's tree.
    pub(crate) tree: TreePlace,
}

/// The registrations of one agent.
pub(crate) type Registrations = Mutex<RegistrationList<Callbacks>>;
