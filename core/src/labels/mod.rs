//! Labels: names with JSON values that describe a context, a domain, a metric or an instance.
//!
//! A label set is one JSON text and a list of spans in it ([`JsonLabels`]). [`parse()`] reads the
//! plain texts that agents write, and [`merge()`] lays new labels over old ones. Any other text
//! (nested objects, unfinished or wrong ones) is left to libpcp's own parser, so that its rules
//! hold everywhere: they differ between releases of PCP.

mod parse;

pub use parse::{ParsedText, compact, members, parse};

use crate::error::{Error, Result};

/// The greatest number of labels of a set (LABEL-31).
pub const MAX_LABELS: usize = 255;
/// The length in bytes from which on a text is too big (LABEL-31).
pub const MAX_TEXT: usize = 65534;
/// The length in bytes that a merged JSON text may have at most (LABEL-31).
pub const MAX_MERGED: usize = 65531;
/// The length in bytes that the name of a label may have at most.
pub const MAX_NAME: usize = 254;
/// The greatest depth of a text. Deeper ones are refused: libpcp loses tokens of them without an
/// error (L-8).
pub const MAX_DEPTH: usize = 60;

/// The spans of a label's name and value in the JSON text of its set (LABEL-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Offset of the name in bytes, after its opening quote.
    pub name: u16,
    /// Length of the name in bytes, without quotes.
    pub name_len: u8,
    /// `PM_LABEL_*` bits.
    pub flags: u8,
    /// Offset of the value in bytes.
    pub value: u16,
    /// Length of the value in bytes, with its quotes or brackets.
    pub value_len: u16,
}

/// A label set as C gets it: the labels are sorted by name (LABEL-36).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonLabels {
    /// The JSON text, without white space between its tokens.
    pub json: Vec<u8>,
    /// The spans of the labels in the text.
    pub labels: Vec<Span>,
}

/// One label on its own, with its full name.
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
    /// The name in the JSON text of the set; `None` when the text ends before it does.
    #[must_use]
    pub fn name<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.name, u16::from(self.name_len))
    }

    /// The value in the JSON text of the set; `None` when the text ends before it does.
    #[must_use]
    pub fn value<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.value, self.value_len)
    }

    /// The label in the JSON text of the set; `None` when the text ends before it does.
    #[must_use]
    pub fn label<'a>(&self, json: &'a [u8]) -> Option<Label<'a>> {
        Some(Label {
            name: self.name(json)?,
            value: self.value(json)?,
            flags: self.flags,
        })
    }
}

/// Sorts labels by insertion. Equal ones stay in their order. There are few labels, and most often
/// they are in order already.
fn sort<T: Copy>(labels: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    for end in 1..labels.len() {
        let label = labels[end];
        let mut position = end;
        while position > 0 && is_less(&label, &labels[position - 1]) {
            labels[position] = labels[position - 1];
            position -= 1;
        }
        labels[position] = label;
    }
}

/// `length` bytes from `start` on; `None` beyond the end.
fn slice(json: &[u8], start: u16, length: u16) -> Option<&[u8]> {
    let start = usize::from(start);
    json.get(start..start + usize::from(length))
}

impl JsonLabels {
    /// Returns whether [`merge()`] would write the same text: the set has labels, they stand in the
    /// text in their order, and the text is not too long.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        let in_order = self.labels.is_sorted_by(|left, right| left.name < right.name);
        in_order && !self.labels.is_empty() && self.json.len() <= MAX_MERGED
    }

    /// The labels one by one.
    pub fn iter(&self) -> impl Iterator<Item = Label<'_>> {
        self.labels.iter().filter_map(|span| span.label(&self.json))
    }
}

/// Makes one set of `new` labels and those `old` ones whose names are not among them, sorted by
/// name. The JSON text is written anew, with full names. Of several labels with one name the first
/// counts, so each name appears once (L-9).
///
/// # Errors
/// `-E2BIG` for more than 255 labels (L-5) or for a text of 65531 bytes or more (LABEL-31);
/// `-EINVAL` when a name does not fit in its field; `-ENOMEM`.
pub fn merge<'a>(old: impl Iterator<Item = Label<'a>>, new: impl Iterator<Item = Label<'a>>) -> Result<JsonLabels> {
    let mut labels = Vec::new();
    for label in new.chain(old) {
        labels.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        labels.push(label);
    }
    // The sort is stable, so new labels stay in front of old ones with the same name.
    sort(&mut labels, |left, right| left.name < right.name);
    labels.dedup_by(|later, earlier| later.name == earlier.name);
    if labels.len() > MAX_LABELS {
        return Err(Error::E2BIG);
    }
    write(&labels)
}

