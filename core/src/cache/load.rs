//! Loading a cache from its file.

use std::fmt::Pointer;

use super::entry::State;
use super::file::{self, Record};
use super::lookup::Match;
use super::persist::Beyond;
use super::report::Part;
use super::stream::{Content, count_lines, next_line};
use super::text::{NewText, Text};
use super::{Cache, Report, room};
use crate::error::{Error, Result};
use crate::log::Level;
use crate::path::FilePath;

impl<T: Copy + Pointer> Cache<T> {
    /// Applies what was read from the file at `path`; returns the number of records in it
    /// (CACHE-90).
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a bad header, which changes nothing, or a bad record, which ends the
    /// load: what came before it is loaded (CACHE-94). `-ENOMEM`, or what ended the reading, in the
    /// same way.
    pub fn load(&mut self, path: &FilePath, content: Content, report: &mut Report) -> Result<usize> {
        let (text, failure) = content.lines();
        let nomem = failure.as_ref().is_some_and(|error| error.raw_os_error() == Some(12));
        let path = path.bytes();
        if text.is_empty() {
            if nomem {
                return Err(Error::NOMEM);
            }
            let parts = [
                Part::Raw(b"pmdaCacheOp: "),
                Part::Raw(path),
                Part::Raw(b": empty file?"),
            ];
            report.notify(Level::Err, &parts);
            return Ok(0);
        }
        self.keys.allow_sharing();
        let more = count_lines(&text).saturating_sub(self.active + self.inactive);
        self.expected = u32::try_from(more).unwrap_or(u32::MAX);
        let result = self.load_lines(&text, path, report);
        self.expected = 0;
        let count = result?;
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        self.trace_after(format_args!("PMDA_CACHE_LOAD"), report);
        Ok(count)
    }

    fn load_lines(&mut self, mut text: &[u8], path: &[u8], report: &mut Report) -> Result<usize> {
        let first = file::until_nul(next_line(&mut text).unwrap_or_default()).0;
        let Some(header) = file::header(first) else {
            let parts = [
                Part::Raw(b"pmdaCacheOp: "),
                Part::Raw(path),
                Part::Raw(b": illegal cache header record: "),
                Part::Raw(first),
            ];
            report.notify(Level::Err, &parts);
            return Err(Error::GENERIC);
        };
        self.mode = header.mode;
        if !self.limited {
            self.maximum = header.maximum;
        } else if self.maximum != header.maximum {
            // The limit that the agent has set counts, and is to be in the file.
            self.stamps_dirty = true;
        }
        self.beyond.clear();
        let mut count = 0;
        let mut key = Vec::new();
        while let Some(line) = next_line(&mut text) {
            let (line, cut) = file::until_nul(line.strip_suffix(b"\n").unwrap_or(line));
            let record = file::record(line).filter(|record| !(cut && record.name.starts_with(b"[")));
            let Some(record) = record else {
                let parts = [
                    Part::Raw(b"pmdaCacheOp: "),
                    Part::Raw(path),
                    Part::Raw(b": illegal record: "),
                    Part::Raw(line),
                ];
                report.notify(Level::Err, &parts);
                return Err(Error::GENERIC);
            };
            count += 1;
            self.expected = self.expected.saturating_sub(1);
            record.decode_key(&mut key)?;
            if record.id <= self.maximum {
                self.take(&record, &key, path, report)?;
            } else {
                self.put_aside(&record, &key, path, report)?;
            }
        }
        Ok(count)
    }

    /// Keeps a record above the limit for the next save; the first one is reported.
    fn put_aside(&mut self, record: &Record<'_>, key: &[u8], path: &[u8], report: &mut Report) -> Result<()> {
        if self.beyond.is_empty() {
            let parts = [
                Part::Raw(b"pmdaCacheOp: "),
                Part::Raw(path),
                Part::Raw(b": instance "),
                Part::Show(&record.id),
                Part::Raw(b" (\""),
                Part::Raw(record.name),
                Part::Raw(b"\") and all others above the limit of "),
                Part::Show(&self.maximum),
                Part::Raw(b" ignored"),
            ];
            report.notify(Level::Warning, &parts);
        }
        let (key, name) = (Text::new(NewText::new(key)?), Text::new(NewText::new(record.name)?));
        room(&mut self.beyond, 1)?;
        let (id, stamp) = (record.id, record.stamp);
        self.beyond.push(Beyond { id, stamp, key, name });
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
        let (indom, old, new) = (Part::Show(&self.indom), Part::Show(&entry.id), Part::Show(&record.id));
        let (old_name, new_name) = (Part::Raw(entry.name()), Part::Raw(record.name));
        if same_id {
            report.trace(&[
                Part::Raw(b"pmdaCache: store: indom "),
                indom,
                Part::Raw(b": instance "),
                old,
                Part::Raw(b"  in cache, name \""),
                old_name,
                Part::Raw(b"\" does not match new entry \""),
                new_name,
                Part::Raw(b"\"\n"),
            ]);
        } else {
            report.trace(&[
                Part::Raw(b"pmdaCacheStoreKey: indom "),
                indom,
                Part::Raw(b": instance \""),
                old_name,
                Part::Raw(b"\" in cache, id "),
                old,
                Part::Raw(b" does not match new entry "),
                new,
                Part::Raw(b"\n"),
            ]);
        }
        let parts = [
            Part::Raw(b"pmdaCacheOp: "),
            Part::Raw(path),
            Part::Raw(b": loading instance "),
            new,
            Part::Raw(b" (\""),
            new_name,
            Part::Raw(b"\") ignored, already in cache as "),
            old,
            Part::Raw(b" (\""),
            old_name,
            Part::Raw(b"\")"),
        ];
        report.notify(Level::Warning, &parts);
    }
}
