//! What the agent knows of its sources: their metrics, instances and values.

mod budget;
mod control;
mod instances;
mod labels;
mod metric;
mod source;
mod value;

pub use control::Status;
pub use instances::Row;
pub use metric::Metric;
pub use source::Source;
