//! The sources with their metrics, instances and values.

mod budget;
mod control;
mod instances;
mod labels;
mod losses;
mod metric;
mod news;
mod source;
mod standing;
mod value;

pub use control::{NO_STATUS, Shown, Status};
pub use instances::Row;
pub use metric::{Metric, Refusal};
pub use source::Source;
pub use standing::{LastDocument, Lateness, Standing};
