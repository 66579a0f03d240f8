//! Reads the JSON texts of labels: plain ones here, the others for libpcp.

use super::{JsonLabels, MAX_DEPTH, MAX_LABELS, MAX_NAME, MAX_TEXT, Span, sort};
use crate::error::{Error, Result};

/// The result of [`parse`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParsedText {
    /// An object without objects inside: the labels, sorted by name, and the text without white
    /// space.
    Plain(JsonLabels),
    /// Any other text, for libpcp's parser: without the white space beside brackets, commas and
    /// colons, with which libpcp errs (L-6).
    Other(Vec<u8>),
}

/// Reads a JSON text with labels, which get `flags`.
///
/// A plain text can mean only one thing: it is a complete object of strings, numbers, words and
/// lists of these, with different and legal names (LABEL-32, LABEL-33). With `leading_letter` a
/// name must start with a letter, and a wrong name refuses the text, as before PCP 7.2. Since then
/// libpcp leaves a wrong name out with its value.
///
/// # Errors
/// `-E2BIG` for 65534 bytes and more (LABEL-31). `-EINVAL` for what libpcp would read wrongly and
/// without an error: more than 60 levels (L-8), and lists in lists among the values that it keeps
/// of a text that is not plain (L-7). `-ENOMEM`.
pub fn parse(text: &[u8], flags: u8, leading_letter: bool) -> Result<ParsedText> {
    if text.len() >= MAX_TEXT {
        return Err(Error::E2BIG);
    }
    match plain(text, flags, leading_letter)? {
        Some(set) => Ok(ParsedText::Plain(set)),
        None => other(text, leading_letter).map(ParsedText::Other),
    }
}

/// Prepares a text for libpcp: takes out white space that separates nothing, so that a wrong text
/// stays as wrong as it is, and refuses what libpcp would read wrongly without an error.
fn other(text: &[u8], leading_letter: bool) -> Result<Vec<u8>> {
    let mut compact: Vec<u8> = Vec::new();
    // The result is never longer than the text.
    compact.try_reserve_exact(text.len()).map_err(|_| Error::ENOMEM)?;
    let (mut open, mut depth) = ([0; MAX_DEPTH], 0);
    let mut bytes = text.iter().copied().peekable();
    let mut space = false;
    // The offset at which the last string begins, and the level whose value is left out since its name
    // is wrong.
    let (mut string, mut left_out) = (0, None);
    while let Some(byte) = bytes.next() {
        if is_space(byte) {
            space = true;
            continue;
        }
        let separates = compact.last().is_some_and(|last| !is_structural(*last)) && !is_structural(byte);
        if space && separates {
            compact.push(b' ');
        }
        space = false;
        compact.push(byte);
        match byte {
            b'"' => {
                string = compact.len();
                while let Some(inner) = bytes.next() {
                    compact.push(inner);
                    match inner {
                        b'"' => break,
                        b'\\' => compact.extend(bytes.next()),
                        _ => {}
                    }
                }
            }
            b':' if !leading_letter && left_out.is_none() => {
                let name = compact[string..].strip_suffix(b"\":").unwrap_or_default();
                left_out = (!legal(name, leading_letter)).then_some(depth);
            }
            b',' if left_out == Some(depth) => left_out = None,
            b'[' if depth > 0 && open[depth - 1] == b'[' && left_out.is_none() => return Err(Error::EINVAL),
            b'[' | b'{' if depth == MAX_DEPTH => return Err(Error::EINVAL),
            b'[' | b'{' => {
                open[depth] = byte;
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                left_out = left_out.filter(|level| *level <= depth);
            }
            _ => {}
        }
    }
    // In an unfinished text, a space may end a number or a word.
    if space && compact.last().is_some_and(|last| !is_structural(*last)) {
        compact.push(b' ');
    }
    Ok(compact)
}

/// Returns whether a byte is a token of JSON on its own.
const fn is_structural(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}

