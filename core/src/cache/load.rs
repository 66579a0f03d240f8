//! Loading a cache from its file.

use std::fmt::Pointer;
use std::fs::File;
use std::io;

use rustix::fs::{FileType, OFlags, Stat, fstat, stat};

use super::entry::State;
use super::entry::{NewText, Text};
use super::file::{self, Header, Record};
use super::lookup::Match;
use super::persist::OverLimitRecord;
use super::stream::{LONGEST_LINE, Lines, PIECE};
use super::{Cache, Report, room};
use crate::error::{Error, Result};
use crate::log::{Bytes, Level};
use crate::path::FilePath;

/// A cache file that is being loaded: [`CacheFile::read`] and [`Cache::load`] take turns, so that
/// no lock is held while the disk is waited for, and what was read is judged before more is read.
#[derive(Debug)]
pub struct CacheFile {
    path: FilePath,
    /// `None` for what is not a file.
    file: Option<File>,
    lines: Lines,
    has_header: bool,
    /// Records that were read.
    count: usize,
    /// Records above the limit.
    over_limit: Vec<OverLimitRecord>,
    /// The key of a record.
    key: Vec<u8>,
}

impl CacheFile {
    /// Opens a cache file. A FIFO, a device or a socket is not opened, and refused when it is to be
    /// loaded.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: FilePath) -> io::Result<CacheFile> {
        // A directory cannot be read, which counts as an empty file (CACHE-90).
        let is_file = |about: &Stat| {
            let kind = FileType::from_raw_mode(about.st_mode);
            matches!(kind, FileType::RegularFile | FileType::Directory)
        };
        let mut file = None;
        if is_file(&stat(path.c_str())?) {
            // Should it be something else by now: this does not wait, nor become a terminal.
            let opened = path.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?;
            file = is_file(&fstat(&opened)?).then_some(opened);
        }
        Ok(CacheFile {
            path,
            file,
            lines: Lines::default(),
            has_header: false,
            count: 0,
            over_limit: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Reads the next piece. This is the part that waits for the disk.
    pub fn read(&mut self) {
        if let Some(file) = &mut self.file {
            self.lines.read(file);
        }
    }
}

/// Reports what is wrong with the file.
fn complain(path: &FilePath, what: &[u8], line: &[u8], report: &mut Report) {
    report.notify(
        Level::Err,
        format_args!("pmdaCacheOp: {}{}{}", Bytes(path.bytes()), Bytes(what), Bytes(line)),
    );
}

impl<T: Copy + Pointer> Cache<T> {
    /// Applies what was read; returns the number of records in the file when that was all of it
    /// (CACHE-90), and `None` when there is more to read.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for what is not a file, for a bad header, which changes nothing, or a bad
    /// record, which ends the load: what came before it is loaded (CACHE-94). `-ENOMEM`, or what
    /// ended the reading, in the same way.
    pub fn load(&mut self, file: &mut CacheFile, report: &mut Report) -> Result<Option<usize>> {
        if file.file.is_none() {
            complain(&file.path, b": not a regular file", b"", report);
            return Err(Error::GENERIC);
        }
        self.expected = u32::try_from(file.lines.count()).unwrap_or(u32::MAX);
        let result = self.load_lines(file, report);
        self.expected = 0;
        let end = match (result, file.lines.end()) {
            (Ok(()), None) => return Ok(None),
            (Ok(()), Some(end)) => end.map_err(Error::from),
            (Err(error), _) => Err(error),
        };
        if !file.has_header {
            return match end {
                Err(error @ (Error::NOMEM | Error::GENERIC)) => Err(error),
                _ => {
                    complain(&file.path, b": empty file?", b"", report);
                    Ok(Some(0))
                }
            };
        }
        self.over_limit = std::mem::take(&mut file.over_limit);
        end?;
        self.trace_after(format_args!("PMDA_CACHE_LOAD"), report);
        Ok(Some(file.count))
    }

    /// Applies the lines that are there.
    fn load_lines(&mut self, file: &mut CacheFile, report: &mut Report) -> Result<()> {
        if !file.has_header {
            let Some(line) = file.lines.next(PIECE) else {
                return Ok(());
            };
            let header = file::header(line.text).filter(|_| !line.is_endless);
            let Some(header) = header else {
                complain(&file.path, b": illegal cache header record: ", line.text, report);
                return Err(Error::GENERIC);
            };
            file.has_header = true;
            self.take_header(header);
        }
        while let Some(line) = file.lines.next(LONGEST_LINE) {
            let text = line.text.strip_suffix(b"\n").unwrap_or(line.text);
            let is_bad = |record: &Record<'_>| line.is_endless || line.is_cut && record.name.starts_with(b"[");
            let Some(record) = file::record(text).filter(|record| !is_bad(record)) else {
                complain(&file.path, b": illegal record: ", text, report);
                return Err(Error::GENERIC);
            };
            file.count += 1;
            self.expected = self.expected.saturating_sub(1);
            record.decode_key(&mut file.key)?;
            let path = file.path.bytes();
            if record.id <= self.maximum {
                self.take(&record, &file.key, path, report)?;
            } else {
                self.put_aside(&record, &file.key, &mut file.over_limit, path, report)?;
            }
        }
        Ok(())
    }

    /// Adopts mode and limit of a file.
    fn take_header(&mut self, header: Header) {
        self.keys.allow_sharing();
        self.mode = header.mode;
        if !self.limited {
            self.maximum = header.maximum;
        } else if self.maximum != header.maximum {
            // The limit that the agent has set counts, and is to be in the file.
            self.stamps_dirty = true;
        }
    }

    /// Keeps a record above the limit for the next save; the first one is reported.
    fn put_aside(
        &self,
        record: &Record<'_>,
        key: &[u8],
        over_limit: &mut Vec<OverLimitRecord>,
        path: &[u8],
        report: &mut Report,
    ) -> Result<()> {
        if over_limit.is_empty() {
            report.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: instance {} (\"{}\") and all others above the limit of {} ignored",
                    Bytes(path),
                    record.id,
                    Bytes(record.name),
                    self.maximum
                ),
            );
        }
        let (key, name) = (Text::new(NewText::new(key)?), Text::new(NewText::new(record.name)?));
        room(over_limit, 1)?;
        let (id, stamp) = (record.id, record.stamp);
        over_limit.push(OverLimitRecord { id, stamp, key, name });
        Ok(())
    }

    /// Adds what a record says, unless it contradicts what is known (CACHE-93).
    fn take(&mut self, record: &Record<'_>, key: &[u8], path: &[u8], report: &mut Report) -> Result<()> {
        let short = self.short(record.name);
        let known = self.find_id(record.id);
        let named = self.find_short(record.name, short);
        let slot = match (known, named) {
            (Some(slot), Some(Match::Good(same))) if slot == same => {
                let key = NewText::new(key)?;
                self.reserve_key(&key)?;
                self.set_key(slot, key);
                slot
            }
            (None, None) => self.insert(record.id, record.name, short, key, State::Inactive)?,
            (Some(slot), _) => {
                self.conflict(record, slot, true, path, report);
                return Ok(());
            }
            (None, Some(found)) => {
                self.conflict(record, found.slot(), false, path, report);
                return Ok(());
            }
        };
        self.slab.get_mut(slot).stamp = record.stamp;
        if record.stamp != 0 {
            self.oldest = self.oldest.min(record.stamp);
        }
        Ok(())
    }

    /// Reports a record that is ignored.
    fn conflict(&self, record: &Record<'_>, slot: u32, same_id: bool, path: &[u8], report: &mut Report) {
        let entry = self.slab.get(slot);
        if same_id {
            report.trace(format_args!(
                "pmdaCache: store: indom {}: instance {}  in cache, name \"{}\" does not match new entry \"{}\"\n",
                self.indom,
                entry.id,
                Bytes(entry.name()),
                Bytes(record.name)
            ));
        } else {
            report.trace(format_args!(
                "pmdaCacheStoreKey: indom {}: instance \"{}\" in cache, id {} does not match new entry {}\n",
                self.indom,
                Bytes(entry.name()),
                entry.id,
                record.id
            ));
        }
        report.notify(
            Level::Warning,
            format_args!(
                "pmdaCacheOp: {}: loading instance {} (\"{}\") ignored, already in cache as {} (\"{}\")",
                Bytes(path),
                record.id,
                Bytes(record.name),
                entry.id,
                Bytes(entry.name())
            ),
        );
    }
}
