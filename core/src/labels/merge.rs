//! Lays new labels over old ones (LABEL-37).

use super::{Label, MAX_LABELS, MAX_MERGED, Set, Span, sort};
use crate::error::{Error, Result};

/// Makes one set of `new` labels and those `old` ones whose names are not among them, sorted by
/// name; the JSON text is written afresh, with full names. Of several labels with one name the
/// first counts, so that none is there twice (L-9).
///
/// # Errors
/// `-E2BIG` when there would be more than 255 labels (L-5) or more than 65531 bytes of text
/// (LABEL-31); `-EINVAL` when a name does not fit its field; `-ENOMEM`.
pub fn merge<'a>(old: impl Iterator<Item = Label<'a>>, new: impl Iterator<Item = Label<'a>>) -> Result<Set> {
    let mut labels = Vec::new();
    for label in new.chain(old) {
        labels.try_reserve(1).map_err(|_| Error::NOMEM)?;
        labels.push(label);
    }
    // New ones stay in front of old ones of the same name.
    sort(&mut labels, |left, right| left.name < right.name);
    labels.dedup_by(|later, earlier| later.name == earlier.name);
    if labels.len() > MAX_LABELS {
        return Err(Error::E2BIG);
    }
    write(&labels)
}

/// Writes the JSON text and notes where everything stands.
fn write(labels: &[Label<'_>]) -> Result<Set> {
    let size = 2 + labels
        .iter()
        .map(|label| label.name.len() + label.value.len() + 4)
        .sum::<usize>();
    let (mut json, mut places) = (Vec::new(), Vec::new());
    json.try_reserve_exact(size).map_err(|_| Error::NOMEM)?;
    places.try_reserve_exact(labels.len()).map_err(|_| Error::NOMEM)?;
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
            name_len: u8::try_from(label.name.len()).map_err(|_| Error::INVAL)?,
            flags: label.flags,
            value: narrow(value)?,
            value_len: narrow(label.value.len())?,
        });
    }
    json.push(b'}');
    Ok(Set { json, labels: places })
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

    fn merged(old: &[Label<'_>], new: &[Label<'_>]) -> Result<Set> {
        merge(old.iter().copied(), new.iter().copied())
    }

    /// LABEL-37: the example of the specification, value by value.
    #[test]
    fn new_over_old() {
        let old = [label("a", "2", 0), label("b", "1", 0)];
        let set = merged(&old, &[label("b", "5", 0x80), label("c", "\"x\"", 0x80)]).unwrap();
        assert_eq!(set.json, b"{\"a\":2,\"b\":5,\"c\":\"x\"}");
        let expected = [label("a", "2", 0), label("b", "5", 0x80), label("c", "\"x\"", 0x80)];
        assert_eq!(set.iter().collect::<Vec<_>>(), expected);
    }

    /// LABEL-36, LABEL-37: a name sorts before longer ones that it starts; nothing at all is an
    /// empty object.
    #[test]
    fn order_and_nothing() {
        let set = merged(&[], &[label("ab", "1", 0), label("a", "2", 0), label("B", "3", 0)]).unwrap();
        assert_eq!(set.json, b"{\"B\":3,\"a\":2,\"ab\":1}");
        let empty = merged(&[], &[]).unwrap();
        assert_eq!((empty.json.as_slice(), empty.labels.len()), (&b"{}"[..], 0));
    }

    /// L-9: a name that is there twice is there once afterwards.
    #[test]
    fn duplicates_vanish() {
        let set = merged(
            &[label("n.x", "1", 0x40), label("n.x", "2", 0x40)],
            &[label("a", "0", 0)],
        )
        .unwrap();
        assert_eq!(set.json, b"{\"a\":0,\"n.x\":1}");
    }

    /// L-5, LABEL-31: 255 labels fit and 256 do not, from whatever sources.
    #[test]
    fn number_of_labels() {
        let names: Vec<_> = (0..256).map(|number| format!("n{number}")).collect();
        let labels: Vec<_> = names.iter().map(|name| label(name, "1", 0)).collect();
        assert_eq!(merged(&labels[..200], &labels[200..255]).unwrap().labels.len(), 255);
        assert_eq!(merged(&labels[..200], &labels[200..]), Err(Error::E2BIG));
        assert_eq!(merged(&labels[..200], &labels[..200]).unwrap().labels.len(), 200);
    }
}
