//! Labels: names with values that describe a domain, a cluster, a metric or an instance.

use pmda_core::constants::{PM_LABEL_COMPOUND, PM_LABEL_OPTIONAL};
use pmda_core::labels::{JsonLabels, Label, MAX_NAME, merge};

use crate::{Error, Result};

/// Flags of a label, which say that its name has a dot in it, and that it does not identify
/// anything.
const COMPOUND: u8 = PM_LABEL_COMPOUND as u8;
const OPTIONAL: u8 = PM_LABEL_OPTIONAL as u8;

/// A set of labels.
///
/// ```
/// use pmda::Labels;
/// let labels = Labels::new()
///     .add("device", "sda")
///     .optional("rotational", false)
///     .object("queue", Labels::new().add("depth", 32));
/// assert_eq!(labels.to_string(), r#"{"device":"sda","queue.depth":32,"rotational":false}"#);
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Labels(Vec<LabelEntry>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct LabelEntry {
    name: String,
    /// As JSON.
    value: String,
    flags: u8,
}

/// The value of a label: a text, a number or a truth value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelValue(String);

impl From<&str> for LabelValue {
    fn from(text: &str) -> LabelValue {
        let mut json = String::with_capacity(text.len() + 2);
        json.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => json.extend(['\\', character]),
                '\0'..='\x1f' => json.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ => json.push(character),
            }
        }
        json.push('"');
        LabelValue(json)
    }
}

impl From<String> for LabelValue {
    fn from(text: String) -> LabelValue {
        LabelValue::from(text.as_str())
    }
}

impl From<f64> for LabelValue {
    fn from(number: f64) -> LabelValue {
        // JSON has no others.
        LabelValue(if number.is_finite() {
            number.to_string()
        } else {
            "null".to_owned()
        })
    }
}

macro_rules! plain_values {
    ($($type:ty)*) => {
        $(impl From<$type> for LabelValue {
            fn from(value: $type) -> LabelValue {
                LabelValue(value.to_string())
            }
        })*
    };
}

plain_values! { bool i32 u32 i64 u64 usize }

impl Labels {
    /// No labels.
    #[must_use]
    pub const fn new() -> Labels {
        Labels(Vec::new())
    }

    /// Adds a label. A name is a letter and then letters, digits and underscores; of two labels
    /// with one name the later one counts.
    #[must_use]
    pub fn add(mut self, name: &str, value: impl Into<LabelValue>) -> Labels {
        self.push(name, value.into(), 0);
        self
    }

    /// Adds a label that does not tell apart what it is about, such as a note.
    #[must_use]
    pub fn optional(mut self, name: &str, value: impl Into<LabelValue>) -> Labels {
        self.push(name, value.into(), OPTIONAL);
        self
    }

    /// Adds other labels.
    pub(crate) fn join(mut self, others: &Labels) -> Labels {
        self.0.extend_from_slice(&others.0);
        self
    }

    /// Adds labels below a name: clients see `name.` in front of each.
    #[must_use]
    pub fn object(mut self, name: &str, labels: Labels) -> Labels {
        self.0.extend(labels.0.into_iter().map(|entry| LabelEntry {
            name: format!("{name}.{}", entry.name),
            flags: entry.flags | COMPOUND,
            ..entry
        }));
        self
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, name: &str, LabelValue(value): LabelValue, flags: u8) {
        self.0.push(LabelEntry {
            name: name.to_owned(),
            value,
            flags,
        });
    }

    /// Sets a label to a text, in place of the one with this name; `optional` as in
    /// [`Labels::optional`]. Returns whether that changes anything.
    ///
    /// # Errors
    /// What is wrong with it, in words; it is not set.
    pub(crate) fn give(&mut self, name: &str, value: &str, optional: bool) -> std::result::Result<bool, String> {
        let mut changed = self.clone();
        changed.0.retain(|entry| entry.name != name);
        changed.push(name, LabelValue::from(value), if optional { OPTIONAL } else { 0 });
        self.replace(changed)
    }

    /// Sets all labels. Returns whether that changes anything.
    ///
    /// # Errors
    /// What is wrong with them, in words; nothing is changed.
    pub(crate) fn replace(&mut self, labels: Labels) -> std::result::Result<bool, String> {
        if let Some(entry) = labels.0.iter().find(|entry| !is_name(&entry.name)) {
            return Err(format!(
                "label \"{}\": a name is made of parts between dots, each a letter and then letters, digits and underscores, of {MAX_NAME} bytes at most",
                entry.name
            ));
        }
        labels.set(0).map_err(|error| format!("labels {labels:?}: {error}"))?;
        let is_changed = *self != labels;
        *self = labels;
        Ok(is_changed)
    }

    /// The set as it goes to clients, with `level` (`PM_LABEL_*`) in each label's flags.
    ///
    /// # Errors
    /// `-EINVAL` for a name that no label may have, `-E2BIG` for too many labels or too long ones.
    pub(crate) fn set(&self, level: u8) -> Result<JsonLabels> {
        if self.0.is_empty() {
            return Ok(JsonLabels {
                json: Vec::new(),
                labels: Vec::new(),
            });
        }
        if !self.0.iter().all(|entry| is_name(&entry.name)) {
            return Err(Error::EINVAL);
        }
        // Of several with one name, `merge` takes the first: here the one that was added last.
        let entries = self.0.iter().rev().map(|entry| Label {
            name: entry.name.as_bytes(),
            value: entry.value.as_bytes(),
            flags: entry.flags | level,
        });
        merge(std::iter::empty(), entries)
    }
}

/// The JSON text.
impl std::fmt::Display for Labels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.set(0) {
            Ok(set) if set.labels.is_empty() => out.write_str("{}"),
            Ok(set) => out.write_str(&String::from_utf8_lossy(&set.json)),
            Err(error) => write!(out, "{error}"),
        }
    }
}

/// Returns whether a label may have this name in all releases of PCP (LABEL-32).
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    name.len() <= MAX_NAME && name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LABEL-37, LABEL-38: labels are sorted, nested names are written out, and each label has the
    /// bits of its level.
    #[test]
    fn sets() {
        let labels = Labels::new()
            .add("dev", "d0")
            .object("x", Labels::new().optional("y", 1))
            .add("a", 2.5);
        let set = labels.set(32).expect("good names");
        assert_eq!(set.json, br#"{"a":2.5,"dev":"d0","x.y":1}"#);
        let flags: Vec<u8> = set.labels.iter().map(|label| label.flags).collect();
        assert_eq!(flags, [32, 32, 32 | 64 | 128]);
    }

    /// LABEL-33: characters that JSON does not take as they are; LABEL-14: a text is never a syntax
    /// error.
    #[test]
    fn texts() {
        let json = Labels::new().add("a", "q\"b\\s\nü").to_string();
        assert_eq!(json, r#"{"a":"q\"b\\s\u000aü"}"#);
        assert_eq!(Labels::new().add("a", f64::NAN).to_string(), r#"{"a":null}"#);
        assert_eq!(Labels::new().to_string(), "{}");
    }

    /// LABEL-32: names; the later one of two counts.
    #[test]
    fn names() {
        for bad in ["", "1", "_a", "a b", "a-", "ä"] {
            assert_eq!(Labels::new().add(bad, 1).set(2), Err(Error::EINVAL), "{bad}");
        }
        assert_eq!(Labels::new().add("a", 1).add("a", 2).to_string(), r#"{"a":2}"#);
    }
}
