//! Loads a cache from its file. The file is read in pieces, without the lock. Each piece is checked
//! and applied under the lock before the next one is read, so no more of a file than one piece and
//! one line is in memory.

use std::fmt::Pointer;
use std::fs::File;
use std::io::{self, ErrorKind};

use rustix::buffer::spare_capacity;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Cache;
use super::entry::{EntryState, SmallText, find_byte, reserve};
use super::file::{self, FileHeader, LONGEST_LINE, OverLimitRecord, Record};
use crate::dir_entry::DirEntry;
use crate::error::{Error, Result};
use crate::log::{Bytes, Level, PathBytes};
use crate::path::FilePath;

/// Read size in bytes once a file has turned out to be large.
const PIECE: usize = 64 * 1024;
/// Size of the first read in bytes: most files are shorter.
const FIRST_PIECE: usize = 4096;

/// A cache file that is being loaded: [`CacheFile::read`] and [`Cache::load`] take turns, so that
/// no lock is held while the disk is waited for, and what was read is checked before more is read.
#[derive(Debug)]
pub struct CacheFile {
    path: FilePath,
    /// `None` for anything but a regular file or a directory: [`Cache::load`] refuses it.
    file: Option<File>,
    lines: FileLines,
    has_header: bool,
    /// Number of records read so far.
    count: usize,
    /// Records with ids above the limit, which stay in the file.
    over_limit: Vec<OverLimitRecord>,
    /// The bytes of the last record's key: memory that each record uses again.
    key: Vec<u8>,
}

