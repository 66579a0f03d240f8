//! The comments that describe samples.

use std::hash::{Hash, Hasher};

use crate::limits;

/// The description of the samples that follow: the texts of the comments, which are looked at when
/// a metric is new (OM-32).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Metadata<'t> {
    pcp: Option<&'t str>,
    help: Option<&'t str>,
    kind: Option<&'t str>,
}

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
        let mut words = self.kind.unwrap_or_default().split_whitespace();
        match (words.next(), words.next()) {
            (Some(kind), None) => kind,
            // Two words are no type that anybody knows.
            _ => "",
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
            "TYPE" => (&mut self.kind, behind_name(behind)),
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