/// Writes the JSON text of sorted labels, and notes their spans in it.
fn write(labels: &[Label<'_>]) -> Result<JsonLabels> {
    let size = 2 + labels
        .iter()
        .map(|label| label.name.len() + label.value.len() + 4)
        .sum::<usize>();
    let (mut json, mut spans) = (Vec::new(), Vec::new());
    json.try_reserve_exact(size).map_err(|_| Error::ENOMEM)?;
    spans.try_reserve_exact(labels.len()).map_err(|_| Error::ENOMEM)?;
    json.push(b'{');
    for label in labels {
        if json.len() > 1 {
            json.push(b',');
        }
        json.push(b'"');
        let name = json.len();
        json.extend_from_slice(label.name);
        json.extend_from_slice(b"\":");
        let value = json.len();
        json.extend_from_slice(label.value);
        if json.len() >= MAX_MERGED {
            return Err(Error::E2BIG);
        }
        spans.push(Span {
            name: narrow(name)?,
            name_len: u8::try_from(label.name.len()).map_err(|_| Error::EINVAL)?,
            flags: label.flags,
            value: narrow(value)?,
            value_len: narrow(label.value.len())?,
        });
    }
    json.push(b'}');
    Ok(JsonLabels { json, labels: spans })
}

/// An offset or a length as its field has it.
fn narrow(number: usize) -> Result<u16> {
    u16::try_from(number).map_err(|_| Error::E2BIG)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label<'a>(name: &'a str, value: &'a str, flags: u8) -> Label<'a> {
        Label {
            name: name.as_bytes(),
            value: value.as_bytes(),
            flags,
        }
    }

    fn merged(old: &[Label<'_>], new: &[Label<'_>]) -> Result<JsonLabels> {
        merge(old.iter().copied(), new.iter().copied())
    }

    /// New labels replace old ones, as in the example of the specification (LABEL-37).
    #[test]
    fn new_over_old() {
        let old = [label("a", "2", 0), label("b", "1", 0)];
        let set = merged(&old, &[label("b", "5", 0x80), label("c", "\"x\"", 0x80)]).unwrap();
        assert_eq!(set.json, b"{\"a\":2,\"b\":5,\"c\":\"x\"}");
        let expected = [label("a", "2", 0), label("b", "5", 0x80), label("c", "\"x\"", 0x80)];
        assert_eq!(set.iter().collect::<Vec<_>>(), expected);
    }

    /// The labels of a nested text, which have names with dots and a flag of their own, take the
    /// places of old ones like any others (LABEL-37).
    #[test]
    fn nested_over_old() {
        let old = [label("n.x", "1", 0x40), label("n.z", "2", 0x40), label("o", "3", 0)];
        let new = [label("n.x", "\"new\"", 0xc0), label("n.y", "[4]", 0x40)];
        let set = merged(&old, &new).unwrap();
        assert_eq!(set.json, b"{\"n.x\":\"new\",\"n.y\":[4],\"n.z\":2,\"o\":3}");
        assert_eq!(set.iter().collect::<Vec<_>>(), [new[0], new[1], old[1], old[2]]);
    }

    /// A text that a merge would write in the same way is taken as it is: one in order, not empty,
    /// and not longer than a merge may write (LABEL-37).
    #[test]
    fn merged_already() {
        let is_merged = |text: &str| match parse(text.as_bytes(), 0, false) {
            Ok(ParsedText::Plain(set)) => set.is_merged(),
            other => panic!("{other:?}"),
        };
        let long = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
        assert!(is_merged("{\"a\":1,\"b\":2}") && is_merged(&long(MAX_MERGED)));
        assert!(!is_merged("{\"b\":1,\"a\":2}") && !is_merged("{}") && !is_merged(&long(MAX_MERGED + 1)));
    }

    /// A name sorts before longer ones that begin with it, and a set without labels is an empty
    /// object (LABEL-36, LABEL-37).
    #[test]
    fn order_and_nothing() {
        let set = merged(&[], &[label("ab", "1", 0), label("a", "2", 0), label("B", "3", 0)]).unwrap();
        assert_eq!(set.json, b"{\"B\":3,\"a\":2,\"ab\":1}");
        let empty = merged(&[], &[]).unwrap();
        assert_eq!((empty.json.as_slice(), empty.labels.len()), (&b"{}"[..], 0));
    }

    /// A name that appears twice appears once afterwards (L-9).
    #[test]
    fn duplicates_vanish() {
        let set = merged(
            &[label("n.x", "1", 0x40), label("n.x", "2", 0x40)],
            &[label("a", "0", 0)],
        )
        .unwrap();
        assert_eq!(set.json, b"{\"a\":0,\"n.x\":1}");
    }

    /// 255 labels fit and 256 do not, whichever set they come from (L-5, LABEL-31).
    #[test]
    fn number_of_labels() {
        let names: Vec<_> = (0..256).map(|number| format!("n{number}")).collect();
        let labels: Vec<_> = names.iter().map(|name| label(name, "1", 0)).collect();
        assert_eq!(merged(&labels[..200], &labels[200..255]).unwrap().labels.len(), 255);
        assert_eq!(merged(&labels[..200], &labels[200..]), Err(Error::E2BIG));
        assert_eq!(merged(&labels[..200], &labels[..200]).unwrap().labels.len(), 200);
    }
}
