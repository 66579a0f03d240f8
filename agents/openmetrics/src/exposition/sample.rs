//! The line of a sample: `NAME{LABEL="VALUE",…} VALUE`, and what counts for nothing (OM-36).

use std::borrow::Cow;

use memchr::memchr2;

use super::{Metadata, Reason};

/// A sample. It borrows all from the document.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'p, 't> {
    /// The whole line, without blanks at its ends.
    pub line: &'t str,
    /// The name of the metric, any characters but `{` and blanks.
    pub name: &'t str,
    /// What stands between the braces; empty without them. The same text means the same labels, so
    /// that it can be looked up instead of them.
    pub label_text: &'t str,
    /// The labels, in the order of the document; of two with one name the last counts (OM-37).
    pub labels: &'p [Label<'t>],
    /// The value, any word (OM-40).
    pub value: &'t str,
    /// What the comments above say.
    pub metadata: &'p Metadata<'t>,
}

/// A label of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label<'t> {
    /// The name, any characters but `=` and blanks.
    pub name: &'t str,
    /// The value with its escapes.
    raw: &'t str,
    has_escapes: bool,
}

impl<'t> Label<'t> {
    /// The value, its escapes resolved.
    #[must_use]
    pub fn value(&self) -> Cow<'t, str> {
        self.unescaped(|letter| matches!(letter, '\\' | '"'))
    }

    /// The value, its escapes resolved but for that of a backslash.
    #[must_use]
    pub fn value_with_backslashes(&self) -> Cow<'t, str> {
        self.unescaped(|letter| letter == '"')
    }

    fn unescaped(&self, is_escaped: impl Fn(char) -> bool) -> Cow<'t, str> {
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

/// The parts of a line.
pub(super) struct Parts<'t> {
    pub name: &'t str,
    pub label_text: &'t str,
    pub value: &'t str,
}

/// Whether a byte separates words of a sample.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Reads the line of a sample. All that it stops at is ASCII, so each part is whole characters.
pub(super) fn read<'t>(line: &'t str, labels: &mut Vec<Label<'t>>) -> Result<Parts<'t>, Reason> {
    labels.clear();
    let mut cursor = Cursor { line, at: 0 };
    let name = cursor.take_until(|byte| byte == b'{' || is_blank(byte));
    if name.is_empty() {
        return Err(Reason::Name);
    }
    cursor.skip_blanks();
    let mut label_text = "";
    if cursor.peek() == Some(b'{') {
        cursor.at += 1;
        let start = cursor.at;
        read_labels(&mut cursor, labels)?;
        label_text = &line[start..cursor.at];
        // The closing brace.
        cursor.at += 1;
        cursor.skip_blanks();
    }
    let value = cursor.take_until(is_blank);
    if value.is_empty() {
        return Err(Reason::Value);
    }
    Ok(Parts {
        name,
        label_text,
        value,
    })
}

/// Reads labels up to the closing brace, which stays.
fn read_labels<'t>(cursor: &mut Cursor<'t>, labels: &mut Vec<Label<'t>>) -> Result<(), Reason> {
    loop {
        cursor.skip_blanks();
        match cursor.peek() {
            None => return Err(Reason::Unclosed),
            Some(b'}') => return Ok(()),
            Some(_) => {}
        }
        labels.push(read_label(cursor)?);
        cursor.skip_blanks();
        match cursor.peek() {
            Some(b',') => cursor.at += 1,
            Some(b'}') => {}
            None => return Err(Reason::Unclosed),
            Some(_) => return Err(Reason::Comma),
        }
    }
}

fn read_label<'t>(cursor: &mut Cursor<'t>) -> Result<Label<'t>, Reason> {
    let name = cursor.take_until(|byte| byte == b'=' || is_blank(byte));
    if name.is_empty() || name.starts_with(',') {
        return Err(Reason::LabelName);
    }
    cursor.skip_blanks();
    cursor.expect(b'=', Reason::Equals)?;
    cursor.skip_blanks();
    cursor.expect(b'"', Reason::Quote)?;
    let (raw, has_escapes) = cursor.take_quoted()?;
    Ok(Label { name, raw, has_escapes })
}

/// A place in a line.
struct Cursor<'t> {
    line: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        &self.line.as_bytes()[self.at..]
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, reason: Reason) -> Result<(), Reason> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(reason),
            None => Err(Reason::Unclosed),
        }
    }

    /// Takes what stands before the first byte that ends it, or the rest.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        let length = self.rest().iter().position(|byte| ends(*byte));
        self.at = length.map_or(self.line.len(), |length| start + length);
        &self.line[start..self.at]
    }

    /// Takes a text and its closing quote; the second value tells whether it has escapes.
    fn take_quoted(&mut self) -> Result<(&'t str, bool), Reason> {
        let start = self.at;
        let mut has_escapes = false;
        loop {
            let found = memchr2(b'"', b'\\', self.rest()).ok_or(Reason::Unclosed)?;
            self.at += found;
            if self.peek() == Some(b'"') {
                let raw = &self.line[start..self.at];
                self.at += 1;
                return Ok((raw, has_escapes));
            }
            has_escapes = true;
            // The backslash, and the first byte of what it escapes: no byte behind that is a quote.
            self.at = (self.at + 2).min(self.line.len());
        }
    }
}
