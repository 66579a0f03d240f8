//! Messages. The core never writes one itself: it collects them in a [`Journal`], and the caller
//! hands them to libpcp when no lock is held any more.
//!
//! Without memory for a message, the message is lost: the call itself goes on.
//!
//! No text of others makes a line long: [`Bytes`] and [`PathBytes`] show its beginning and say how
//! much is missing, and a line as a whole is cut by [`Line::limit`]. libpcp enlarges its buffer
//! step by step, and takes seconds for a megabyte; and a reader of the log wants lines.

use std::ffi::CStr;
use std::fmt::{self, Display, Write};

/// The severity, under the names that `pmNotifyErr` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Critical: the agent cannot work.
    Crit,
    /// Error.
    Err,
    /// Warning.
    Warning,
    /// Info.
    Info,
    /// Debug.
    Debug,
}

/// One message of a [`Journal`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A line for the log, with time, program and severity (`pmNotifyErr`).
    Notify(Level, Vec<u8>),
    /// A line of debug output. The writer puts the head in front that it has in this release of
    /// PCP.
    Debug(Vec<u8>),
    /// Debug output for stderr, written as it is.
    Trace(Vec<u8>),
}

/// The most bytes of a text of others in a message: a name, a label, a line of a file.
pub const TEXT_MAX: usize = 512;

/// The most bytes of a path in a message. Linux opens no longer one, and a shorter one is shown
/// whole, so that it can be copied from the log.
const PATH_MAX: usize = 4095;

/// The most bytes of a line of the log: two paths and more.
pub const LINE_MAX: usize = 10 * 1024;

/// Capacity of a line in bytes before it needs memory.
const LINE_SIZE: usize = 512;

/// One message while it is put together: in the value itself, and on the heap when it grows longer
/// than that. Without memory for this it is cut there: a shorter message, never the end of the
/// process.
///
/// Text is added by `write!`; bytes that need not be UTF-8 are added through [`Bytes`],
/// [`PathBytes`] or [`Whole`].
#[derive(Debug)]
pub struct Line {
    buffer: [u8; LINE_SIZE],
    used: usize,
    /// All of the text, once it no longer fits in the value; otherwise empty.
    long: Vec<u8>,
    /// True if text was left out for want of memory: nothing is added any more.
    cut: bool,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            buffer: [0; LINE_SIZE],
            used: 0,
            long: Vec::new(),
            cut: false,
        }
    }
}

impl Line {
    /// A line with this text: `Line::new(format_args!("{function}: no such metric"))`.
    #[must_use]
    pub fn new(text: fmt::Arguments<'_>) -> Line {
        let mut line = Line::default();
        line.show(text);
        line
    }

    /// Adds text. Without memory the rest of the text is left out.
    pub fn show(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.write_fmt(text);
    }

    /// Adds bytes as they are.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        if self.long.is_empty() {
            // One byte is kept for the NUL of `c_str`.
            if bytes.len() < LINE_SIZE - self.used {
                self.buffer[self.used..self.used + bytes.len()].copy_from_slice(bytes);
                self.used += bytes.len();
                return;
            }
            if self.long.try_reserve(self.used + bytes.len() + 1).is_err() {
                let fitting = LINE_SIZE - 1 - self.used;
                self.buffer[self.used..LINE_SIZE - 1].copy_from_slice(&bytes[..fitting]);
                (self.used, self.cut) = (LINE_SIZE - 1, true);
                return;
            }
            self.long.extend_from_slice(&self.buffer[..self.used]);
        }
        if self.long.try_reserve(bytes.len() + 1).is_err() {
            self.cut = true;
        } else {
            self.long.extend_from_slice(bytes);
        }
    }

    /// Cuts the text to [`LINE_MAX`] bytes and the mark of what is missing. A newline at its end
    /// stays.
    pub fn limit(&mut self) {
        let text = self.bytes();
        let (text, end) = match text.strip_suffix(b"\n") {
            Some(text) => (text, "\n"),
            None => (text, ""),
        };
        let (kept, missing) = split(text, LINE_MAX);
        if missing > 0 {
            let kept = kept.len();
            self.long.truncate(kept);
            self.show(format_args!("{}{end}", Missing(missing)));
        }
    }

    /// The text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.long.is_empty() {
            &self.buffer[..self.used]
        } else {
            &self.long
        }
    }

    /// Returns the text on its own; `None` without memory for it.
    #[must_use]
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        if !self.long.is_empty() {
            return Some(self.long);
        }
        let mut text = Vec::new();
        text.try_reserve_exact(self.used).ok()?;
        text.extend_from_slice(self.bytes());
        Some(text)
    }

    /// The text as a C string: it ends at its first NUL. This needs no memory.
    pub fn c_str(&mut self) -> &CStr {
        let text = if self.long.is_empty() {
            self.buffer[self.used] = 0;
            &self.buffer[..=self.used]
        } else {
            // Room: each growth has reserved one byte more.
            self.long.push(0);
            &self.long[..]
        };
        CStr::from_bytes_until_nul(text).unwrap_or_default()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while let Some(position) = rest.iter().position(|byte| *byte == 0xf4) {
            let (before, from) = rest.split_at(position);
            self.push(before);
            rest = match *from {
                [0xf4, 0x8f, high @ (0xba | 0xbb), low, ref after @ ..] => {
                    self.push(&[0x80 | (high & 1) << 6 | (low & 0x3f)]);
                    after
                }
                _ => {
                    self.push(&from[..1]);
                    &from[1..]
                }
            };
        }
        self.push(rest);
        Ok(())
    }
}

