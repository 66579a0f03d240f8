//! Labels: names with values that describe a domain, a cluster, a metric or an instance.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::str::FromStr;

use pmda_core::constants::{PM_LABEL_COMPOUND, PM_LABEL_OPTIONAL};
use pmda_core::error as core;
use pmda_core::labels::{JsonLabels, Label, MAX_LABELS, MAX_MERGED, MAX_NAME, compact, members, merge};

use crate::error::{Error, Result};
use crate::logger::excerpt;

/// Flags of a label, which say that its name has a dot in it, and that it does not identify
/// anything.
const COMPOUND: u8 = PM_LABEL_COMPOUND as u8;
const OPTIONAL: u8 = PM_LABEL_OPTIONAL as u8;

/// A set of labels.
///
/// A set that is shown to clients has at most 255 labels, and 65530 bytes of JSON. Labels beyond
/// that, and those with a name that is not allowed, are left out, and reported: by
/// [`Def::declare`], or by a line in the log where nothing is returned. The other labels of the set
/// are shown.
///
/// [`Def::declare`]: crate::Def::declare
///
/// ```
/// use pmda::Labels;
/// let labels = Labels::new()
///     .add("device", "sda")
///     .optional("rotational", false)
///     .add("queue", Labels::new().add("depth", 32));
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

/// The outcome of giving labels to a thing.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Given {
    /// True if the labels have changed.
    pub(crate) is_changed: bool,
    /// The problem of a label that is left out, in words.
    pub(crate) problem: Option<String>,
}

/// The value of a label: any JSON. It is made of Rust's texts, numbers and truth values, of lists of
/// these, of [`Labels`] for an object, and of a text in JSON; `()` and `None` are null.
///
/// ```
/// use pmda::{LabelValue, Labels};
///
/// # fn main() -> pmda::Result<()> {
/// let labels = Labels::new()
///     .add("indom_name", ["block", "memory"])
///     .add("owner", None::<&str>)
///     .add("limits", r#"[{"depth": 32}, true]"#.parse::<LabelValue>()?);
/// let json = r#"{"indom_name":["block","memory"],"limits":[{"depth":32},true],"owner":null}"#;
/// assert_eq!(labels.to_string(), json);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelValue(Json);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Json {
    /// The text of anything but an object.
    Plain(String),
    /// The members of an object.
    Object(Vec<LabelEntry>),
}

impl LabelValue {
    fn plain(json: String) -> LabelValue {
        LabelValue(Json::Plain(json))
    }

    /// The value of a JSON text that was read, without white space.
    fn of_compact(json: &str) -> LabelValue {
        if !json.starts_with('{') {
            return LabelValue::plain(json.to_owned());
        }
        members(json.as_bytes())
            .map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
            .map(|(name, value)| (name, LabelValue::of_compact(&value)))
            .collect::<Labels>()
            .into()
    }

    /// The value as a JSON text.
    fn json(&self) -> Cow<'_, str> {
        match &self.0 {
            Json::Plain(json) => Cow::Borrowed(json),
            Json::Object(entries) => {
                let members = entries
                    .iter()
                    .map(|entry| [&quoted(&entry.name), ":", &entry.value].concat());
                Cow::Owned(format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
            }
        }
    }
}

/// Reads a JSON text: any value.
impl FromStr for LabelValue {
    type Err = Error;

    /// # Errors
    /// `-EINVAL` for a text that is not JSON.
    fn from_str(text: &str) -> Result<LabelValue> {
        let invalid = || Error::EINVAL.text(format_args!("label {}: not JSON", excerpt(text)));
        let json = compact(text.as_bytes()).and_then(|json| String::from_utf8(json).ok());
        Ok(LabelValue::of_compact(&json.ok_or_else(invalid)?))
    }
}

/// A text in JSON.
fn quoted(text: &str) -> String {
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
    json
}

impl From<&str> for LabelValue {
    fn from(text: &str) -> LabelValue {
        LabelValue::plain(quoted(text))
    }
}

impl From<String> for LabelValue {
    fn from(text: String) -> LabelValue {
        LabelValue::from(text.as_str())
    }
}

impl From<&String> for LabelValue {
    fn from(text: &String) -> LabelValue {
        LabelValue::from(text.as_str())
    }
}

/// JSON has no numbers that are not finite: they become the texts `NaN`, `inf` and `-inf`.
impl From<f64> for LabelValue {
    fn from(number: f64) -> LabelValue {
        if number.is_finite() {
            LabelValue::plain(number.to_string())
        } else {
            LabelValue::from(number.to_string())
        }
    }
}

