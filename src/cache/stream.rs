//! Cache files piece by piece: neither a save nor a load holds a whole file in memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};

use super::file::{self, Decimal};
use super::{room, scan};

/// So much is written or read at once.
const PIECE: usize = 64 * 1024;

fn no_memory() -> io::Error {
    io::Error::from_raw_os_error(12)
}

/// Collects the lines of a file and writes them.
pub(super) struct Sink<W> {
    out: W,
    buffer: Vec<u8>,
    /// The time stamp that was written last: most instances have the same.
    stamp: Decimal,
}

impl<W: Write> Sink<W> {
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn new(out: W) -> io::Result<Sink<W>> {
        let mut buffer = Vec::new();
        room(&mut buffer, PIECE).map_err(|_| no_memory())?;
        Ok(Sink {
            out,
            buffer,
            stamp: Decimal::new(0),
        })
    }

    /// Makes room for so many bytes.
    #[inline]
    fn reserve(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.capacity() - self.buffer.len() < bytes {
            self.flush()?;
            room(&mut self.buffer, bytes).map_err(|_| no_memory())?;
        }
        Ok(())
    }

    /// Writes the first line.
    pub(super) fn header(&mut self, header: file::Header) -> io::Result<()> {
        self.reserve(64)?;
        file::write_header(&mut self.buffer, header);
        Ok(())
    }

    /// Writes the line of an instance.
    #[inline]
    pub(super) fn record(&mut self, id: u32, stamp: i64, key: &[u8], name: &[u8]) -> io::Result<()> {
        self.reserve(64 + 2 * key.len() + name.len())?;
        if self.stamp.value != stamp {
            self.stamp = Decimal::new(stamp);
        }
        file::write_record(&mut self.buffer, id, &self.stamp, key, name);
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Number of lines of a long file, if it can be read twice; 0 if not. It is used to make tables large enough at once.
pub(super) fn count_lines(mut file: &File) -> usize {
    let long = file
        .metadata()
        .is_ok_and(|found| found.is_file() && found.len() > PIECE as u64);
    let mut buffer = Vec::new();
    if !long || room(&mut buffer, PIECE).is_err() {
        return 0;
    }
    buffer.resize(PIECE, 0);
    let mut count = 0;
    while let Ok(length @ 1..) = file.read(&mut buffer) {
        count += buffer[..length].iter().filter(|byte| **byte == b'\n').count();
    }
    if file.rewind().is_ok() { count } else { 0 }
}

/// The lines of a file.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// What of the buffer is filled and not handed out yet.
    start: usize,
    end: usize,
    /// Nothing more will come.
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
        }
    }

    /// The next line, with its newline if it has one.
    ///
    /// # Errors
    /// What the system says; `-ENOMEM`.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = 0;
        let length = loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(at) = scan::find(&rest[searched..], b'\n') {
                break searched + at + 1;
            }
            if self.ended {
                break rest.len();
            }
            searched = rest.len();
            self.fill()?;
        };
        let from = self.start;
        self.start += length;
        Ok((length > 0).then_some(&self.buffer[from..self.start]))
    }

    /// Reads more behind what is there.
    #[cold]
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            let more = self.end.max(PIECE);
            room(&mut self.buffer, more).map_err(|_| no_memory())?;
            self.buffer.resize(self.end + more, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.ended = count == 0;
                    self.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives single bytes, and is interrupted before each.
    struct Slow<'b>(&'b [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = out.len().min(1);
            (&mut self.0).take(1).read(&mut out[..count])
        }
    }

    fn lines(input: impl Read) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(input);
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("no error") {
            all.push(line.to_vec());
        }
        assert_eq!(lines.next().expect("no error"), None);
        all
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
            assert_eq!(lines(&*text), expected);
            assert_eq!(lines(Slow(&text, false)), expected);
        }
        assert!(lines(&b""[..]).is_empty());
    }

    /// CACHE-74: what is written in pieces is whole, and a stamp is not mistaken for the one before.
    #[test]
    fn pieces_are_whole() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out).expect("memory");
        let mut expected = Vec::new();
        for number in 0..9000_u32 {
            let name = "n".repeat(1 + number as usize % 50 * (number as usize % 50));
            let stamp = i64::from(number / 3);
            sink.record(number, stamp, &[], name.as_bytes()).expect("written");
            expected.extend_from_slice(format!("{number} {stamp} {name}\n").as_bytes());
        }
        sink.record(1, 2, &[], &vec![b'y'; 2 * PIECE]).expect("written");
        sink.flush().expect("written");
        expected.extend_from_slice(b"1 2 ");
        expected.resize(expected.len() + 2 * PIECE, b'y');
        expected.push(b'\n');
        assert!(out == expected);
    }
}