/// Returns whether JSON takes a byte for white space.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Reads a plain text (see [`parse()`]); `None` when it is not plain, for whatever reason.
fn plain(text: &[u8], flags: u8, leading_letter: bool) -> Result<Option<JsonLabels>> {
    let mut reader = JsonReader::new(text)?;
    let plain = reader.object(flags, leading_letter);
    if reader.no_memory {
        return Err(Error::ENOMEM);
    }
    Ok(plain.map(|()| JsonLabels {
        json: reader.json,
        labels: reader.labels,
    }))
}

/// A strict reader of JSON. `None` means that the text is not plain, or that another label has no
/// memory. The part that was read is in `json` and `labels`.
struct JsonReader<'a> {
    text: &'a [u8],
    /// The offset of the next byte in bytes.
    at: usize,
    /// The text that was read, without white space.
    json: Vec<u8>,
    labels: Vec<Span>,
    /// True if the memory ran out.
    no_memory: bool,
    /// Objects may be values.
    nested: bool,
}

impl<'a> JsonReader<'a> {
    /// # Errors
    /// `-ENOMEM`.
    fn new(text: &'a [u8]) -> Result<JsonReader<'a>> {
        let mut json = Vec::new();
        // The result is never longer than the text.
        json.try_reserve_exact(text.len()).map_err(|_| Error::ENOMEM)?;
        Ok(JsonReader {
            text,
            at: 0,
            json,
            labels: Vec::new(),
            no_memory: false,
            nested: false,
        })
    }

    /// Reads the whole text: one object, and nothing after it.
    fn object(&mut self, flags: u8, leading_letter: bool) -> Option<()> {
        self.token(b'{')?;
        if self.peek() != Some(b'}') {
            loop {
                let label = self.member(flags, leading_letter)?;
                if self.labels.len() == MAX_LABELS {
                    return None;
                }
                self.no_memory = self.labels.try_reserve(1).is_err();
                if self.no_memory {
                    return None;
                }
                self.labels.push(label);
                if self.peek() != Some(b',') {
                    break;
                }
                self.token(b',')?;
            }
        }
        self.token(b'}')?;
        if self.peek().is_some() {
            return None;
        }
        self.sort()?;
        if self.labels.is_empty() {
            self.json.clear();
        }
        Some(())
    }

    /// Sorts the labels by name; `None` when two names are equal, which is not plain.
    fn sort(&mut self) -> Option<()> {
        let json = &self.json;
        sort(&mut self.labels, |left, right| left.name(json) < right.name(json));
        let mut pairs = self.labels.windows(2);
        let different = pairs.all(|pair| pair[0].name(json) != pair[1].name(json));
        different.then_some(())
    }

    /// Reads a name and its value.
    fn member(&mut self, flags: u8, leading_letter: bool) -> Option<Span> {
        self.peek();
        let name = self.json.len() + 1;
        self.string()?;
        let name_len = self.json.len() - 1 - name;
        if !legal(&self.json[name..name + name_len], leading_letter) {
            return None;
        }
        self.token(b':')?;
        self.peek();
        let value = self.json.len();
        self.value(0)?;
        Some(Span {
            name: u16::try_from(name).ok()?,
            name_len: u8::try_from(name_len).ok()?,
            flags,
            value: u16::try_from(value).ok()?,
            value_len: u16::try_from(self.json.len() - value).ok()?,
        })
    }

    /// Reads a value in `depth` lists.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'[' => self.list(depth + 1),
            b'{' if self.nested => self.nested_object(depth + 1),
            _ => None,
        }
    }

    /// Reads an object that is a value: level number `depth` from outside.
    fn nested_object(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.token(b'{')?;
        if self.peek() != Some(b'}') {
            loop {
                self.peek();
                self.string()?;
                self.token(b':')?;
                self.value(depth)?;
                if self.peek() != Some(b',') {
                    break;
                }
                self.token(b',')?;
            }
        }
        self.token(b'}')
    }

    /// Reads a list, which is the list number `depth` from outside.
    fn list(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.token(b'[')?;
        if self.peek() != Some(b']') {
            loop {
                self.value(depth)?;
                if self.peek() != Some(b',') {
                    break;
                }
                self.token(b',')?;
            }
        }
        self.token(b']')
    }

    /// The next byte that is not white space; the space in front of it is skipped.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if !is_space(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Takes a byte if it is the next one.
    fn token(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.take(1))
    }

    /// Takes `count` bytes over as they are.
    fn take(&mut self, count: usize) {
        let end = self.at + count;
        // Room: as much as the text has, from the start.
        self.json.extend_from_slice(&self.text[self.at..end]);
        self.at = end;
    }

    /// Takes a word if it comes next.
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.take(word.len()))
    }

    /// Reads a string. Escapes are taken over as they are; bytes beyond ASCII are accepted
    /// (LABEL-33).
    fn string(&mut self) -> Option<()> {
        let rest = self.text[self.at..].strip_prefix(b"\"")?;
        let mut length = 0;
        loop {
            length += ordinary(&rest[length..]);
            match *rest.get(length)? {
                b'"' => break,
                b'\\' if b"\"\\/bfnrtu".contains(rest.get(length + 1)?) => length += 2,
                b'\\' | ..=0x1f => return None,
                _ => length += 1,
            }
        }
        self.take(length + 2);
        Some(())
    }

    /// Reads a number as JSON defines it.
    fn number(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut length = usize::from(rest.first() == Some(&b'-'));
        let whole = digits(length);
        if whole == 0 || (whole > 1 && rest[length] == b'0') {
            return None;
        }
        length += whole;
        if rest.get(length) == Some(&b'.') {
            let part = digits(length + 1);
            if part == 0 {
                return None;
            }
            length += 1 + part;
        }
        if matches!(rest.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
            let power = digits((length + 1 + sign).min(rest.len()));
            if power == 0 {
                return None;
            }
            length += 1 + sign + power;
        }
        self.take(length);
        Some(())
    }
}