macro_rules! plain_values {
    ($($type:ty)*) => {
        $(impl From<$type> for LabelValue {
            fn from(value: $type) -> LabelValue {
                LabelValue::plain(value.to_string())
            }
        })*
    };
}

plain_values! { bool i8 u8 i16 u16 i32 u32 i64 u64 isize usize }

/// Null.
impl From<()> for LabelValue {
    fn from((): ()) -> LabelValue {
        LabelValue::plain("null".to_owned())
    }
}

/// `None` is null.
impl<V: Into<LabelValue>> From<Option<V>> for LabelValue {
    fn from(value: Option<V>) -> LabelValue {
        value.map_or_else(|| ().into(), Into::into)
    }
}

/// An object: clients see its labels with its own name and a dot in front of each.
impl From<Labels> for LabelValue {
    fn from(labels: Labels) -> LabelValue {
        let mut labels = labels;
        labels.keep_last_of_each_name();
        LabelValue(Json::Object(labels.0))
    }
}

/// A list.
impl<V: Into<LabelValue>> FromIterator<V> for LabelValue {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> LabelValue {
        let values = values.into_iter().map(|value| value.into().json().into_owned());
        LabelValue::plain(format!("[{}]", values.collect::<Vec<_>>().join(",")))
    }
}

impl<V: Into<LabelValue>> From<Vec<V>> for LabelValue {
    fn from(values: Vec<V>) -> LabelValue {
        values.into_iter().collect()
    }
}

impl<V: Into<LabelValue>, const N: usize> From<[V; N]> for LabelValue {
    fn from(values: [V; N]) -> LabelValue {
        values.into_iter().collect()
    }
}

impl<V: Into<LabelValue> + Clone> From<&[V]> for LabelValue {
    fn from(values: &[V]) -> LabelValue {
        values.iter().cloned().collect()
    }
}

impl Labels {
    /// No labels.
    #[must_use]
    pub const fn new() -> Labels {
        Labels(Vec::new())
    }

