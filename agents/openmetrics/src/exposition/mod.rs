//! The text formats of Prometheus (0.0.4) and OpenMetrics (1.0), as far as PCP's agent reads them
//! (docs/spec/openmetrics.md, section 3).
//!
//! A document consists of lines: comments, some of which describe the samples that follow, and
//! samples. The [`Parser`] walks over it once and borrows from its text: a sample allocates
//! nothing. [`crate::names`] says what a sample means for PCP. Its value stays a word until the
//! metric's type is known ([`value`]).
//!
//! ```
//! use pmda_openmetrics::exposition::Parser;
//!
//! let text = "# TYPE requests counter\nrequests{code=\"200\"} 7 1395066363000\n";
//! let mut parser = Parser::new(text);
//! let sample = parser.next_sample().expect("one line").expect("well formed");
//! assert_eq!((&*sample.name, sample.value), ("requests", "7"));
//! assert_eq!(sample.metadata.kind(), "counter");
//! assert_eq!(sample.labels[0].value(), "200");
//! assert!(parser.next_sample().is_none());
//! ```

mod fault;
mod metadata;
mod quoted;
mod sample;
pub mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::str;

use memchr::{memchr, memchr_iter};

use crate::processor_time::Deadline;

pub use fault::{Fault, Reason, Shortened};
pub use metadata::Metadata;
pub(crate) use metadata::joined;
pub use sample::{Label, Sample};

/// The text of a document. Bytes that are no UTF-8 become U+FFFD, a byte order mark is dropped
/// (OM-31).
#[must_use]
pub fn text(document: &[u8]) -> Cow<'_, str> {
    let mark = "\u{feff}".as_bytes();
    let document = document.strip_prefix(mark).unwrap_or(document);
    // Much faster than `from_utf8_lossy` for text that is valid.
    str::from_utf8(document).map_or_else(|_| String::from_utf8_lossy(document), Cow::Borrowed)
}

/// Lines of a document, of which something is to be said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lines {
    /// How many they are.
    pub count: usize,
    /// The number of the first, from 1.
    pub first: usize,
}

impl Lines {
    fn add(&mut self, number: usize) {
        if self.count == 0 {
            self.first = number;
        }
        self.count += 1;
    }
}

/// After so many lines the clock is read once.
const LINES: usize = 1024;

/// A walk over the samples of a document.
#[derive(Debug)]
pub struct Parser<'t> {
    rest: &'t str,
    /// The work after which it ends, wherever it is.
    deadline: Option<Deadline>,
    /// The lines of comments that are too long to describe samples.
    long_comments: Lines,
    /// The number of the last line that was read, from 1.
    number: usize,
    metadata: Metadata<'t>,
    /// The last line was a sample: the next comment begins a new description.
    below_sample: bool,
    /// Labels of the current sample, kept for their memory.
    labels: Vec<Label<'t>>,
}

impl<'t> Parser<'t> {
    /// A parser at the start of a document.
    #[must_use]
    pub fn new(text: &'t str) -> Parser<'t> {
        Parser {
            rest: text,
            deadline: None,
            long_comments: Lines::default(),
            number: 0,
            metadata: Metadata::default(),
            below_sample: false,
            labels: Vec::new(),
        }
    }

    /// A parser that ends at this deadline, wherever it is: see [`Parser::unread`].
    #[must_use]
    pub(crate) fn until(text: &'t str, deadline: Deadline) -> Parser<'t> {
        Parser {
            deadline: Some(deadline),
            ..Parser::new(text)
        }
    }

    /// The lines that were not read in time.
    #[must_use]
    pub fn unread(&self) -> Lines {
        let rest = self.rest.strip_suffix('\n').unwrap_or(self.rest);
        Lines {
            count: if self.rest.is_empty() {
                0
            } else {
                memchr_iter(b'\n', rest.as_bytes()).count() + 1
            },
            first: self.number + 1,
        }
    }

    /// The comments up to here that are too long to describe samples, and count for nothing.
    #[must_use]
    pub fn long_comments(&self) -> Lines {
        self.long_comments
    }

    /// Returns the next sample, or what is wrong with its line; `None` at the end of the document.
    /// A wrong line costs itself (OM-38, OM-39).
    ///
    /// It is not an `Iterator`, as a sample borrows the parser's list of labels.
    pub fn next_sample(&mut self) -> Option<Result<Sample<'_, 't>, Fault<'t>>> {
        let line = self.next_sample_line()?;
        match sample::read(line, &mut self.labels) {
            Ok(parts) => Some(Ok(Sample {
                line,
                number: self.number,
                name: parts.name,
                label_text: parts.label_text,
                value: parts.value,
                labels: &self.labels,
                metadata: &self.metadata,
            })),
            Err(reason) => Some(Err(Fault {
                line,
                number: self.number,
                reason,
            })),
        }
    }

    /// Takes in comments up to the next line that is none.
    fn next_sample_line(&mut self) -> Option<&'t str> {
        while !self.rest.is_empty() && !self.is_over() {
            let line = self.take_line().trim();
            if line.starts_with('#') {
                if self.below_sample {
                    self.metadata = Metadata::default();
                    self.below_sample = false;
                }
                if !self.metadata.take(line) {
                    self.long_comments.add(self.number);
                }
            } else if !line.is_empty() {
                self.below_sample = true;
                return Some(line);
            }
        }
        None
    }

    /// Returns whether the time is over.
    fn is_over(&self) -> bool {
        let is_look = self.number % LINES == 0;
        is_look && self.deadline.is_some_and(Deadline::is_over)
    }

    fn take_line(&mut self) -> &'t str {
        let end = memchr(b'\n', self.rest.as_bytes());
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        self.number += 1;
        line
    }
}
