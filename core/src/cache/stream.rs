//! The bytes of a cache file. No lock is held while the disk is waited for: what is written was
//! collected before, and what is read is applied piece by piece.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use super::file::{self, Decimal};
use super::names::find_byte;
use super::room;
use crate::error::Result;

/// Read size in bytes, as soon as a file has shown to be large.
pub(super) const PIECE: usize = 64 * 1024;
/// That of the first read: most files are shorter.
const FIRST_PIECE: usize = 4096;

/// Collects the lines of a file.
pub(super) struct Sink {
    buffer: Vec<u8>,
    /// The time stamp that was written last: most instances have the same.
    stamp: Decimal,
}

impl Sink {
    pub(super) fn new() -> Sink {
        Sink {
            buffer: Vec::new(),
            stamp: Decimal::new(0),
        }
    }

    /// Adds the first line.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn header(&mut self, header: file::Header) -> Result<()> {
        room(&mut self.buffer, 64)?;
        file::write_header(&mut self.buffer, header);
        Ok(())
    }

    /// Adds the line of an instance.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn record(&mut self, id: u32, stamp: i64, key: &[u8], name: &[u8]) -> Result<()> {
        room(&mut self.buffer, 64 + 2 * key.len() + name.len())?;
        if self.stamp.value != stamp {
            self.stamp = Decimal::new(stamp);
        }
        file::write_record(&mut self.buffer, id, &self.stamp, key, name);
        Ok(())
    }

    /// All lines.
    pub(super) fn into_text(self) -> Vec<u8> {
        self.buffer
    }
}

/// No line is longer: what goes on for more than this without an end is no record. Larger records
/// are not written either.
pub(super) const LONGEST_LINE: usize = 16 << 20;

/// The lines of a file, which are taken from it while it is read piece by piece: nobody waits for
/// the end of a file that may have none, or keeps more of it than one piece and one line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Initialised throughout; the bytes of interest are those in `held`.
    buffer: Vec<u8>,
    held: Range<usize>,
    /// How many of the held bytes have been searched for the end of a line.
    searched: usize,
    /// If a NUL has cut the line before: how many bytes behind it were left out.
    skipped: Option<usize>,
    /// How the reading has ended, if it has.
    end: Option<io::Result<()>>,
}

/// One line, up to its first NUL; a crash may leave some in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line<'l> {
    /// With the newline, if it has one.
    pub(super) text: &'l [u8],
    /// Whether there is a NUL.
    pub(super) is_cut: bool,
    /// Whether it is longer than a line can be; then only its beginning is here.
    pub(super) is_endless: bool,
}

impl Lines {
    /// Reads the next piece.
    pub(super) fn read(&mut self, input: &mut impl Read) {
        if self.end.is_some() {
            return;
        }
        if self.held.start > 0 {
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
        }
        // The room doubles until it holds two pieces, and for a line that does not fit.
        let piece = self.buffer.len().clamp(FIRST_PIECE, PIECE);
        if self.buffer.len() - self.held.end < piece {
            let more = self.buffer.len().max(FIRST_PIECE);
            if room(&mut self.buffer, more).is_err() {
                self.end = Some(Err(io::Error::from_raw_os_error(12)));
                return;
            }
            self.buffer.resize(self.buffer.len() + more, 0);
        }
        match input.read(&mut self.buffer[self.held.end..]) {
            Ok(0) => self.end = Some(Ok(())),
            Ok(count) => self.held.end = (self.held.end + count).min(self.buffer.len()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.end = Some(Err(error)),
        }
    }

    /// How many lines are there, about.
    pub(super) fn count(&self) -> usize {
        self.held().iter().filter(|byte| **byte == b'\n').count()
    }

    /// The next line, of at most about `longest` bytes; `None` until more is read, or at the end.
    pub(super) fn next(&mut self, longest: usize) -> Option<Line<'_>> {
        if self.skipped.is_some() && !self.skip() {
            let is_endless = self.skipped > Some(PIECE);
            return is_endless.then_some(Line {
                text: &[],
                is_cut: true,
                is_endless,
            });
        }
        let held = self.buffer.get(self.held.clone()).unwrap_or_default();
        let rest = held.get(self.searched..).unwrap_or_default();
        let whole = find_byte(rest, b'\n').map(|at| self.searched + at + 1);
        let whole = whole.or_else(|| (self.end.is_some() && !held.is_empty()).then_some(held.len()));
        let (length, is_endless) = match whole {
            Some(length) => (length, false),
            // What is behind the NUL may be a hole of any size.
            None => match find_byte(rest, 0) {
                Some(at) => (self.searched + at, false),
                None if held.len() > longest => (held.len(), true),
                None => {
                    self.searched = held.len();
                    return None;
                }
            },
        };
        if whole.is_none() && !is_endless {
            self.skipped = Some(0);
        }
        let (text, is_cut) = until_nul(&held[..length]);
        self.held.start += length;
        self.searched = 0;
        Some(Line {
            text,
            is_cut: is_cut || self.skipped.is_some(),
            is_endless,
        })
    }