    /// Adds a label. A name consists of parts between dots, each a letter and then letters, digits
    /// and underscores, of 254 bytes at most. Of two labels with one name the later one counts.
    #[must_use]
    pub fn add(mut self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> Labels {
        self.push(name.as_ref(), value.into(), 0);
        self
    }

    /// Adds a label that does not tell apart what it is about, such as a note.
    #[must_use]
    pub fn optional(mut self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> Labels {
        self.push(name.as_ref(), value.into(), OPTIONAL);
        self
    }

    /// Adds other labels.
    pub(crate) fn join(mut self, others: Labels) -> Labels {
        self.0.extend(others.0);
        self
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, name: &str, LabelValue(value): LabelValue, flags: u8) {
        let entries = match value {
            Json::Object(entries) if !entries.is_empty() => entries,
            value => {
                // An empty object is a value (LABEL-35).
                let (value, compound) = match value {
                    Json::Plain(json) => (json, 0),
                    Json::Object(_) => ("{}".to_owned(), COMPOUND),
                };
                return self.0.push(LabelEntry {
                    name: name.to_owned(),
                    value,
                    flags: flags | compound,
                });
            }
        };
        self.0.extend(entries.into_iter().map(|entry| LabelEntry {
            name: format!("{name}.{}", entry.name),
            flags: entry.flags | flags | COMPOUND,
            ..entry
        }));
    }

    /// Sets a label, in place of the one with this name; `optional` as in [`Labels::optional`]. A
    /// label with a problem changes nothing.
    pub(crate) fn give(&mut self, name: &str, value: LabelValue, optional: bool) -> Given {
        let mut labels = self.clone();
        let is_below = |other: &str| {
            other
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        labels.0.retain(|entry| !is_below(&entry.name));
        labels.push(name, value, if optional { OPTIONAL } else { 0 });
        let (labels, problem) = labels.split();
        if problem.is_some() {
            return Given {
                is_changed: false,
                problem,
            };
        }
        self.change(labels, None)
    }

    /// Sets all labels to those of others that can be shown.
    pub(crate) fn replace(&mut self, labels: Labels) -> Given {
        let (labels, problem) = labels.split();
        self.change(labels, problem)
    }

    fn change(&mut self, labels: Labels, problem: Option<String>) -> Given {
        let is_changed = *self != labels;
        *self = labels;
        Given { is_changed, problem }
    }

    /// The labels that can be shown to clients, and what is wrong with the others, in words.
    pub(crate) fn split(mut self) -> (Labels, Option<String>) {
        let mut problem = None;
        self.0.retain(|entry| {
            let is_name = is_name(&entry.name);
            if !is_name {
                problem.get_or_insert_with(|| {
                    format!(
                        "label {}: a name is made of parts between dots, each a letter and then letters, digits and underscores, of {MAX_NAME} bytes at most",
                        excerpt(&entry.name)
                    )
                });
            }
            is_name
        });
        let size = |entry: &LabelEntry| {
            // Quotes, colon and comma; in front of the first label the brace takes its place.
            entry.name.len() + entry.value.len() + 4
        };
        let fits = self.0.len() <= MAX_LABELS && self.0.iter().map(size).sum::<usize>() < MAX_MERGED;
        if !fits {
            self.keep_last_of_each_name();
            let (mut count, mut left) = (MAX_LABELS, MAX_MERGED);
            self.0.retain(|entry| {
                let fits = count > 0 && size(entry) < left;
                if fits {
                    (count, left) = (count - 1, left - size(entry));
                } else {
                    problem.get_or_insert_with(|| {
                        format!(
                            "label {}: a set has at most {MAX_LABELS} labels and {} bytes of JSON",
                            excerpt(&entry.name),
                            MAX_MERGED - 1
                        )
                    });
                }
                fits
            });
        }
        (self, problem)
    }

    /// Removes labels that do not count, as a later one has the same name.
    fn keep_last_of_each_name(&mut self) {
        let mut names = BTreeSet::new();
        let mut entries: Vec<LabelEntry> = std::mem::take(&mut self.0);
        entries.reverse();
        entries.retain(|entry| names.insert(entry.name.clone()));
        entries.reverse();
        self.0 = entries;
    }

    /// The set as it goes to clients, with `level` (`PM_LABEL_*`) in each label's flags.
    ///
    /// # Errors
    /// `-EINVAL` for a name that no label may have, `-E2BIG` for too many labels or too long ones.
    pub(crate) fn set(&self, level: u8) -> core::Result<JsonLabels> {
        if self.0.is_empty() {
            return Ok(JsonLabels {
                json: Vec::new(),
                labels: Vec::new(),
            });
        }
        if !self.0.iter().all(|entry| is_name(&entry.name)) {
            return Err(core::Error::EINVAL);
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

/// Reads a JSON text: an object, whose members are the labels.
///
/// ```
/// use pmda::Labels;
/// let labels: Labels = r#"{"queue": {"depth": 32}, "kinds": ["block", null]}"#.parse()?;
/// assert_eq!(labels.to_string(), r#"{"kinds":["block",null],"queue.depth":32}"#);
/// # Ok::<(), pmda::Error>(())
/// ```
impl FromStr for Labels {
    type Err = Error;

    /// # Errors
    /// `-EINVAL` for a text that is not an object in JSON.
    fn from_str(text: &str) -> Result<Labels> {
        match text.parse::<LabelValue>()?.0 {
            Json::Object(entries) => Ok(Labels(entries)),
            Json::Plain(_) => Err(Error::EINVAL.text(format_args!("labels {}: not an object in JSON", excerpt(text)))),
        }
    }
}

/// Of two labels with one name the later one counts.
impl<N: AsRef<str>, V: Into<LabelValue>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(labels: I) -> Labels {
        let mut all = Labels::new();
        all.extend(labels);
        all
    }
}

impl<N: AsRef<str>, V: Into<LabelValue>> Extend<(N, V)> for Labels {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, labels: I) {
        for (name, value) in labels {
            self.push(name.as_ref(), value.into(), 0);
        }
    }
}

/// The JSON text of what clients see.
impl std::fmt::Display for Labels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.clone().split().0.set(0) {
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

    /// Labels are sorted, nested names are written out, and each label has the bits of its level
    /// (LABEL-37, LABEL-38).
    #[test]
    fn sets() {
        let labels = Labels::new()
            .add("dev", "d0")
            .add("x", Labels::new().optional("y", 1))
            .add("a", 2.5);
        let set = labels.set(32).expect("good names");
        assert_eq!(set.json, br#"{"a":2.5,"dev":"d0","x.y":1}"#);
        let flags: Vec<u8> = set.labels.iter().map(|label| label.flags).collect();
        assert_eq!(flags, [32, 32, 32 | 64 | 128]);
    }

    /// Characters that JSON has to escape (LABEL-33); a text is never a syntax error (LABEL-14).
    #[test]
    fn texts() {
        let json = Labels::new().add("a", "q\"b\\s\nü").to_string();
        assert_eq!(json, r#"{"a":"q\"b\\s\u000aü"}"#);
        let odd = Labels::new()
            .add("a", f64::NAN)
            .add("b", f64::INFINITY)
            .add("c", -f64::INFINITY);
        assert_eq!(odd.to_string(), r#"{"a":"NaN","b":"inf","c":"-inf"}"#);
        assert_eq!(Labels::new().to_string(), "{}");
    }

    /// The names that are allowed; of two labels with one name the later one counts (LABEL-32).
    #[test]
    fn names() {
        for bad in ["", "1", "_a", "a b", "a-", "ä"] {
            assert_eq!(Labels::new().add(bad, 1).set(2), Err(core::Error::EINVAL), "{bad}");
        }
        assert_eq!(Labels::new().add("a", 1).add("a", 2).to_string(), r#"{"a":2}"#);
    }

    /// Values of each kind, from Rust and from text (LABEL-33, LABEL-35).
    #[test]
    fn values() {
        let labels = Labels::new()
            .add("list", vec![Some(1), None])
            .add("lists", [vec!["a"], vec![]])
            .add("null", ())
            .add("objects", [Labels::new().add("b", 1).add("b", 2)])
            .optional("o", Labels::new().add("p", Labels::new().add("q", true)))
            .add("empty", Labels::new());
        let json = r#"{"empty":{},"list":[1,null],"lists":[["a"],[]],"null":null,"o.p.q":true,"objects":[{"b":2}]}"#;
        assert_eq!(labels.to_string(), json);
        let flags: Vec<u8> = labels
            .set(0)
            .expect("good names")
            .labels
            .iter()
            .map(|label| label.flags)
            .collect();
        assert_eq!(flags, [COMPOUND, 0, 0, 0, COMPOUND | OPTIONAL, 0]);
        let text = r#" { "a" : { "b" : [ 1 , "x, }y" ] , "c" : { } } , "d" : -1.5e3, "a": {"e": [{"f": {}}]} } "#;
        let read: Labels = text.parse().expect("JSON");
        assert_eq!(
            read.to_string(),
            r#"{"a.b":[1,"x, }y"],"a.c":{},"a.e":[{"f":{}}],"d":-1.5e3}"#
        );
        for wrong in ["", "{", "[1]", "1", "null", "{\"a\":01}", "{\"a\":1,}", "{} x", "{a:1}"] {
            assert_eq!(wrong.parse::<Labels>(), Err(Error::EINVAL), "{wrong}");
        }
        for wrong in ["", "[", "nul", "01", "[1,]", "\"a", "1 2"] {
            assert_eq!(wrong.parse::<LabelValue>(), Err(Error::EINVAL), "{wrong}");
        }
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        assert_eq!(deep.parse::<LabelValue>(), Err(Error::EINVAL));
        // A name that labels cannot have is one problem, as elsewhere.
        let (_, problem) = r#"{"0k":1,"ok":{"1":2}}"#.parse::<Labels>().expect("JSON").split();
        assert!(problem.expect("a name").starts_with("label \"0k\""));
    }

    /// A label that cannot be shown costs no other one.
    #[test]
    fn what_can_be_shown() {
        let (shown, problem) = Labels::new().add("a", 1).add("0k", 2).add("b", 3).split();
        assert_eq!(shown.to_string(), r#"{"a":1,"b":3}"#);
        assert!(
            problem
                .expect("a wrong name")
                .starts_with("label \"0k\": a name is made")
        );
        // One label too many, and one that is too long (LABEL-31, L-5).
        let many = |count: usize| (0..count).fold(Labels::new(), |labels, number| labels.add(format!("n{number}"), 1));
        assert_eq!(many(255).add("n7", 8).split().1, None);
        let (shown, problem) = many(256).split();
        assert_eq!((shown.0.len(), shown.set(0).is_ok()), (255, true));
        assert!(problem.expect("one too many").starts_with("label \"n255\": a set has"));
        let value = |len: usize| "x".repeat(len);
        // {"a":"…","b":1}: the brace at the end does not count.
        let longest = 65530 - 13;
        let long = |len: usize| Labels::new().add("a", value(len).as_str()).add("b", 1);
        assert_eq!(long(longest).split().1, None);
        let (shown, problem) = long(longest + 1).split();
        assert_eq!((shown.0.len(), problem.is_some()), (1, true));
        assert_eq!(
            (long(longest).set(0).is_ok(), long(longest + 1).set(0)),
            (true, Err(core::Error::E2BIG))
        );
        let (shown, _) = Labels::new().add("a", value(70_000).as_str()).add("b", 1).split();
        assert_eq!(shown.to_string(), r#"{"b":1}"#);
        let name = value(1000);
        let (_, problem) = Labels::new().add(format!("{name}-"), 1).split();
        assert!(problem.expect("a wrong name").len() < 300);
    }
}
