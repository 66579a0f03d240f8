//! The comments that describe samples.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use super::quoted::name_of_quoted;
use crate::limits;

/// The description of the samples that follow: the texts of the comments, which are looked at when
/// a metric is new (OM-32).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Metadata<'t> {
    pcp: Option<&'t str>,
    help: Option<&'t str>,
    /// The text after `TYPE`: the name of a family of metrics, and its type.
    kind: Option<&'t str>,
}

/// Endings of samples of a family, whose `# TYPE` has the name without them.
const OF_FAMILY: [&str; 8] = [
    "_total", "_created", "_bucket", "_count", "_sum", "_gcount", "_gsum", "_info",
];

impl<'t> Metadata<'t> {
    /// Feeds what defines a metric to a hasher: all but its help text.
    pub(crate) fn hash_definition(&self, state: &mut impl Hasher) {
        (self.pcp, self.kind).hash(state);
    }

    /// The line after `#`, from `PCP` or `PCP5` on.
    #[must_use]
    pub fn pcp(&self) -> Option<&'t str> {
        self.pcp
    }

    /// The text of `# HELP`, its words separated by one space (OM-33); its escapes are still there.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = joined(self.help?);
        (!text.is_empty()).then_some(text)
    }

    /// The type of `# TYPE`; empty without one.
    #[must_use]
    pub fn kind(&self) -> &'t str {
        let mut words = behind_name(self.kind.unwrap_or_default()).split_whitespace();
        match (words.next(), words.next()) {
            (Some(kind), None) => kind,
            // Two words are no type that anybody knows.
            _ => "",
        }
    }

    /// The type of `# TYPE` if it is that of the family of the sample with this name; empty otherwise. By
    /// [`Metadata::kind`] samples without a type of their own have that of the family before them.
    #[must_use]
    pub fn kind_of_family(&self, sample: &str) -> &'t str {
        let text = self.kind.unwrap_or_default().trim_start();
        let name = &text[..text.len() - behind_name(text).len()];
        let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        let family = quoted.map_or(Cow::Borrowed(name), name_of_quoted);
        let rest = sample.strip_prefix(&*family).unwrap_or("-");
        if rest.is_empty() || OF_FAMILY.contains(&rest) {
            self.kind()
        } else {
            ""
        }
    }

    /// Takes in the line of a comment. False if it would describe samples and is too long: then it
    /// counts for nothing.
    pub(super) fn take(&mut self, line: &'t str) -> bool {
        let (_mark, rest) = word(line);
        let (keyword, behind) = word(rest);
        let (text, value) = match keyword {
            "PCP" | "PCP5" => (&mut self.pcp, rest.trim_start()),
            // The name of the metric counts for nothing.
            "HELP" => (&mut self.help, behind_name(behind)),
            "TYPE" => (&mut self.kind, behind),
            _ => return true,
        };
        let is_short = line.len() <= limits::COMMENT;
        *text = is_short.then_some(value);
        is_short
    }
}

/// The text after the name of a metric, which may stand in quotes.
fn behind_name(text: &str) -> &str {
    let Some(quoted) = text.trim_start().strip_prefix('"') else {
        return word(text).1;
    };
    let mut is_escaped = false;
    let end = quoted.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    });
    match end.and_then(|end| quoted.get(end + 1..)) {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => rest,
        // No name in quotes.
        _ => word(text).1,
    }
}

/// The first word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Words with one space between them.
pub(crate) fn joined(text: &str) -> String {
    // No list of the words: a text may be as long as a document.
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}