/// A text of others, which need not be UTF-8, as it is: its first [`TEXT_MAX`] bytes, and the
/// number of the other bytes.
#[derive(Clone, Copy)]
pub struct Bytes<'t>(pub &'t [u8]);

impl Display for Bytes<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        beginning(self.0, TEXT_MAX, out)
    }
}

/// A path, as [`Bytes`], but whole up to the longest one that can be opened.
#[derive(Clone, Copy)]
pub struct PathBytes<'t>(pub &'t [u8]);

impl Display for PathBytes<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        beginning(self.0, PATH_MAX, out)
    }
}

/// A number and its noun, in the singular for 1: `1 line`, `2 lines`. The noun is given in both
/// forms, each with whatever changes with it.
#[derive(Clone, Copy, Debug)]
pub struct Counted(pub usize, pub &'static str, pub &'static str);

impl Display for Counted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted(number, one, many) = *self;
        write!(out, "{number} {}", if number == 1 { one } else { many })
    }
}

/// Writes the beginning of a text, and how much is missing.
fn beginning(text: &[u8], limit: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (kept, missing) = split(text, limit);
    Whole(kept).fmt(out)?;
    Missing(missing).fmt(out)
}

/// The mark at the end of a text that was cut: the number of bytes that are missing. Nothing is
/// shown if none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing(usize);

impl Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            missing => write!(out, "... ({} more)", Counted(missing, "byte", "bytes")),
        }
    }
}

/// The beginning of a text, of at most `limit` bytes and whole characters, and the mark to show
/// after it.
#[must_use]
pub fn cut(text: &str, limit: usize) -> (&str, Missing) {
    let (kept, missing) = split(text.as_bytes(), limit);
    (&text[..kept.len()], Missing(missing))
}

/// The beginning of a text, of at most `limit` bytes, and the number of bytes after it. No
/// character is cut in two.
fn split(text: &[u8], limit: usize) -> (&[u8], usize) {
    if text.len() <= limit {
        return (text, 0);
    }
    let is_start = |end: &usize| text[*end] & 0xc0 != 0x80;
    let end = (limit.saturating_sub(3)..=limit).rev().find(is_start).unwrap_or(limit);
    (&text[..end], text.len() - end)
}

/// A text that is whole in any case: one that was put together here.
///
/// `fmt` carries only `str`, so a byte that belongs to no character travels as one of 128
/// characters for private use, U+10FE80 to U+10FEFF, and the line turns it back. Those characters
/// themselves travel byte by byte.
#[derive(Clone, Copy)]
pub struct Whole<'t>(pub &'t [u8]);

impl Display for Whole<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FIRST: char = '\u{10fe80}';
        const LAST: char = '\u{10feff}';
        let hidden = |out: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| {
                out.write_char(char::from_u32(FIRST as u32 + u32::from(byte & 0x7f)).unwrap_or_default())
            })
        };
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(position) = rest.find(|character| (FIRST..=LAST).contains(&character)) {
                let (before, from) = rest.split_at(position);
                out.write_str(before)?;
                let (character, after) = from.split_at(FIRST.len_utf8());
                hidden(out, character.as_bytes())?;
                rest = after;
            }
            out.write_str(rest)?;
            hidden(out, chunk.invalid())?;
        }
        Ok(())
    }
}

/// Messages in the order in which they arose.
///
/// The core never calls C, and nothing may be locked while a stream is waited for
/// (`docs/ARCHITECTURE.md`). So the caller passes a journal in, and writes its messages when it is
/// done with the state. An empty journal needs no memory.
#[derive(Default, Debug)]
pub struct Journal {
    /// Oldest first.
    pub messages: Vec<Message>,
}

impl Journal {
    /// An empty journal.
    #[must_use]
    pub const fn new() -> Journal {
        Journal { messages: Vec::new() }
    }

    /// Adds a line for the log:
    /// `journal.notify(Level::Err, format_args!("no such instance \"{}\"", Bytes(name)))`.
    pub fn notify(&mut self, level: Level, text: impl Display) {
        self.push(|text| Message::Notify(level, text), text);
    }

    /// Adds a line of debug output, without a newline.
    pub fn debug(&mut self, text: impl Display) {
        self.push(Message::Debug, text);
    }

    /// Adds debug output for stderr; `text` has its own newline at the end.
    pub fn trace(&mut self, text: impl Display) {
        self.push(Message::Trace, text);
    }

