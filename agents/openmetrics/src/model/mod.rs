//! What the agent knows of its sources: their metrics, instances and values.

mod control;
mod labels;
mod metric;
mod source;
mod value;

pub use control::Status;
pub use metric::{Metric, Row};
pub use source::Source;
