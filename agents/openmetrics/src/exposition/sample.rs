//! The line of a sample: `NAME{LABEL="VALUE",…} VALUE`, and what counts for nothing (OM-36). Names
//! in quotes are `{"NAME",…}` (OM-36, OM-37).

use std::borrow::Cow;

use memchr::memchr2;

use super::quoted::Text;
use super::{Metadata, Reason};
use crate::limits;

/// A sample. It borrows all from the document, but for a name in quotes that PCP does not allow.
#[derive(Clone, Debug)]
pub struct Sample<'p, 't> {
    /// The whole line, without blanks at its ends.
    pub line: &'t str,
    /// The number of the line, from 1.
    pub number: usize,
    /// The name of the metric, any characters but `{` and blanks; of one in quotes what PCP does
    /// not allow is `_`.
    pub name: Cow<'t, str>,
    /// The text between the braces, without a name in quotes; empty without braces. The same text
    /// means the same labels, so a series can be looked up by the text.
    pub label_text: &'t str,
    /// The labels, in the order of the document; of two with one name the last counts (OM-37).
    pub labels: &'p [Label<'t>],
    /// The value, any word (OM-40).
    pub value: &'t str,
    /// The comments above.
    pub metadata: &'p Metadata<'t>,
}

/// A label of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label<'t> {
    name: Text<'t>,
    value: Text<'t>,
}

impl<'t> Label<'t> {
    /// The name, any characters but `=` and blanks; of one in quotes what PCP does not allow is
    /// `_`.
    #[must_use]
    pub fn name(&self) -> Cow<'t, str> {
        self.name.name(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    }

    /// The value, its escapes resolved.
    #[must_use]
    pub fn value(&self) -> Cow<'t, str> {
        self.value.unescaped(|letter| matches!(letter, '\\' | '"'))
    }

    /// The value, its escapes resolved but for that of a backslash.
    #[must_use]
    pub fn value_with_backslashes(&self) -> Cow<'t, str> {
        self.value.unescaped(|letter| letter == '"')
    }
}

/// The parts of a line.
pub(super) struct Parts<'t> {
    pub name: Cow<'t, str>,
    pub label_text: &'t str,
    pub value: &'t str,
}

/// Returns whether a byte separates words of a sample; so does all that Unicode calls white space.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Reads the line of a sample. All that it stops at begins a character, so each part is whole
/// characters.
pub(super) fn read<'t>(line: &'t str, labels: &mut Vec<Label<'t>>) -> Result<Parts<'t>, Reason> {
    labels.clear();
    let mut cursor = Cursor { line, at: 0 };
    let name = cursor.take_until(|byte| byte == b'{');
    cursor.skip_blanks();
    let mut name = (!name.is_empty()).then_some(Cow::Borrowed(name));
    let mut label_text = "";
    if cursor.peek() == Some(b'{') {
        cursor.at += 1;
        if name.is_none() {
            name = Some(cursor.take_name_in_braces()?);
        }
        let start = cursor.at;
        read_labels(&mut cursor, labels)?;
        label_text = &line[start..cursor.at];
        // The closing brace.
        cursor.at += 1;
        cursor.skip_blanks();
    }
    let name = name.ok_or(Reason::Name)?;
    let value = cursor.take_until(|_| false);
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
        if labels.len() >= limits::SAMPLE_LABELS {
            return Err(Reason::Labels);
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
    let name = if cursor.peek() == Some(b'"') {
        cursor.take_quoted()?
    } else {
        Text {
            raw: cursor.take_until(|byte| byte == b'='),
            is_quoted: false,
            has_escapes: false,
        }
    };
    if name.raw.is_empty() || (!name.is_quoted && name.raw.starts_with(',')) {
        return Err(Reason::LabelName);
    }
    cursor.skip_blanks();
    cursor.expect(b'=', Reason::Equals)?;
    cursor.skip_blanks();
    let value = cursor.take_quoted()?;
    Ok(Label { name, value })
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

    /// The length of the white space beyond ASCII that begins at a place, in bytes.
    fn wide_blank(&self, at: usize) -> Option<usize> {
        let letter = self.line.get(at..)?.chars().next()?;
        (!letter.is_ascii() && letter.is_whitespace()).then(|| letter.len_utf8())
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += match byte {
                _ if is_blank(byte) => 1,
                0x80.. => match self.wide_blank(self.at) {
                    Some(length) => length,
                    None => return,
                },
                _ => return,
            };
        }
    }

    fn expect(&mut self, byte: u8, reason: Reason) -> Result<(), Reason> {
        match self.peek() {
            Some(next) if next == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(reason),
            None => Err(Reason::Unclosed),
        }
    }

    /// Takes what stands before the first blank or the first byte that ends it, or the rest.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        // White space beyond ASCII begins with one of these bytes.
        let may_end = |byte: &u8| ends(*byte) || is_blank(*byte) || matches!(byte, 0xc2 | 0xe1..=0xe3);
        loop {
            let Some(length) = self.rest().iter().position(may_end) else {
                self.at = self.line.len();
                break;
            };
            self.at += length;
            if self.peek().is_some_and(|byte| byte < 0x80) || self.wide_blank(self.at).is_some() {
                break;
            }
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Takes the name in quotes that stands first in braces, and the comma after it.
    fn take_name_in_braces(&mut self) -> Result<Cow<'t, str>, Reason> {
        self.skip_blanks();
        if self.peek() != Some(b'"') {
            return Err(Reason::Name);
        }
        let name = self.take_quoted()?;
        if name.raw.is_empty() {
            return Err(Reason::Name);
        }
        self.skip_blanks();
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(b'}') => {}
            // The label of a metric without a name.
            Some(b'=') => return Err(Reason::Name),
            Some(_) => return Err(Reason::Comma),
            None => return Err(Reason::Unclosed),
        }
        Ok(name.metric_name())
    }

    /// Takes a text in quotes.
    fn take_quoted(&mut self) -> Result<Text<'t>, Reason> {
        self.expect(b'"', Reason::Quote)?;
        let start = self.at;
        let mut has_escapes = false;
        loop {
            let length = memchr2(b'"', b'\\', self.rest()).ok_or(Reason::Unclosed)?;
            self.at += length;
            if self.peek() == Some(b'"') {
                let raw = &self.line[start..self.at];
                self.at += 1;
                return Ok(Text {
                    raw,
                    is_quoted: true,
                    has_escapes,
                });
            }
            has_escapes = true;
            // The backslash, and the first byte of the escaped character, whose other bytes are no
            // quotes.
            self.at = (self.at + 2).min(self.line.len());
        }
    }
}
