//! Labels of metrics and instances, as many as clients can be shown.

use std::collections::BTreeMap;

use pmda::Labels;

use crate::exposition::Parser;
use crate::filter::Config;
use crate::limits;
use crate::names::{self, LabelPairs};

/// The labels that name an instance, from the text of its series. Clients seldom ask for them, so
/// they are parsed again each time.
pub(super) fn labels_of(text: &str, config: &Config) -> LabelPairs {
    let line = format!("name{{{text}}} 0");
    let mut parser = Parser::new(&line);
    match parser.next_sample() {
        Some(Ok(sample)) => names::SampleLabels::of(&sample, config).naming,
        _ => LabelPairs::new(),
    }
}

/// Labels as many as clients can be shown: those that do not fit cost no value.
pub(super) struct Fitting {
    pub(super) labels: Labels,
    count: usize,
    /// The number of bytes of JSON that are left.
    left: usize,
    /// The number of labels that do not fit.
    pub(super) beyond: usize,
}

impl Fitting {
    pub(super) fn new() -> Fitting {
        Fitting {
            labels: Labels::new(),
            count: 0,
            left: limits::LABEL_BYTES,
            beyond: 0,
        }
    }

    /// Adds a label whose name no other label of the set has.
    pub(super) fn add(&mut self, name: &str, value: &str, is_optional: bool) {
        if !is_label(name) {
            return;
        }
        let size = json_size(name, value);
        if self.count >= limits::LABELS || size > self.left {
            self.beyond += 1;
            return;
        }
        (self.count, self.left) = (self.count + 1, self.left - size);
        let labels = std::mem::take(&mut self.labels);
        self.labels = if is_optional {
            labels.optional(name, value)
        } else {
            labels.add(name, value)
        };
    }
}

/// Bytes of a label in JSON: quotes, colon and comma, and what is escaped.
fn json_size(name: &str, value: &str) -> usize {
    let escaped = value.chars().map(|letter| match letter {
        '"' | '\\' => 2,
        '\0'..='\x1f' => 6,
        letter => letter.len_utf8(),
    });
    name.len() + escaped.sum::<usize>() + 6
}

/// Returns true if PCP allows a label of this name.
fn is_label(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= limits::LABEL_NAME
}

/// The last value of each label, as far as they can be shown.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) values: BTreeMap<String, String>,
    /// Their length in bytes of JSON.
    size: usize,
    /// Labels that could not be shown were left out.
    pub(super) has_more: bool,
}

impl Merged {
    pub(super) fn of(labels: LabelPairs) -> Merged {
        let mut merged = Merged {
            values: BTreeMap::new(),
            size: 0,
            has_more: false,
        };
        for (name, value) in labels {
            merged.set(name, value);
        }
        merged
    }

    /// Sets a label. More labels than can be shown are not kept, nor longer ones: documents may have
    /// hundreds of thousands, and no budget is charged for them.
    fn set(&mut self, name: String, value: String) {
        if !is_label(&name) {
            return;
        }
        if let Some(old) = self.values.remove(&name) {
            self.size -= json_size(&name, &old);
        }
        let size = self.size + json_size(&name, &value);
        if self.values.len() >= limits::LABELS || size > limits::LABEL_BYTES {
            self.has_more = true;
        } else {
            self.size = size;
            self.values.insert(name, value);
        }
    }

