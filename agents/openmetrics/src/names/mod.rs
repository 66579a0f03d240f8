//! The meaning of samples in PCP: names, instances, labels and descriptions of metrics
//! (docs/spec/openmetrics.md, sections 4 and 5).

mod definition;
mod instance;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use definition::{Definition, Help, Note};
pub use instance::{LabelPairs, SampleLabels, instance_name};

/// Returns whether a new metric may have this name (OM-38).
#[must_use]
pub fn is_valid(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':'))
}

/// The name of a sample as part of a metric's name (OM-52).
#[must_use]
pub fn below_source(name: &str) -> Cow<'_, str> {
    if name.contains(':') {
        Cow::Owned(name.replace(':', "."))
    } else {
        Cow::Borrowed(name)
    }
}
