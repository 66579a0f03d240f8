//! Labels: names with JSON values that describe a context, a domain, a metric or an instance.
//!
//! A label set is one JSON text and a list of places in it ([`JsonLabels`]). [`parse()`] reads the
//! plain texts that agents write, and [`merge()`] lays new labels over old ones. Other texts
//! (nested objects, unfinished or wrong ones) are left to libpcp's own parser, whose rules differ
//! between releases.

mod parse;

pub use parse::{ParsedText, parse};

use crate::error::{Error, Result};

/// Maximum number of labels of a set (LABEL-31).
pub const MAX_LABELS: usize = 255;
/// Length in bytes from which on texts are too big (LABEL-31).
pub const MAX_TEXT: usize = 65534;
/// Maximum length in bytes of a merged JSON text (LABEL-31).
pub const MAX_MERGED: usize = 65531;
/// Maximum length in bytes of the name of a label.
pub const MAX_NAME: usize = 254;
/// Maximum depth of a text: libpcp loses tokens of deeper ones (L-8).
pub const MAX_DEPTH: usize = 60;

/// The places of a label's name and value in the JSON text of its set (LABEL-1).
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

/// A label set: its labels sorted by name (LABEL-36).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonLabels {
    /// The JSON text, without white space between its tokens.
    pub json: Vec<u8>,
    /// The labels.
    pub labels: Vec<Span>,
}

/// One label, with its full name.
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
    /// The name in the set's JSON text, `None` when that is too short.
    #[must_use]
    pub fn name<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.name, u16::from(self.name_len))
    }

    /// The value in the set's JSON text, `None` when that is too short.
    #[must_use]
    pub fn value<'a>(&self, json: &'a [u8]) -> Option<&'a [u8]> {
        slice(json, self.value, self.value_len)
    }
}

/// Sorts by insertion, in a stable way: there are few labels, mostly in order already.
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

impl JsonLabels {
    /// Returns whether [`merge()`] would write the same text.
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

/// Makes one set of `new` labels and those `old` ones whose names are not among them, sorted by
/// name; the JSON text is written afresh. Of several labels with one name the first counts (L-9).
///
/// # Errors
/// `-E2BIG` for more than 255 labels (L-5) or 65531 bytes of text (LABEL-31); `-EINVAL` when a name
/// does not fit its field; `-ENOMEM`.
pub fn merge<'a>(old: impl Iterator<Item = Label<'a>>, new: impl Iterator<Item = Label<'a>>) -> Result<JsonLabels> {
    let mut labels = Vec::new();
    for label in new.chain(old) {
        labels.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        labels.push(label);
    }
    sort(&mut labels, |left, right| left.name < right.name);
    labels.dedup_by(|later, earlier| later.name == earlier.name);
    if labels.len() > MAX_LABELS {
        return Err(Error::E2BIG);
    }
    write(&labels)
}

fn write(labels: &[Label<'_>]) -> Result<JsonLabels> {
    let size = 2 + labels
        .iter()
        .map(|label| label.name.len() + label.value.len() + 4)
        .sum::<usize>();
    let (mut json, mut places) = (Vec::new(), Vec::new());
    json.try_reserve_exact(size).map_err(|_| Error::ENOMEM)?;
    places.try_reserve_exact(labels.len()).map_err(|_| Error::ENOMEM)?;
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
        places.push(Span {
            name: narrow(name)?,
            name_len: u8::try_from(label.name.len()).map_err(|_| Error::EINVAL)?,
            flags: label.flags,
            value: narrow(value)?,
            value_len: narrow(label.value.len())?,
        });
    }
    json.push(b'}');
    Ok(JsonLabels { json, labels: places })
}

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

    /// LABEL-37: the example of the specification.
    #[test]
    fn new_over_old() {
        let old = [label("a", "2", 0), label("b", "1", 0)];
        let set = merged(&old, &[label("b", "5", 0x80), label("c", "\"x\"", 0x80)]).unwrap();
        assert_eq!(set.json, b"{\"a\":2,\"b\":5,\"c\":\"x\"}");
        let expected = [label("a", "2", 0), label("b", "5", 0x80), label("c", "\"x\"", 0x80)];
        assert_eq!(set.iter().collect::<Vec<_>>(), expected);
    }

    /// LABEL-36, LABEL-37.
    #[test]
    fn order_and_nothing() {
        let set = merged(&[], &[label("ab", "1", 0), label("a", "2", 0), label("B", "3", 0)]).unwrap();
        assert_eq!(set.json, b"{\"B\":3,\"a\":2,\"ab\":1}");
        let empty = merged(&[], &[]).unwrap();
        assert_eq!((empty.json.as_slice(), empty.labels.len()), (&b"{}"[..], 0));
    }

    /// L-9.
    #[test]
    fn duplicates_vanish() {
        let set = merged(
            &[label("n.x", "1", 0x40), label("n.x", "2", 0x40)],
            &[label("a", "0", 0)],
        )
        .unwrap();
        assert_eq!(set.json, b"{\"a\":0,\"n.x\":1}");
    }

    /// L-5, LABEL-31.
    #[test]
    fn number_of_labels() {
        let names: Vec<_> = (0..256).map(|number| format!("n{number}")).collect();
        let labels: Vec<_> = names.iter().map(|name| label(name, "1", 0)).collect();
        assert_eq!(merged(&labels[..200], &labels[200..255]).unwrap().labels.len(), 255);
        assert_eq!(merged(&labels[..200], &labels[200..]), Err(Error::E2BIG));
        assert_eq!(merged(&labels[..200], &labels[..200]).unwrap().labels.len(), 200);
    }
}
