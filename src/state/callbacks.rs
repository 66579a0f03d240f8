//! What an agent registers for its dynamic metrics.

use crate::sys::lock::Mutex;
use crate::view::memory::Lasting;
use crate::view::names::TreePlace;
use crate::view::types::{pmdaCountMetrics, pmdaMetric, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText};
use pmda_core::dynamic::RegistrationList;

/// An agent's registration: callbacks, the metrics that they copy, and the place of its tree.
pub(crate) struct Callbacks {
    /// Updates the tree.
    pub(crate) update: pmdaUpdatePMNS,
    /// Returns the help text of a metric.
    pub(crate) text: pmdaUpdateText,
    /// Fills in the copy of a metric.
    pub(crate) metric: pmdaUpdateMetric,
    /// Returns the number of metrics to copy and the number of copies of each.
    pub(crate) counts: pmdaCountMetrics,
    /// The metrics to copy.
    pub(crate) metrics: Lasting<pmdaMetric>,
    /// The place of the agent's tree.
    pub(crate) tree: TreePlace,
}

/// The registrations of one agent.
pub(crate) type Registrations = Mutex<RegistrationList<Callbacks>>;