    /// Adds a message. Without memory the message is lost, and the call goes on.
    fn push(&mut self, message: impl FnOnce(Vec<u8>) -> Message, text: impl Display) {
        let text = Line::new(format_args!("{text}")).into_bytes();
        if let (Some(text), Ok(())) = (text, self.messages.try_reserve(1)) {
            self.messages.push(message(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any bytes come out as they went in, also the characters behind which [`Whole`] hides others.
    #[test]
    fn bytes_pass() {
        for text in [
            &b"plain"[..],
            b"",
            b"a\xffb\x80",
            b"\xf4\x8f\xba\x80\xf4\x8f\xbb\xbf",
            b"\xf4\x8f\xba",
            b"\xf4",
            b"\xc3\xa9",
        ] {
            let line = Line::new(format_args!("<{}>", Whole(text)));
            assert_eq!(line.bytes(), [b"<", text, b">"].concat());
        }
        assert_eq!(
            Line::new(format_args!("\u{10ffff}\u{f4}")).bytes(),
            "\u{10ffff}\u{f4}".as_bytes()
        );
    }

    /// A long text is cut between two characters, and its end says how many bytes are missing
    /// (DEF-19).
    #[test]
    fn long_texts_are_cut() {
        let shown = |text: &[u8]| Line::new(format_args!("{}", Bytes(text))).bytes().to_vec();
        let fits = "x".repeat(TEXT_MAX).into_bytes();
        assert_eq!(shown(&fits), fits);
        let more = "x".repeat(1 << 20).into_bytes();
        assert_eq!(shown(&more), [&fits, "... (1048064 bytes more)".as_bytes()].concat());
        for (piece, missing) in [("é", 1), ("€", 2), ("😀", 3)] {
            for before in 1..=missing {
                let kept = "y".repeat(TEXT_MAX - before);
                let text = format!("{kept}{piece}{}", "z".repeat(100));
                let mark = format!("... ({} bytes more)", text.len() - kept.len());
                assert_eq!(
                    String::from_utf8(shown(text.as_bytes())),
                    Ok(kept + &mark),
                    "{piece} {before}"
                );
            }
            let kept = "y".repeat(TEXT_MAX - piece.len()) + piece;
            let text = format!("{kept}z");
            assert_eq!(
                String::from_utf8(shown(text.as_bytes())),
                Ok(kept + "... (1 byte more)")
            );
        }
        let (kept, missing) = cut("ééé", 3);
        assert_eq!(format!("{kept}{missing}"), "é... (4 bytes more)");
        let (kept, missing) = cut("ééé", 6);
        assert_eq!(format!("{kept}{missing}"), "ééé");
        // Bytes that are not UTF-8 are cut anywhere.
        assert_eq!(shown(&[0x80; TEXT_MAX + 9])[..TEXT_MAX], [0x80; TEXT_MAX]);
    }

    /// The longest path is shown whole; a line is bounded in any case (DEF-19).
    #[test]
    fn paths_and_lines() {
        let path = "p".repeat(PATH_MAX);
        let mut line = Line::new(format_args!("{0}{0}", PathBytes(path.as_bytes())));
        line.limit();
        assert_eq!(line.bytes(), path.repeat(2).as_bytes());
        let longer = path + "ppp";
        let line = Line::new(format_args!("{}", PathBytes(longer.as_bytes())));
        assert!(line.bytes().ends_with("p... (3 bytes more)".as_bytes()));
        for end in ["", "\n"] {
            let mut line = Line::new(format_args!("{}{end}", "l".repeat(1 << 20)));
            line.limit();
            let expected = "l".repeat(LINE_MAX) + "... (1038336 bytes more)" + end;
            assert_eq!(line.bytes(), expected.as_bytes());
            assert_eq!(line.c_str().to_bytes(), expected.as_bytes());
            let mut line = Line::new(format_args!("{}{end}", "l".repeat(LINE_MAX)));
            line.limit();
            assert_eq!(line.bytes().len(), LINE_MAX + end.len());
        }
    }

    /// A line may be longer than its own buffer, and ends with a NUL in any case.
    #[test]
    fn lines_grow() {
        for length in [0, 1, LINE_SIZE - 2, LINE_SIZE - 1, LINE_SIZE, LINE_SIZE + 1, 5000] {
            let text = "x".repeat(length);
            let mut line = Line::new(format_args!("{text}"));
            assert_eq!(line.bytes(), text.as_bytes());
            // The NUL needs no memory: there may be none by then.
            assert!(line.long.is_empty() || line.long.capacity() > length);
            assert_eq!(line.c_str().to_bytes(), text.as_bytes());
        }
        assert_eq!(Line::new(format_args!("a\0b")).c_str(), c"a");
        let mut line = Line::default();
        for length in 1..3000 {
            line.push(b"x");
            assert_eq!(line.bytes().len(), length);
            assert!(line.long.is_empty() || line.long.capacity() > length);
        }
    }

    /// A journal has all messages of all kinds, in the order in which they came.
    #[test]
    fn journals() {
        let mut journal = Journal::new();
        journal.notify(Level::Info, "one");
        journal.debug(Bytes(b"tw\xff"));
        journal.trace("three\n");
        let expected = [
            Message::Notify(Level::Info, b"one".to_vec()),
            Message::Debug(b"tw\xff".to_vec()),
            Message::Trace(b"three\n".to_vec()),
        ];
        assert_eq!(journal.messages, expected);
    }
}