/// Returns a JSON text, of any value, without the white space between its tokens; `None` for a text
/// that is not JSON, has more than 60 levels, or needs more memory than there is.
#[must_use]
pub fn compact(text: &[u8]) -> Option<Vec<u8>> {
    let mut reader = JsonReader::new(text).ok()?;
    reader.nested = true;
    reader.value(0)?;
    reader.peek().is_none().then_some(reader.json)
}

/// The members of a JSON object in a text that [`compact`] has returned: names, as they are between
/// their quotes, and values.
pub fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = object.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let name = &rest[..string_end(rest)?];
        let value = rest.get(name.len() + 1..)?;
        let end = value_end(value)?;
        rest = value.get(end + 1..).unwrap_or_default();
        Some((&name[1..name.len() - 1], &value[..end]))
    })
}

/// The length of the string that a text begins with, with its quotes.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = usize::from(text.first() == Some(&b'"'));
    while *text.get(at).filter(|_| at > 0)? != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    Some(at + 1)
}

/// The length of the value that a text begins with, which a comma or a bracket ends.
fn value_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    loop {
        match *text.get(at)? {
            b'"' => at += string_end(text.get(at..)?)?,
            b',' | b']' | b'}' if depth == 0 => return Some(at),
            byte => {
                depth += match byte {
                    b'[' | b'{' => 1,
                    b']' | b'}' => -1,
                    _ => 0,
                };
                at += 1;
            }
        }
    }
}

/// The number of bytes at the start of a text that need no look in a string, as a multiple of 16.
/// The loop over each group has no branch, so that the compiler makes few instructions of it.
fn ordinary(text: &[u8]) -> usize {
    let special = |byte: &u8| u8::from(*byte == b'"') | u8::from(*byte == b'\\') | u8::from(*byte < b' ');
    let groups = text.chunks_exact(16);
    16 * groups
        .take_while(|group| group.iter().fold(0, |any, byte| any | special(byte)) == 0)
        .count()
}

/// Returns whether a label may have this name (LABEL-32).
fn legal(name: &[u8], leading_letter: bool) -> bool {
    let Some(first) = name.first() else { return false };
    name.len() <= MAX_NAME
        && (first.is_ascii_alphabetic() || !leading_letter)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests;
