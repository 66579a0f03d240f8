//! The bytes of a cache file, whole: no lock is held while the disk is waited for, so what is
//! written was collected before, and what is read is applied afterwards.

use std::io::{self, ErrorKind, Read};

use rustix::fs::OFlags;

use super::file::{self, Decimal};
use super::{room, scan};
use crate::error::Result;
use crate::path::FilePath;

/// So much is read at once.
const PIECE: usize = 64 * 1024;

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
    #[inline]
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

/// What a cache file holds.
#[derive(Debug)]
pub struct Content {
    text: Vec<u8>,
    /// Why there is no more of it.
    failure: Option<io::Error>,
}

impl Content {
    /// Reads a cache file.
    ///
    /// # Errors
    /// What the system says when it cannot be opened. When it cannot be read to its end, what was
    /// read is there.
    pub fn read(path: &FilePath) -> io::Result<Content> {
        Ok(Content::from(path.open(OFlags::RDONLY, 0)?))
    }

    fn from(mut input: impl Read) -> Content {
        let mut text = Vec::new();
        let mut length = 0;
        let failure = loop {
            if text.len() - length < PIECE {
                if room(&mut text, PIECE).is_err() {
                    break Some(io::Error::from_raw_os_error(12));
                }
                text.resize(text.capacity(), 0);
            }
            match input.read(&mut text[length..]) {
                Ok(0) => break None,
                Ok(count) => length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        text.truncate(length);
        Content { text, failure }
    }

    /// The lines and, at the end, why there are no more of them.
    pub(super) fn lines(self) -> (Vec<u8>, Option<io::Error>) {
        (self.text, self.failure)
    }
}

/// How many lines there are, about.
pub(super) fn count_lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Takes the next line from the text, with its newline if it has one.
pub(super) fn next_line<'t>(text: &mut &'t [u8]) -> Option<&'t [u8]> {
    let length = scan::find(text, b'\n').map_or(text.len(), |at| at + 1);
    let (line, rest) = text.split_at(length);
    *text = rest;
    (length > 0).then_some(line)
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
                let (read, failure) = Content::from(Slow(&text, false, fails)).lines();
                assert_eq!(failure.map(|error| error.raw_os_error()), fails.then_some(Some(5)));
                let mut rest = &*read;
                let lines: Vec<&[u8]> = std::iter::from_fn(|| next_line(&mut rest)).collect();
                assert_eq!(lines, expected);
            }
            assert_eq!(Content::from(&*text).lines().0, text);
        }
        assert!(Content::from(&b""[..]).lines().0.is_empty());
        assert!(next_line(&mut &b""[..]).is_none());
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