    /// Sets the labels of series; if several series have a label, the last of them counts. Returns
    /// whether a label has changed.
    pub(super) fn merge<'s>(&mut self, series: impl Iterator<Item = &'s str>, config: &Config) -> bool {
        let before = self.values.clone();
        for text in series {
            for (name, value) in labels_of(text, config) {
                self.set(name, value);
            }
        }
        self.values != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Label names are changed to those that PCP allows (OM-66, OM-68).
    #[test]
    fn names_of_labels() {
        let longest = "x".repeat(limits::LABEL_NAME);
        for (name, is_one) in [
            ("a", true),
            ("Z9_z", true),
            (&*longest, true),
            (&*(longest.clone() + "x"), false),
            ("", false),
            ("_a", false),
            ("9", false),
            ("a-b", false),
            ("a.b", false),
            ("\u{e9}", false),
        ] {
            assert_eq!(is_label(name), is_one, "{name}");
        }
    }

    /// A metric has at most as many labels, and as many bytes of labels, as PCP allows (OM-66).
    #[test]
    fn labels_that_fit() {
        for (value, size) in [
            ("", 0),
            ("x", 1),
            ("\u{e9}", 2),
            ("\"", 2),
            ("\\", 2),
            ("\n\u{1f}\0", 18),
            ("\u{20}", 1),
        ] {
            assert_eq!(json_size("name", value), "\"name\":\"\",".len() + size, "{value:?}");
        }
        let mut fitting = Fitting::new();
        for label in 0..limits::LABELS + 3 {
            fitting.add(&format!("l{label}"), "", false);
        }
        fitting.add("9", "", false);
        assert_eq!((fitting.count, fitting.beyond), (limits::LABELS, 3));
        let used: usize = (0..limits::LABELS)
            .map(|label| json_size(&format!("l{label}"), ""))
            .sum();
        assert_eq!(fitting.left, limits::LABEL_BYTES - used);
        let mut fitting = Fitting::new();
        let rest = limits::LABEL_BYTES - json_size("a", "b") - json_size("c", "");
        for (name, length, beyond) in [("a", 1, 0), ("c", rest + 1, 1), ("c", rest, 1), ("d", 0, 2)] {
            fitting.add(name, &"x".repeat(length), true);
            assert_eq!(fitting.beyond, beyond, "{name}");
        }
    }

    /// The last value of each label counts (OM-66).
    #[test]
    fn merged_labels() {
        let config = Config::default();
        let mut merged = Merged::of(vec![("a".to_owned(), "1".to_owned()), ("9".to_owned(), "1".to_owned())]);
        for (series, has_changed, a) in [
            (&[][..], false, "1"),
            (&["a=\"1\""], false, "1"),
            (&["a=\"2\"", "a=\"1\""], false, "1"),
            (&["a=\"1\"", "a=\"2\""], true, "2"),
            (&["a=\"2\",b=\"1\""], true, "2"),
            (&["9=\"1\""], false, "2"),
        ] {
            assert_eq!(merged.merge(series.iter().copied(), &config), has_changed, "{series:?}");
            assert_eq!(merged.values["a"], a, "{series:?}");
        }
        assert!(merged.values.keys().eq(["a", "b"]) && !merged.has_more);
        let series: Vec<String> = (2..=limits::LABELS).map(|label| format!("l{label}=\"\"")).collect();
        let series = || series.iter().map(String::as_str);
        assert!(merged.merge(series().skip(1), &config) && !merged.has_more);
        assert!(!merged.merge(series().take(1), &config) && merged.has_more);
        assert!(merged.merge(["a=\"3\""].into_iter(), &config));
        assert_eq!(
            (merged.values.len(), merged.values["a"].as_str()),
            (limits::LABELS, "3")
        );
    }

    /// Labels that cannot be shown are not kept: no memory is charged for them, and documents may
    /// be large.
    #[test]
    fn merged_labels_are_bounded() {
        let config = Config::default();
        let mut merged = Merged::of(vec![("a".to_owned(), "1".to_owned())]);
        let long = limits::LABEL_BYTES - json_size("a", "") - json_size("b", "");
        for (series, a, b, has_more) in [
            (format!("a=\"\",b=\"{}\"", "x".repeat(long)), Some(0), Some(long), false),
            (format!("a=\"1\",b=\"{}\"", "x".repeat(long)), None, Some(long), true),
            (format!("b=\"{}\"", "x".repeat(limits::LABEL_BYTES)), None, None, true),
            ("a=\"1\",b=\"2\"".to_owned(), Some(1), Some(1), false),
        ] {
            merged.has_more = false;
            merged.merge([&*series].into_iter(), &config);
            let length = |name: &str| merged.values.get(name).map(String::len);
            assert_eq!((length("a"), length("b")), (a, b));
            let sizes = merged.values.iter().map(|(name, value)| json_size(name, value));
            assert_eq!(merged.size, sizes.sum::<usize>());
            assert_eq!(merged.has_more, has_more);
        }
    }
}