impl CacheFile {
    /// Opens a cache file. A FIFO, a device or a socket is not opened, since that may wait or have
    /// effects; [`Cache::load`] refuses it.
    ///
    /// # Errors
    /// The system's error; `ENOENT` if there is no file.
    pub fn open(path: FilePath) -> io::Result<CacheFile> {
        let (target, status) = DirEntry::target_status(&path)?;
        let status = status.ok_or(Errno::NOENT)?;
        let file = match target.file_of(&status, OFlags::RDONLY, 0) {
            Ok((file, _)) => Some(file),
            // A directory counts as an empty file: it cannot be read (CACHE-90).
            Err(error) if error.kind() == ErrorKind::IsADirectory => {
                Some(target.open(OFlags::RDONLY | OFlags::DIRECTORY, 0)?)
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => None,
            Err(error) => return Err(error),
        };
        Ok(CacheFile {
            path,
            file,
            lines: FileLines::default(),
            has_header: false,
            count: 0,
            over_limit: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Reads the next piece. This call waits for the disk; an error is kept for [`Cache::load`].
    pub fn read(&mut self) {
        if let Some(file) = &self.file {
            self.lines
                .read(|buffer| Ok(rustix::io::read(file, spare_capacity(buffer))?));
        }
    }
}

impl<T: Copy + Pointer> Cache<T> {
    /// Applies the lines that were read. Returns the number of records when the file has ended
    /// (CACHE-90), `None` when there is more to read.
    ///
    /// # Errors
    /// - `PM_ERR_GENERIC` if the path names no regular file, if the header is bad (nothing has
    ///   changed then), or for the first bad record (CACHE-94).
    /// - `-ENOMEM`, or the error of reading (before the header, that counts as an empty file).
    ///
    /// The records before the one that fails are loaded.
    pub fn load(&mut self, file: &mut CacheFile) -> Result<Option<usize>> {
        self.load_read(file).inspect_err(|error| self.load_failed(*error))
    }

    /// Takes note that a load has failed, in [`CacheFile::open`] or here. If the reason may pass,
    /// such as `EMFILE`, `EIO` or `ENOMEM`, the file has numbers that are not lost yet: the next
    /// save keeps it under another name (DEF-20).
    pub fn load_failed(&mut self, error: Error) {
        self.unread |= !matches!(error, Error::GENERIC | Error::ENOENT | Error::EISDIR);
    }

    fn load_read(&mut self, file: &mut CacheFile) -> Result<Option<usize>> {
        if file.file.is_none() {
            self.complain(&file.path, b": not a regular file", b"");
            return Err(Error::GENERIC);
        }
        // An attempt: without memory for all lines at once, the table grows as usual.
        let _ = self.reserve_names(u32::try_from(file.lines.count()).unwrap_or(u32::MAX));
        let result = self.load_lines(file);
        let end = match (result, file.lines.end.take()) {
            (Ok(()), None) => return Ok(None),
            (Ok(()), Some(end)) => end.map_err(Error::from),
            (Err(error), _) => Err(error),
        };
        if !file.has_header {
            match end {
                Err(error @ (Error::ENOMEM | Error::GENERIC)) => return Err(error),
                Err(error) => self.load_failed(error),
                Ok(()) => self.unread = false,
            }
            self.complain(&file.path, b": empty file?", b"");
            return Ok(Some(0));
        }
        self.over_limit = std::mem::take(&mut file.over_limit);
        end?;
        self.unread = false;
        self.trace_after(format_args!("PMDA_CACHE_LOAD"));
        Ok(Some(file.count))
    }

    /// Applies the complete lines that were read.
    fn load_lines(&mut self, file: &mut CacheFile) -> Result<()> {
        if !file.has_header {
            let Some(line) = file.lines.next(PIECE) else {
                return Ok(());
            };
            let header = file::header(line.text).filter(|_| !line.is_endless);
            let Some(header) = header else {
                self.complain(&file.path, b": illegal cache header record: ", line.text);
                return Err(Error::GENERIC);
            };
            file.has_header = true;
            self.take_header(header);
        }
        while let Some(line) = file.lines.next(LONGEST_LINE) {
            let text = line.text.strip_suffix(b"\n").unwrap_or(line.text);
            let is_bad = |record: &Record<'_>| line.is_endless || line.is_cut && record.name.starts_with(b"[");
            let Some(record) = file::record(text).filter(|record| !is_bad(record)) else {
                self.complain(&file.path, b": illegal record: ", text);
                return Err(Error::GENERIC);
            };
            file.count += 1;
            record.decode_key(&mut file.key)?;
            let path = file.path.bytes();
            if record.id <= self.maximum {
                self.take(&record, &file.key, path)?;
            } else {
                self.put_aside(&record, &file.key, &mut file.over_limit, path)?;
            }
        }
        Ok(())
    }

    /// Reports an error in the file.
    fn complain(&mut self, path: &FilePath, what: &[u8], line: &[u8]) {
        self.journal.notify(
            Level::Err,
            format_args!("pmdaCacheOp: {}{}{}", PathBytes(path.bytes()), Bytes(what), Bytes(line)),
        );
    }

    /// Adopts the mode and the limit of a file (CACHE-91).
    fn take_header(&mut self, header: FileHeader) {
        self.mode = header.mode;
        if !self.limited {
            self.maximum = header.maximum;
        } else if self.maximum != header.maximum {
            // The limit that the agent has set counts, and the next save writes it.
            self.stamps_dirty = true;
        }
    }

    /// Keeps a record above the limit for the next save. The first one is reported.
    fn put_aside(
        &mut self,
        record: &Record<'_>,
        key: &[u8],
        over_limit: &mut Vec<OverLimitRecord>,
        path: &[u8],
    ) -> Result<()> {
        if over_limit.is_empty() {
            self.journal.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: instance {} (\"{}\") and all others above the limit of {} ignored",
                    PathBytes(path),
                    record.id,
                    Bytes(record.name),
                    self.maximum
                ),
            );
        }
        let (key, name) = (SmallText::new(key)?, SmallText::new(record.name)?);
        reserve(over_limit, 1)?;
        let (id, stamp) = (record.id, record.stamp);
        over_limit.push(OverLimitRecord { id, stamp, key, name });
        Ok(())
    }

    /// Adds the instance of a record, inactive, unless it contradicts one in the cache (CACHE-93).
    fn take(&mut self, record: &Record<'_>, key: &[u8], path: &[u8]) -> Result<()> {
        let short_name = self.short_name(record.name);
        let with_id = self.find_id(record.id);
        let named = self.find_short_name(record.name, short_name);
        let slot = match (with_id, named) {
            (Some(slot), Some(same)) if slot == same && self.is_name_of(slot, record.name, short_name) => {
                if self.keys.get(slot) != key {
                    let key = SmallText::new(key)?;
                    self.reserve_key(&key)?;
                    self.keys.set(slot, key);
                }
                slot
            }
            (None, None) => self.insert(record.id, record.name, short_name, key, EntryState::Inactive)?,
            (Some(slot), _) => {
                self.conflict(record, slot, true, path);
                return Ok(());
            }
            (None, Some(slot)) => {
                self.conflict(record, slot, false, path);
                return Ok(());
            }
        };
        self.slab.get_mut(slot).stamp = record.stamp;
        if record.stamp != 0 {
            self.oldest = self.oldest.min(record.stamp);
        }
        Ok(())
    }

    /// Reports a record that is ignored, since its id or its name belongs to another instance.
    fn conflict(&mut self, record: &Record<'_>, slot: u32, same_id: bool, path: &[u8]) {
        let entry = self.slab.get(slot);
        if self.debug && same_id {
            self.journal.trace(format_args!(
                "pmdaCache: store: indom {}: instance {}  in cache, name \"{}\" does not match new entry \"{}\"\n",
                self.indom,
                entry.id,
                Bytes(entry.name()),
                Bytes(record.name)
            ));
        } else if self.debug {
            self.journal.trace(format_args!(
                "pmdaCacheStoreKey: indom {}: instance \"{}\" in cache, id {} does not match new entry {}\n",
                self.indom,
                Bytes(entry.name()),
                entry.id,
                record.id
            ));
        }
        self.journal.notify(
            Level::Warning,
            format_args!(
                "pmdaCacheOp: {}: loading instance {} (\"{}\") ignored, already in cache as {} (\"{}\")",
                PathBytes(path),
                record.id,
                Bytes(record.name),
                entry.id,
                Bytes(entry.name())
            ),
        );
    }
}

/// The lines of a file, taken from it while it is read in pieces. At most one piece and one line
/// are kept: a file may have no end.
#[derive(Debug, Default)]
struct FileLines {
    buffer: Vec<u8>,
    /// Number of bytes at the beginning of the buffer that were taken.
    start: usize,
    /// The outcome of the reading, once it has ended.
    end: Option<io::Result<()>>,
}

/// One line, up to its first NUL: a crash of the system may leave NULs in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileLine<'l> {
    /// With the newline, if it has one.
    text: &'l [u8],
    /// True if a NUL has cut the line.
    is_cut: bool,
    /// True if it is longer than a line may be; then `text` is only its beginning.
    is_endless: bool,
}

impl FileLines {
    /// Reads the next piece: `append` adds it to the buffer, in memory that is reserved, and
    /// returns its length.
    fn read(&mut self, append: impl FnOnce(&mut Vec<u8>) -> io::Result<usize>) {
        if self.end.is_some() {
            return;
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let piece = (2 * self.buffer.capacity()).clamp(FIRST_PIECE, PIECE);
        if reserve(&mut self.buffer, piece).is_err() {
            // The rest is the beginning of a line, and must not be taken for a line.
            self.buffer.clear();
            self.end = Some(Err(Error::ENOMEM.into()));
            return;
        }
        match append(&mut self.buffer) {
            Ok(0) => self.end = Some(Ok(())),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.end = Some(Err(error)),
        }
    }

    /// The number of newlines in the buffer, which is about the number of lines that follow.
    fn count(&self) -> usize {
        self.buffer.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The next line, of about `longest` bytes at most; `None` until more is read, or at the end.
    fn next(&mut self, longest: usize) -> Option<FileLine<'_>> {
        let held = self.buffer.get(self.start..).unwrap_or_default();
        let newline = find_byte(held, b'\n');
        let length = newline.map_or(held.len(), |at| at + 1);
        let nul = find_byte(&held[..length], 0);
        let is_last = newline.is_none() && self.end.is_some();
        // Behind a NUL, the file may have a hole of any size. The line ends in it.
        let is_long = length > longest || nul.is_some_and(|at| length - at > PIECE);
        if length == 0 || newline.is_none() && !is_last && !is_long {
            return None;
        }
        self.start += length;
        Some(FileLine {
            text: &held[..nul.unwrap_or(length)],
            is_cut: nul.is_some(),
            is_endless: newline.is_none() && !is_last && nul.is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn append(input: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let mut piece = vec![0; buffer.capacity() - buffer.len()];
        let count = input.read(&mut piece)?;
        buffer.extend_from_slice(&piece[..count]);
        Ok(count)
    }

    /// Gives a few bytes at a time, interrupted before each, with an error at the end if the last
    /// field says so.
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
            let count = out.len().min(if self.0.len() < 100 { 1 } else { 997 });
            self.0.read(&mut out[..count])
        }
    }

    /// A line's text, whether it is cut, and whether it is endless.
    type Owned = (Vec<u8>, bool, bool);

    /// All lines of a stream, up to one without an end, and how it has ended.
    fn lines_of(mut input: impl Read) -> (Vec<Owned>, io::Result<()>) {
        let (mut lines, mut all) = (FileLines::default(), Vec::new());
        loop {
            lines.read(|buffer| append(&mut input, buffer));
            while let Some(line) = lines.next(LONGEST_LINE) {
                all.push((line.text.to_vec(), line.is_cut, line.is_endless));
                if line.is_endless {
                    return (all, Ok(()));
                }
            }
            if let Some(end) = lines.end.take() {
                return (all, end);
            }
        }
    }

    /// Lines may have any length, and the last one may lack its newline (DEF-8, CACHE-92).
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

    /// A NUL ends a line; the next line begins after the newline, if the newline is near.
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
                line("", true, false)
            };
            assert_eq!(read(&text)[..2], [line("1 2 a", true, false), next]);
        }
    }

    /// The bytes from a NUL to the newline are left out, also if the newline is read later
    /// (CACHE-90).
    #[test]
    fn nul_and_more() {
        let text = [&b"x".repeat(40_000)[..], b"\0", &b"y".repeat(5_000), b"\nb\n"].concat();
        let (lines, _) = lines_of(Slow(&text, false, false));
        let lines: Vec<_> = lines.iter().map(|line| (line.0.len(), line.1)).collect();
        assert_eq!(lines, [(40_000, true), (2, false)]);
    }

    /// A line without an end is no record, and little of it is kept (CACHE-92).
    #[test]
    fn endless() {
        let mut lines = FileLines::default();
        for _ in 0..10_000 {
            lines.read(|buffer| append(&mut io::repeat(b'x'), buffer));
            if let Some(line) = lines.next(PIECE) {
                assert!(line.is_endless);
                assert!(lines.buffer.len() <= 4 * PIECE);
                return;
            }
        }
        panic!("it goes on");
    }
}
