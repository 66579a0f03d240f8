//! Labels: names with JSON values that say more about a context, a domain, a metric or an instance.
//!
//! A label set is one JSON text and a list of places in it ([`Set`]). [`parse()`] reads the plain
//! texts that agents write, and [`merge()`] lays new labels over old ones. What is not plain
//! (nested objects, unfinished or wrong texts) is judged by libpcp's own parser, so that its rules,
//! which differ between the generations, hold everywhere.

mod merge;
mod parse;
mod plain;

pub use merge::merge;
pub use parse::{Text, parse};

/// The most labels of a set (LABEL-31).
pub const MAX_LABELS: usize = 255;
/// Texts of this length and more are too big (LABEL-31).
pub const MAX_TEXT: usize = 65534;
/// The longest JSON text that merging may give (LABEL-31).
pub const MAX_MERGED: usize = 65531;
/// The longest name of a label.
pub const MAX_NAME: usize = 254;
/// Deeper texts are refused: libpcp loses tokens of them without a word (L-8).
pub const MAX_DEPTH: usize = 60;

/// Where the name and the value of a label stand in the JSON text of its set (LABEL-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Offset of the name, behind its opening quote.
    pub name: u16,
    /// Length of the name without quotes.
    pub name_len: u8,
    /// `PM_LABEL_*` bits.
    pub flags: u8,
    /// Offset of the value.
    pub value: u16,
    /// Length of the value with its quotes or brackets.
    pub value_len: u16,
}

/// A label set as it will be handed to C: labels sorted by name (LABEL-36).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// The JSON text, without white space between its tokens.
    pub json: Vec<u8>,
    /// The labels.
    pub labels: Vec<Span>,
}

/// One label by itself, with its full name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label<'a> {
    /// The name, with dots where it was nested.
    pub name: &'a [u8],
    /// The value as JSON.
    pub value: &'a [u8],
    /// `PM_LABEL_*` bits.
    pub flags: u8,
}

impl Span {
    /// The bytes of the name in the set's JSON text, `None` when they are not all there.
    #[must_use]
    pub fn name<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.name, u16::from(self.name_len))
    }

    /// The bytes of the value in the set's JSON text, `None` when they are not all there.
    #[must_use]
    pub fn value<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.value, self.value_len)
    }
}

/// Sorts labels by insertion, and leaves equal ones in their order: there are few, most often in
/// their order already.
fn sort<T: Copy>(labels: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    for end in 1..labels.len() {
        let label = labels[end];
        let mut place = end;
        while place > 0 && is_less(&label, &labels[place - 1]) {
            labels[place] = labels[place - 1];
            place -= 1;
        }
        labels[place] = label;
    }
}

fn slice(json: &[u8], start: u16, length: u16) -> Option<&[u8]> {
    let start = usize::from(start);
    json.get(start..start + usize::from(length))
}

impl Set {
    /// Whether merging would write the same text: it has labels, they stand in it in their order,
    /// and it is not too long.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        let in_order = self.labels.is_sorted_by(|left, right| left.name < right.name);
        in_order && !self.labels.is_empty() && self.json.len() <= MAX_MERGED
    }

    /// The labels one by one.
    pub fn iter(&self) -> impl Iterator<Item = Label<'_>> {
        self.labels.iter().filter_map(|place| {
            Some(Label {
                name: place.name(&self.json)?,
                value: place.value(&self.json)?,
                flags: place.flags,
            })
        })
    }
}
