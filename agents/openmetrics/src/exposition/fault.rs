//! The faults that a line of a sample can have.

use std::fmt;

use pmda_core::log::{TEXT_MAX, cut};

use crate::limits;

/// A line that is no sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault<'t> {
    /// The line.
    pub line: &'t str,
    /// Its number, from 1.
    pub number: usize,
    /// The reason.
    pub reason: Reason,
}

/// The reason why a line is no sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A label set stands where the name should, without a name in quotes.
    Name,
    /// A label has no name.
    LabelName,
    /// No `=` after the name of a label.
    Equals,
    /// No quote before the value of a label.
    Quote,
    /// Neither a comma nor the closing brace after a label.
    Comma,
    /// The line has more labels than a sample may have.
    Labels,
    /// The line ends within its labels.
    Unclosed,
    /// The line ends before a value.
    Value,
}

impl Reason {
    /// Returns whether the line cannot be read at all (OM-38); otherwise something is missing at
    /// its end (OM-39). The log has different words for the two.
    #[must_use]
    pub fn is_about_a_name(self) -> bool {
        !matches!(self, Reason::Unclosed | Reason::Value)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Labels => return write!(f, "Too many ({}) labels", limits::SAMPLE_LABELS),
            Reason::Name => "Expected the name of a metric",
            Reason::LabelName => "Expected the name of a label",
            Reason::Equals => "Expected =",
            Reason::Quote => "Expected \"",
            Reason::Comma => "Expected , or }",
            Reason::Unclosed => "the labels are not closed by }",
            Reason::Value => "there is no value",
        })
    }
}

/// As a line of the log.
impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.reason.is_about_a_name() {
            "cannot parse name in"
        } else {
            "cannot parse/store"
        };
        write!(f, "{what} {}: {}", Shortened(self.line), self.reason)
    }
}

/// The beginning of a text, for the log, and how much is missing: a line of a document may have a
/// hundred megabytes, and control characters.
#[derive(Clone, Copy, Debug)]
pub struct Shortened<'t>(pub &'t str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, missing) = cut(self.0, TEXT_MAX);
        for letter in kept.chars() {
            if letter.is_control() && letter != '\t' {
                write!(f, "{}", letter.escape_default())?;
            } else {
                write!(f, "{letter}")?;
            }
        }
        missing.fmt(f)
    }
}
