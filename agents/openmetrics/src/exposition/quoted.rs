//! The texts of a line, which may stand in quotes, and the names that they give.

use std::borrow::Cow;

/// A text of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Text<'t> {
    /// The text with its escapes.
    pub raw: &'t str,
    pub is_quoted: bool,
    pub has_escapes: bool,
}

/// The name of a metric whose text stands in quotes.
pub(super) fn name_of_quoted(raw: &str) -> Cow<'_, str> {
    let has_escapes = raw.contains('\\');
    let is_quoted = true;
    Text {
        raw,
        is_quoted,
        has_escapes,
    }
    .metric_name()
}

impl<'t> Text<'t> {
    /// The text as the name of a metric.
    pub fn metric_name(&self) -> Cow<'t, str> {
        self.name(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':'))
    }

    /// The text as a name. One in quotes may have any characters: those that are not `allowed` are
    /// `_`, as in what exporters of Prometheus 3 send to those that know no quotes.
    pub fn name(&self, allowed: impl Fn(char) -> bool) -> Cow<'t, str> {
        let is_name =
            |text: &str| text.chars().all(&allowed) && !text.starts_with(|first: char| first.is_ascii_digit());
        if !self.is_quoted || is_name(self.raw) {
            return Cow::Borrowed(self.raw);
        }
        let text = self.unescaped(|letter| matches!(letter, '\\' | '"'));
        let escaped = text.chars().enumerate().map(|(at, letter)| {
            let is_allowed = allowed(letter) && (at > 0 || !letter.is_ascii_digit());
            if is_allowed { letter } else { '_' }
        });
        Cow::Owned(escaped.collect())
    }

    pub fn unescaped(&self, is_escaped: impl Fn(char) -> bool) -> Cow<'t, str> {
        if self.has_escapes {
            Cow::Owned(unescaped(self.raw, is_escaped))
        } else {
            Cow::Borrowed(self.raw)
        }
    }
}

/// A backslash before anything but `n` and what is escaped stays.
fn unescaped(raw: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => value.push('\n'),
            Some(quoted) if is_escaped(quoted) => value.push(quoted),
            other => {
                value.push('\\');
                value.extend(other);
            }
        }
    }
    value
}