    /// Leaves out what is behind a NUL; whether the next line begins now.
    fn skip(&mut self) -> bool {
        let end = find_byte(self.held(), b'\n');
        let count = end.map_or(self.held.len(), |at| at + 1);
        self.held.start += count;
        self.skipped = match end {
            Some(_) => None,
            None => self.skipped.map(|skipped| skipped.saturating_add(count)),
        };
        self.skipped.is_none()
    }

    fn held(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    /// How the reading has ended, if it has; taken once.
    pub(super) fn end(&mut self) -> Option<io::Result<()>> {
        self.end.take()
    }
}

/// A line up to its first NUL, and whether there is one.
fn until_nul(line: &[u8]) -> (&[u8], bool) {
    find_byte(line, 0).map_or((line, false), |end| (&line[..end], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives single bytes, is interrupted before each, and fails at the end if it is to.
    struct Slow<'b>(&'b [u8], bool, bool);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            if self.0.is_empty() && self.2 {
                return Err(io::Error::from_raw_os_error(5));
            }
            let count = out.len().min(1);
            self.0.read(&mut out[..count])
        }
    }

    /// A line's text, whether it is cut, and whether it is endless.
    type Owned = (Vec<u8>, bool, bool);

    /// All lines of a stream, and how it has ended; as soon as a line has no end.
    fn lines_of(mut input: impl Read) -> (Vec<Owned>, io::Result<()>) {
        let (mut lines, mut all) = (Lines::default(), Vec::new());
        loop {
            lines.read(&mut input);
            while let Some(line) = lines.next(LONGEST_LINE) {
                all.push((line.text.to_vec(), line.is_cut, line.is_endless));
                if line.is_endless {
                    return (all, Ok(()));
                }
            }
            if let Some(end) = lines.end() {
                return (all, end);
            }
        }
    }

    /// DEF-8, CACHE-92: lines of any length, also without a newline at the end.
    #[test]
    fn lines_of_any_length() {
        let long = vec![b'x'; 3 * PIECE + 1];
        let mut text = b"2 0 7\n\n".to_vec();
        for cut in [1, 7, PIECE - 8, PIECE, long.len()] {
            text.extend_from_slice(&long[..cut]);
            text.push(b'\n');
        }
        for end in [&b""[..], b"no newline"] {
            let text = [&text, end].concat();
            let expected: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
            for fails in [false, true] {
                let (lines, end) = lines_of(Slow(&text, false, fails));
                assert_eq!(end.err().map(|error| error.raw_os_error()), fails.then_some(Some(5)));
                let lines: Vec<&[u8]> = lines.iter().map(|line| &*line.0).collect();
                assert_eq!(lines, expected);
            }
            let (lines, _) = lines_of(&*text);
            assert_eq!(lines.into_iter().map(|line| line.0).collect::<Vec<_>>(), expected);
        }
        assert!(lines_of(&b""[..]).0.is_empty());
    }

    /// A NUL ends a line; the next one begins behind its newline, if that is near.
    #[test]
    fn nul() {
        let line = |text: &str, is_cut, is_endless| (text.as_bytes().to_vec(), is_cut, is_endless);
        let read = |text: &[u8]| lines_of(text).0;
        assert_eq!(read(b"1 2 a\0b\0"), [line("1 2 a", true, false)]);
        assert_eq!(read(b"\0"), [line("", true, false)]);
        assert_eq!(
            read(b"1 2 a\0\nb\n"),
            [line("1 2 a", true, false), line("b\n", false, false)]
        );
        for (zeros, is_near) in [(PIECE - 8, true), (3 * PIECE, false)] {
            let text = [b"1 2 a", &*vec![0; zeros], b"\nb\n"].concat();
            let next = if is_near {
                line("b\n", false, false)
            } else {
                line("", true, true)
            };
            assert_eq!(read(&text)[..2], [line("1 2 a", true, false), next]);
        }
    }

    /// CACHE-92: what has no end is no line, and little of it is kept.
    #[test]
    fn endless() {
        let mut lines = Lines::default();
        for _ in 0..10_000 {
            lines.read(&mut io::repeat(b'x'));
            if let Some(line) = lines.next(PIECE) {
                assert!(line.is_endless);
                assert!(lines.buffer.len() <= 4 * PIECE);
                return;
            }
        }
        panic!("it goes on");
    }

    /// CACHE-74: a stamp is not mistaken for the one before.
    #[test]
    fn stamps() {
        let mut sink = Sink::new();
        let mut expected = Vec::new();
        for number in 0..9000_u32 {
            let name = "n".repeat(1 + number as usize % 50 * (number as usize % 50));
            let stamp = i64::from(number / 3);
            sink.record(number, stamp, &[], name.as_bytes()).expect("memory");
            expected.extend_from_slice(format!("{number} {stamp} {name}\n").as_bytes());
        }
        assert!(sink.into_text() == expected);
    }
}
