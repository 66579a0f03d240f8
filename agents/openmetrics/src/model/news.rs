//! The changes that a document brings to its source.

use super::losses::Loss;

/// The meaning of a sample's name.
#[derive(Clone, Copy, Debug)]
pub enum NameTarget {
    /// A metric, by its index in its source.
    Metric(usize),
    /// A name that a filter excludes, with the index of its metric if it had one before.
    Excluded(Option<usize>),
    /// A name that is not shown, and why.
    Lost(Loss),
}

/// The changes that a document has brought.
#[derive(Debug, Default)]
pub struct News {
    /// The indexes of metrics that are new, or in the document again.
    pub metrics: Vec<usize>,
    /// The indexes of metrics that clients are not to know any more.
    pub gone: Vec<usize>,
    /// The indexes of metrics whose labels have changed.
    pub labels: Vec<usize>,
    /// The number of samples that were read.
    pub samples: usize,
    /// The number of samples that are shown.
    pub shown: usize,
    /// The page is no document, for this reason.
    pub no_document: Option<String>,
}
